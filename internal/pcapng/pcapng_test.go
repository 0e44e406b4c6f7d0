package pcapng_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/pcapng"
)

// packet is a TCP segment of a file.
type packet struct {
	From, To uint16
	Seq, Ack uint32
	Data     string
}

// parse returns the packets of a file, and checks their checksums.
func parse(t *testing.T, b []byte) (packets []packet) {
	t.Helper()
	sum := func(start uint32, b []byte) uint32 {
		b = append(b[:len(b):len(b)], 0)
		for i := 0; i+1 < len(b); i += 2 {
			start += uint32(binary.BigEndian.Uint16(b[i:]))
		}
		return start>>16 + start&0xffff
	}
	for len(b) > 0 {
		n := binary.LittleEndian.Uint32(b[4:])
		if binary.LittleEndian.Uint32(b) == 6 {
			p := b[28 : 28+binary.LittleEndian.Uint32(b[20:])]
			if s := sum(0, p[:20]); s != 0xffff {
				t.Errorf("the IP header has the sum %#x, want 0xffff", s)
			}
			if s := sum(sum(uint32(6+len(p)-20), p[12:20]), p[20:]); s != 0xffff {
				t.Errorf("the TCP segment has the sum %#x, want 0xffff", s)
			}
			packets = append(packets, packet{
				binary.BigEndian.Uint16(p[20:]), binary.BigEndian.Uint16(p[22:]),
				binary.BigEndian.Uint32(p[24:]), binary.BigEndian.Uint32(p[28:]), string(p[40:]),
			})
		}
		b = b[n:]
	}
	return packets
}

// The bytes of both directions are segments in their order, at most as long as they may be.
func TestBytesOfBothDirectionsAreSegments(t *testing.T) {
	for _, initiator := range []bool{true, false} {
		a, b := net.Pipe()
		go func() { // the other end answers each word of 5 bytes
			word := make([]byte, 5)
			for {
				if _, err := io.ReadFull(b, word); err != nil {
					return
				}
				if _, err := b.Write(bytes.ToUpper(word)); err != nil {
					return
				}
			}
		}()
		var out bytes.Buffer
		file := pcapng.NewFile(&out, 0)
		conn := pcapng.Record(a, pcapng.Recording{File: file, Name: "a", Initiator: initiator, MaxSegment: 3, Now: time.Now})
		for _, word := range []string{"hello", "world"} {
			if _, err := conn.Write([]byte(word)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(conn.Close(), b.Close(), file.Err()); err != nil {
			t.Fatal(err)
		}
		own, peer := uint16(49152), uint16(20049)
		if !initiator {
			own, peer = peer, own
		}
		want := []packet{
			{own, peer, 1, 1, "hel"},
			{own, peer, 4, 1, "lo"},
			{peer, own, 1, 6, "HEL"},
			{peer, own, 4, 6, "LO"},
			{own, peer, 6, 6, "wor"},
			{own, peer, 9, 6, "ld"},
			{peer, own, 6, 11, "WOR"},
			{peer, own, 9, 11, "LD"},
		}
		if d := cmp.Diff(want, parse(t, out.Bytes())); d != "" {
			t.Errorf("initiator %v (-want +got):\n%s", initiator, d)
		}
	}
}

// Each connection has an interface and an address of its own.
func TestEachConnectionHasItsInterface(t *testing.T) {
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	for _, name := range []string{"first", "second"} {
		file.Connection(name).Segment(true, time.Time{}, []byte(name))
	}
	packets := parse(t, out.Bytes())
	if len(packets) != 2 || packets[0].From == packets[1].From {
		t.Errorf("%+v", packets)
	}
	for _, name := range []string{"first", "second"} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the interface %q is not in the file", name)
		}
	}
}

// The largest segment fits into a packet, and a longer one is a fault of the caller.
func TestMaxSegment(t *testing.T) {
	var out bytes.Buffer
	c := pcapng.NewFile(&out, 60).Connection("c")
	c.Segment(true, time.Time{}, make([]byte, pcapng.MaxSegment))
	if n := out.Len(); n > 300 {
		t.Errorf("the file has %d bytes of packets of at most 60", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("a segment of 64 KiB was written")
		}
	}()
	c.Segment(true, time.Time{}, make([]byte, pcapng.MaxSegment+1))
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// An error of the writer is kept, and does not disturb the stream.
func TestWriteError(t *testing.T) {
	full := errors.New("disk full")
	file := pcapng.NewFile(failing{full}, 0)
	a, b := net.Pipe()
	conn := pcapng.Record(a, pcapng.Recording{File: file})
	go func() { _, _ = b.Write([]byte("x")) }()
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := file.Err(); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	if err := errors.Join(conn.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// Read returns the segments that were written. Files that are cut off, or of another kind, are
// errors.
func TestReadReturnsWhatWasWritten(t *testing.T) {
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	first, second := file.Connection("first"), file.Connection("second")
	second.Segment(false, time.Time{}, []byte("one"))
	first.Segment(true, time.Time{}, []byte("two"))
	second.Segment(true, time.Time{}, nil)
	want := []pcapng.Segment{
		{Connection: 0, Payload: []byte("one")},
		{Connection: 1, FromInitiator: true, Payload: []byte("two")},
		{Connection: 0, FromInitiator: true, Payload: []byte{}},
	}
	got, err := pcapng.Read(out.Bytes())
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
	for n := range out.Len() {
		if got, err := pcapng.Read(out.Bytes()[:n]); err == nil && len(got) >= len(want) {
			t.Errorf("%d of %d bytes are %d segments", n, out.Len(), len(got))
		}
	}
	out.Reset()
	pcapng.NewFile(&out, 50).Connection("short").Segment(true, time.Time{}, make([]byte, 100))
	if _, err := pcapng.Read(out.Bytes()); err == nil {
		t.Error("a shortened packet was read")
	}
}

// FuzzRead reads arbitrary files without a panic, and returns no more than they have.
func FuzzRead(f *testing.F) {
	var out bytes.Buffer
	pcapng.NewFile(&out, 0).Connection("c").Segment(true, time.Time{}, []byte("data"))
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := pcapng.Read(b)
		n := 0
		for _, s := range all {
			n += 40 + len(s.Payload)
		}
		if n > len(b) {
			t.Errorf("%d bytes of packets in %d bytes", n, len(b))
		}
	})
}
