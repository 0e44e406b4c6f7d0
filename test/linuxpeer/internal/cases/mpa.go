package cases

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// The keys of MPA requests and replies (RFC 5044 §7.1.1).
const (
	mpaRequestKey = "MPA ID Req Frame"
	mpaReplyKey   = "MPA ID Rep Frame"
)

// nfsRDMA is the guest's port of NFS over RDMA.
const nfsRDMA = 20049

// private is the private data of the kernel's server: RFC 8797 §4, version 1, no remote
// invalidation, 4096 bytes to send and receive.
const private = "f6ab0e18 01 00 03 03"

// mpaCases speak MPA to the kernel's NFS/RDMA server by hand, to see each byte of its answers.
func mpaCases() []Case {
	return []Case{
		{Name: "mpa/connect", Run: mpaConnect},
		{Name: "mpa/null-v3", Run: func(t *T) { mpaNull(t, false) }},
		{Name: "mpa/null-v3-crc", Run: func(t *T) { mpaNull(t, true) }},
		{Name: "mpa/close-before-rtr", Run: mpaClose, Own: true, Timeout: 2 * time.Minute},
	}
}

// mpaRow is a request and the answer that siw gives. Frames are without their keys.
type mpaRow struct {
	what, request  string
	reply          string // exact bytes; none if siw closes the connection without a reply
	rule, expected string
	saw            string
	deviation      bool
}

func mpaTable() []mpaRow {
	return []mpaRow{
		{
			"MPA revision 1", "00 01 0000", "20 01 0000",
			"RFC 5044 §7.1.2", "accept or reject", "reject: the server needs a read depth, which revision 1 cannot negotiate", false,
		},
		{
			"MPA revision 1, CRC", "40 01 0000", "60 01 0000",
			"RFC 5044 §7.1.2", "accept or reject", "reject, C repeated", false,
		},
		{
			"MPA revision 1, markers", "80 01 0000", "20 01 0000",
			"RFC 5044 §4.3", "a sender is able to generate markers", "reject: siw has no markers", true,
		},
		{
			"MPA revision 2 without S", "00 02 0000", "20 02 0000",
			"RFC 6581 §6", "as revision 1: accept or reject", "reject: no read depth", false,
		},
		{
			"MPA revision 2, IRD 16, ORD 16", "10 02 0004 0010 0010", "10 02 000c 0010 0010 " + private,
			"RFC 6581 §9.1", "accept, IRD at least 16, ORD at most 16", "accept, IRD 16, ORD 16, private data of RFC 8797", false,
		},
		{
			"MPA revision 2, CRC", "50 02 0004 0010 0010", "50 02 000c 0010 0010 " + private,
			"RFC 5044 §7.1.1", "CRCs, because one side asks", "accept, C set", false,
		},
		{
			"MPA revision 2, IRD 0", "10 02 0004 0000 0010", "30 02 0004 0010 0000",
			"RFC 6581 §9.1", "accept, or reject with the required ORD", "reject with ORD 0: it does not say what it requires", true,
		},
		{
			"MPA revision 2, IRD 1, ORD 0", "10 02 0004 0001 0000", "10 02 000c 0000 0001 " + private,
			"RFC 6581 §9.1", "accept, ORD at most 1", "accept, IRD 0, ORD 1", false,
		},
		{
			"MPA revision 2, IRD 512, ORD 512", "10 02 0004 0200 0200", "10 02 000c 0080 0080 " + private,
			"RFC 6581 §9.1", "accept, IRD at least 512, or reject", "accept, IRD 128: the initiator has to lower its ORD", true,
		},
		{
			"MPA revision 2, IRD and ORD 0x3FFF", "10 02 0004 3fff 3fff", "10 02 000c 0080 0080 " + private,
			"RFC 6581 §9.1", "0x3FFF for both: no negotiation", "accept, IRD 128, ORD 128: taken as numbers", true,
		},
		{
			"MPA peer-to-peer, all RTR options", "10 02 0004 c010 c010", "10 02 000c 8010 8010 " + private,
			"RFC 6581 §9.2", "accept, A set, at least one option", "accept, A set, option C: a zero-length RDMA Write", false,
		},
		{
			"MPA revision 0", "10 00 0004 0010 0010", "",
			"RFC 5044 §7.1.1", "close the connection", "closed", false,
		},
		{
			"MPA revision 3", "10 03 0004 0010 0010", "",
			"RFC 5044 §7.1.1", "close the connection", "closed", false,
		},
		{
			"MPA private data of 516 bytes", "10 02 0204 0010 0010" + strings.Repeat("00", 512), "",
			"RFC 5044 §7.1.1", "close the connection", "closed", false,
		},
		{
			"MPA reserved bits 0x0F set", "1f 02 0004 0010 0010", "1f 02 000c 0010 0010 " + private,
			"RFC 5044 §7.1.1", "not checked, and zero in the reply", "accept, the bits repeated in the reply", true,
		},
	}
}

