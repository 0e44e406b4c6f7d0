package capture_test

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// samples returns captures of all carriers.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	var k talk
	k.says(capturetest.Record(capturetest.Call(1, 99, 2, 3, "args")))
	k.answers(capturetest.Record(capturetest.Reply(1, "results!")))
	return map[string][]byte{
		"tcp": capturetest.File(k.packets...),
		"udp": capturetest.File(
			capturetest.Packet{From: client, To: server, UDP: true, Payload: capturetest.Call(1, 99, 2, 3, "")},
			capturetest.Packet{From: server, To: client, UDP: true, Payload: capturetest.Reply(1, "")}),
		"iwarp":   capturetest.File(overIWARP(1).packets...),
		"rdmatcp": capturetest.File(overRDMATCP(t).packets...),
	}
}

// header returns a header of version 1. Its lists have chunks of the lengths that are not 0: a read
// chunk with the handle 7 at position 44, a write chunk with 8, and the reply chunk with 9.
func header(xid, kind, read, write, reply uint32) string {
	h := capturetest.Words(xid, 1, 32, kind)
	if read > 0 {
		h += capturetest.Words(1, 44, 7, read, 0, 100)
	}
	h += capturetest.Words(0)
	if write > 0 {
		h += capturetest.Words(1, 1, 8, write, 0, 200)
	}
	h += capturetest.Words(0)
	if reply > 0 {
		return h + capturetest.Words(1, 1, 9, reply, 0, 300)
	}
	return h + capturetest.Words(0)
}

// fpdu returns a DDP segment in an FPDU.
func fpdu(ulpdu string) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu)))
	b = append(b, ulpdu...)
	b = append(b, make([]byte, -len(b)&3)...)
	return string(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))))
}

// untagged and tagged return DDP segments, the last ones of their messages.
func untagged(op byte, queue uint32, data string) string {
	return fpdu("\x41" + string(0x40|rune(op)) + capturetest.Words(0, queue, 1, 0) + data)
}

func tagged(op byte, stag, offset uint32, data string) string {
	return fpdu("\xc1" + string(0x40|rune(op)) + capturetest.Words(stag, 0, offset) + data)
}

// overIWARP makes a connection with two calls: one with a read chunk and a write chunk, one whose
// reply is in the reply chunk. The read chunk is read in parts.
func overIWARP(parts int) *talk {
	k := new(talk)
	k.says("MPA ID Req Frame\x40\x01\x00\x00")
	k.answers("MPA ID Rep Frame\x40\x01\x00\x00")
	const data = "read chunk, 20 bytes"
	k.says(untagged(3, 0, header(1, 0, 20, 16, 0)+capturetest.Call(1, 99, 2, 3, capturetest.Words(20)+"tail")))
	for i := range parts {
		n := len(data) / parts
		k.answers(untagged(1, 1, capturetest.Words(50, 0, uint32(i*n), uint32(n), 7, 0, uint32(100+i*n))))
	}
	for i := range parts {
		n := len(data) / parts
		k.says(tagged(2, 50, uint32(i*n), data[i*n:(i+1)*n]))
	}
	k.answers(tagged(0, 8, 200, "write chunk data"))
	k.answers(untagged(4, 0, header(1, 0, 0, 16, 0)+capturetest.Reply(1, capturetest.Words(16))))
	k.says(untagged(3, 0, header(2, 0, 0, 0, 40)+capturetest.Call(2, 99, 2, 4, "")))
	k.answers(tagged(0, 9, 300, capturetest.Reply(2, "in the reply chunk")))
	k.answers(untagged(3, 0, header(2, 1, 0, 0, 42)))
	return k
}

