package rdmatcp_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The bytes that a device sends, compared by a peer that shares no code with it. The first message
// number is random; everything else follows from the draft and the posted requests. Long messages
// are split evenly, and their payload is 0xa5. R335 to R339, R345, R349, R350, R352 to R355.
func TestVectorsSent(t *testing.T) {
	p, v := newVector(t, device(t, rawConfig()), &vector{})
	p.write([][]byte{p.assemble("01 0d 0020 | CID | 000000ff | ffff 00 00 | 00000000 | 00000000 | 00000000 | CRC")}, false)
	number := uint32(0)
	for i, tc := range []struct {
		name string
		wr   verbs.SendWR
		n    int
		want []string // NUMB means the number of the message
	}{
		{"Send of nothing", verbs.SendWR{Opcode: verbs.Send}, 0, []string{
			"01 0c 0018 | CID | NUMB | 0000 00 00 | 00000000 | CRC",
		}},
		{"Send with 3 bytes of padding, solicited", verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSolicited}, 5, []string{
			"01 0c 001d | CID | NUMB | 0000 00 00 | 00000000 | a5*5 000000 | CRC",
		}},
		{"Write", verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 0xcafe0001, RemoteAddr: 0x1000}, 6, []string{
			"01 0d 0026 | CID | NUMB | ffff 00 00 | cafe0001 | 00001000 | 00000006 | a5*6 0000 | CRC",
		}},
		{"Write of nothing", verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 7, RemoteAddr: 0xffffffff}, 0, []string{
			"01 0d 0020 | CID | NUMB | ffff 00 00 | 00000007 | ffffffff | 00000000 | CRC",
		}},
		{"Send of 64 KiB", verbs.SendWR{Opcode: verbs.Send}, 65536, []string{
			"01 08 8018 | CID | NUMB | 0000 00 00 | 00000000 | a5*32768 | CRC",
			"01 04 8018 | CID | NUMB | 0000 00 00 | 00008000 | a5*32768 | CRC",
		}},
		{"Write of 64 KiB and a byte", verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 0xcafe0001, RemoteAddr: 0xfffefffe}, 65537, []string{
			"01 09 8060 | CID | NUMB | ffff 00 00 | cafe0001 | fffefffe | 00010001 | a5*32832 | CRC",
			"01 05 7fe1 | CID | NUMB | ffff 00 00 | cafe0001 | ffff803e | 00010001 | a5*32705 000000 | CRC",
		}},
		{"Read", verbs.SendWR{Opcode: verbs.RDMARead, RKey: 0xcafe0002, RemoteAddr: 0x20}, 8, []string{
			"01 0e 0020 | CID | NUMB | 0000 00 00 | cafe0002 | 00000020 | 00000008 | CRC",
		}},
	} {
		if tc.n > 0 {
			tc.wr.SGL = []verbs.SGE{{MR: v.mr, Length: tc.n}}
		}
		v.send(t, []verbs.SendWR{tc.wr})
		for _, want := range tc.want {
			got := p.next()
			if i == 0 {
				number = binary.BigEndian.Uint32(got[12:])
			}
			p.keys["NUMB"] = number
			if want := p.assemble(want); !bytes.Equal(got, want) {
				t.Fatalf("%s:\n%s, want\n%s", tc.name, short(got), short(want))
			}
		}
		number++
	}
}

// short returns the start and the end of a segment.
func short(b []byte) string {
	if len(b) <= 80 {
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("%x...%x (%d bytes)", b[:40], b[len(b)-16:], len(b))
}