// mpaConnect sends each request of the table and compares each byte of the reply.
func mpaConnect(t *T) {
	for _, row := range mpaTable() {
		conn := t.Dial(nfsRDMA)
		got := mpaExchange(t, conn, unhex(row.request))
		if len(got) > 0 && got[0]&0x20 == 0 {
			// A connection that ended here could stop the kernel's iw_cm: see mpaClose.
			if got[4]&0x80 != 0 {
				_, err := conn.Write(fpdu(unhex(zeroWrite), got[0]&0x40 != 0)) // the RTR indication
				t.Must(err)
			}
			mpaCallNull(t, conn, got[0]&0x40 != 0)
		}
		conn.Close()
		t.Logf("%-34s %.48s -> %x", row.what, row.request, got)
		if want := unhex(row.reply); !bytes.Equal(got, want) {
			t.Errorf("%s: request %.48s: reply %x, expected %x", row.what, row.request, got, want)
		}
		what, saw := row.what+": `"+row.request+"`", row.saw
		if len(row.request) > 40 {
			what = row.what
		}
		if row.reply != "" {
			saw = "`" + strings.ReplaceAll(row.reply, private, "...") + "`: " + saw
		}
		t.Report(Finding{What: what, Rule: row.rule, Expected: row.expected, Saw: saw, Deviation: row.deviation})
	}
	t.Say("%d requests", len(mpaTable()))
}

// mpaExchange sends a request and returns the reply without its key, or nothing if the connection
// is closed without a reply.
func mpaExchange(t *T, conn net.Conn, request []byte) []byte {
	// siw wants the request in one piece, and nothing after it until its reply.
	_, err := conn.Write(append([]byte(mpaRequestKey), request...))
	t.Must(err)
	head := make([]byte, len(mpaReplyKey)+4)
	n, err := io.ReadFull(conn, head)
	if n == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return nil
	}
	if err != nil {
		t.Fatalf("an MPA reply of %d bytes: %x: %v", n, head[:n], err)
	}
	if key := string(head[:len(mpaReplyKey)]); key != mpaReplyKey {
		t.Fatalf("an MPA reply with the key %q", key)
	}
	frame := head[len(mpaReplyKey):]
	data := make([]byte, binary.BigEndian.Uint16(frame[2:]))
	_, err = io.ReadFull(conn, data)
	t.Must(err)
	return append(frame, data...)
}

// fpdu frames a ULPDU: its length, padding, and the CRC, zero without (RFC 5044 §4).
func fpdu(ulpdu []byte, crc bool) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu)))
	b = append(b, ulpdu...)
	b = append(b, make([]byte, -len(b)&3)...)
	sum := uint32(0)
	if crc {
		sum = crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	}
	return binary.LittleEndian.AppendUint32(b, sum)
}

// mpaNull connects and calls NULL.
func mpaNull(t *T, crc bool) {
	conn := t.Dial(nfsRDMA)
	request := unhex("10 02 0004 0010 0010")
	if crc {
		request[0] |= 0x40
	}
	want := append(unhex("10 02 000c 0010 0010"), unhex(private)...)
	want[0] |= request[0]
	if got := mpaExchange(t, conn, request); !bytes.Equal(got, want) {
		t.Fatalf("MPA reply %x, expected %x", got, want)
	}
	mpaCallNull(t, conn, crc)
	what := "NULL of NFS version 3, 32 credits asked for"
	if crc {
		what += ", with CRC"
	}
	t.Report(Finding{What: what, Rule: "RFC 8166 §3.3.1", Expected: "RDMA_MSG, at least 1 credit", Saw: "RDMA_MSG, 64 credits"})
	t.Say("each byte as expected, 64 credits")
}

// mpaCallNull calls NULL of NFS version 3 on an accepted connection, and compares each byte of the
// answer.
func mpaCallNull(t *T, conn net.Conn, crc bool) {
	send := unhex("4143 00000000 00000000 00000001 00000000")
	xid := uint32(0xcafe0000)
	header := func(credits uint32) []byte {
		return binary.BigEndian.AppendUint32(unhex("cafe0000 00000001"), credits)
	}
	lists := make([]byte, 16) // RDMA_MSG, no chunk lists
	call := bytes.Join([][]byte{send, header(32), lists, nullCall(xid, 100003, 3)}, nil)
	_, err := conn.Write(fpdu(call, crc))
	t.Must(err)
	reply := bytes.Join([][]byte{send, header(64), lists, nullReply(xid)}, nil)
	expect := fpdu(reply, crc)
	got := make([]byte, len(expect))
	n, err := readNudging(conn, got, fpdu(unhex(zeroWrite), crc))
	if err != nil {
		t.Fatalf("no answer to NULL: %d bytes: %x: %v", n, got[:n], err)
	}
	if !bytes.Equal(got, expect) {
		t.Errorf("FPDU %x\nexpected %x", got, expect)
	}
}

// zeroWrite is an RDMA Write of no bytes, the last segment of its message (RFC 5040 §4.3).
const zeroWrite = "c140 00000001 0000000000000000"

// readNudging fills b. siw replies before it is ready to receive, so an FPDU that arrives at once
// stays unread until more bytes arrive. readNudging therefore sends the nudge, which changes
// nothing, if no answer comes.
func readNudging(conn net.Conn, b, nudge []byte) (n int, err error) {
	for range 50 {
		if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			return n, err
		}
		m, err := io.ReadFull(conn, b[n:])
		n += m
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if _, err := conn.Write(nudge); err != nil {
			return n, err
		}
	}
	return n, os.ErrDeadlineExceeded
}