// overRDMATCP makes a connection with a call that has a read chunk and a write chunk.
func overRDMATCP(t testing.TB) *talk {
	k := new(talk)
	number := [2]uint32{5, 9}
	put := func(dir int, h segment.Header, control, data string) {
		h.Begin, h.End, h.ConnID = true, true, 77
		if h.Type != segment.ReadResponse {
			h.Number = number[dir]
			number[dir]++
		}
		b, err := segment.Append(nil, &h, []byte(control), []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		k.segment(dir == 1, string(b), true)
	}
	hello := "rpd1\x01\x00\x00\x00" + capturetest.Words(4096, 0)
	put(0, segment.Header{Type: segment.Write}, hello, "")
	put(1, segment.Header{Type: segment.Write}, hello, "")
	put(0, segment.Header{Type: segment.Send}, "", header(1, 0, 20, 16, 0)+capturetest.Call(1, 99, 2, 3, capturetest.Words(20)+"tail"))
	put(1, segment.Header{Type: segment.ReadRequest, BufferID: 7, Offset: 100, RDMALength: 20}, "", "")
	put(0, segment.Header{Type: segment.ReadResponse, Number: number[1] - 1}, "", "read chunk, 20 bytes")
	put(1, segment.Header{Type: segment.Write, BufferID: 8, Offset: 200, RDMALength: 16}, "", "write chunk data")
	put(1, segment.Header{Type: segment.Send}, "", header(1, 0, 0, 16, 0)+capturetest.Reply(1, capturetest.Words(16)))
	put(1, segment.Header{Type: segment.Send, Res: 15}, capturetest.Words(2, 0, 0), "")
	return k
}

// Chunks are put back into Calls, and data written for replies are found, over either carrier. The
// Call is whole when its last chunk is.
func TestChunksAreCollected(t *testing.T) {
	for name, c := range map[string]struct {
		k    *talk
		want []string
	}{
		"iwarp":     {overIWARP(1), []string{`1 iwarp xid 1 call 99.2.3 "\x00\x00\x00\x14read chunk, 20 bytestail" at 2-4 SUCCESS "\x00\x00\x00\x10" at 6-6`, `1 iwarp xid 2 call 99.2.4 "" at 7-7 SUCCESS "in the reply chunk" at 9-9`}},
		"two Reads": {overIWARP(2), []string{`1 iwarp xid 1 call 99.2.3 "\x00\x00\x00\x14read chunk, 20 bytestail" at 2-6 SUCCESS "\x00\x00\x00\x10" at 8-8`, `1 iwarp xid 2 call 99.2.4 "" at 9-9 SUCCESS "in the reply chunk" at 11-11`}},
		"rdmatcp":   {overRDMATCP(t), []string{`1 rdmatcp xid 1 call 99.2.3 "\x00\x00\x00\x14read chunk, 20 bytestail" at 2-4 SUCCESS "\x00\x00\x00\x10" at 6-6`, "note: the connection is closed, for reason 2 (docs/rdmatcp.md)"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := run(t, capturetest.File(c.k.packets...), capture.Limits{})
			if err != nil {
				t.Error(err)
			}
			same(t, f, c.want...)
			if chunks := f.calls[0].Chunks; len(chunks) != 1 || string(chunks[0].Data) != "write chunk data" {
				t.Errorf("write chunks %v", chunks)
			}
		})
	}
}

// Data that the capture lacks are named, and the message before them is kept. Errors of
// RPC-over-RDMA are the outcome of their Call. A header cannot use data twice.
func TestMissingChunksAreNamed(t *testing.T) {
	var k talk
	k.says("MPA ID Req Frame\x40\x01\x00\x00")
	k.answers("MPA ID Rep Frame\x40\x01\x00\x00")
	k.says(untagged(3, 0, header(1, 0, 20, 16, 0)+capturetest.Call(1, 99, 2, 3, capturetest.Words(20)+"tail")))
	k.answers(untagged(3, 0, header(1, 0, 0, 16, 0)+capturetest.Reply(1, capturetest.Words(16))))
	k.says(untagged(3, 0, header(2, 0, 0, 0, 0)+capturetest.Call(2, 99, 2, 4, "")))
	k.answers(untagged(3, 0, capturetest.Words(2, 1, 32, 4, 2)))
	k.answers(untagged(3, 0, capturetest.Words(8, 2, 32, 4, 0, 8, 1, 4096)))
	k.answers(untagged(7, 2, "\x02\x05"+strings.Repeat("\x00", 10)))
	k.answers(tagged(0, 8, 200, "write chunk data"))
	twice := capturetest.Words(3, 1, 32, 0, 0, 1, 2, 8, 16, 0, 200, 8, 16, 0, 200, 0, 0)
	k.answers(untagged(3, 0, twice+capturetest.Reply(3, "")))
	k.says(untagged(3, 0, header(4, 0, 0, 0, 40)+capturetest.Call(4, 99, 2, 5, "")))
	k.answers(untagged(3, 0, header(4, 1, 0, 0, 42)))
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 iwarp xid 1 call 99.2.3 "\x00\x00\x00\x14" at 2-2 SUCCESS "\x00\x00\x00\x10" at 3-3the capture lacks the read chunk at position 44, 20 bytes`,
		`1 iwarp xid 2 call 99.2.4 "" at 4-4 RDMA_ERROR ERR_CHUNK "" at 5-5`,
		"note: RDMA_ERROR RDMA2_ERR_WRITE_RESOURCE (chunk 1 needs 4096 bytes) about XID 0x8",
		"note: Terminate: layer 0, error type 2, code 5 (RFC 5040 §4.8)",
		`1 iwarp xid 3 SUCCESS "" at 9-9`,
		`1 iwarp xid 4 call 99.2.5 "" at 10-10 reply not in the capture "" at 11-11the capture lacks the reply chunk, 42 bytes`)
	if len(f.calls) == 4 && f.calls[2].Chunks[0].Data != nil {
		t.Errorf("bytes written once are used twice: %v", f.calls[2].Chunks)
	}
}
