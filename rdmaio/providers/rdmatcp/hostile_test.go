package rdmatcp_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// flags of a scripted segment.
const (
	b_ = 1 << iota
	e_
)

func header(t segment.Type, flags int, number uint32) segment.Header {
	return segment.Header{Type: t, Begin: flags&b_ != 0, End: flags&e_ != 0, Number: number}
}

// A peer breaks every rule of the format over a socket. The error names the rule, nothing of the
// bad segment is delivered, and another connection of the device is not affected (R334, R339, R340,
// R342 to R346, R352 to R354, R356, R357).
func TestEveryRule(t *testing.T) {
	dev := device(t, rawConfig())
	neighbour, nv := attack(t, dev, true)
	patch := func(at int, with ...byte) func(p *peer) []byte {
		return func(p *peer) []byte {
			b := p.whole(segment.Header{}, nil, []byte("12345678"))
			copy(b[at:], with)
			return b
		}
	}
	type script = func(p *peer) []byte
	seq := func(parts ...func(p *peer, n uint32) []byte) script {
		return func(p *peer) (b []byte) {
			n := p.next()
			for _, part := range parts {
				b = append(b, part(p, n)...)
			}
			return b
		}
	}
	send := func(flags int, off uint32, size int, plus uint32) func(p *peer, n uint32) []byte {
		return func(p *peer, n uint32) []byte {
			h := header(segment.Send, flags, n+plus)
			h.Offset = off
			return p.part(h, nil, make([]byte, size))
		}
	}
	var key uint32
	write := func(flags int, off uint32, size int, length, id uint32) func(p *peer, n uint32) []byte {
		return func(p *peer, n uint32) []byte {
			h := header(segment.Write, flags, n)
			h.Offset, h.RDMALength, h.BufferID = off, length, key+id
			return p.part(h, nil, make([]byte, size))
		}
	}
	for _, tc := range []struct {
		name   string
		script script
		want   error
	}{
		{"version", patch(0, 2), segment.BadVersion},
		{"length below header", patch(2, 0, 23), segment.LengthBelowHeader},
		{"control beyond length", patch(19, 3), segment.ControlTooLong},
		{"CRC", patch(24, 'x'), segment.BadCRC},
		{"read request with payload", func(p *peer) []byte {
			return p.part(header(segment.ReadRequest, b_|e_, p.next()), nil, []byte("1234"))
		}, segment.RequestWithPayload},
		{"read request in parts", func(p *peer) []byte { return p.part(header(segment.ReadRequest, b_, p.next()), nil, nil) }, segment.RequestNotWhole},
		{"connection ID", func(p *peer) []byte {
			b := p.whole(segment.Header{}, nil, []byte("one"))
			p.id++
			return append(b, p.whole(segment.Header{}, nil, []byte("two"))...)
		}, segment.WrongConnectionID},
		{"no begin", seq(send(e_, 0, 4, 0)), segment.MissingBegin},
		{"begin twice", seq(send(b_, 0, 4, 0), send(b_|e_, 0, 4, 0)), segment.UnexpectedBegin},
		{"next inside", seq(send(b_, 0, 4, 0), send(b_|e_, 0, 4, 1)), segment.UnexpectedBegin},
		{"type changes", seq(send(b_, 0, 4, 0), write(e_, 4, 4, 8, 0)), segment.TypeChanged},
		{"number changes", seq(send(b_, 0, 4, 0), send(e_, 4, 4, 1)), segment.NumberChanged},
		{"number skipped", seq(send(b_|e_, 0, 4, 0), send(b_|e_, 0, 4, 2)), segment.NumberNotNext},
		{"number repeated", seq(send(b_|e_, 0, 4, 0), send(b_|e_, 0, 4, 0)), segment.NumberNotNext},
		{"data offset", seq(send(b_|e_, 4, 4, 0)), segment.DataOffsetNotZero},
		{"data offset gap", seq(send(b_, 0, 4, 0), send(e_, 8, 4, 0)), segment.OffsetNotNext},
		{"buffer offset gap", seq(write(b_, 0, 4, 8, 0), write(e_, 8, 4, 8, 0)), segment.OffsetNotNext},
		{"buffer ID changes", seq(write(b_, 0, 4, 8, 0), write(e_, 4, 4, 8, 1)), segment.BufferIDChanged},
		{"RDMA length changes", seq(write(b_, 0, 4, 8, 0), write(e_, 4, 4, 9, 0)), segment.RDMALengthChanged},
		{"offset wraps", seq(write(b_|e_, math.MaxUint32-3, 5, 5, 0)), segment.OffsetWraps},
		{"write too long", seq(write(b_, 0, 4, 6, 0), write(e_, 4, 4, 6, 0)), segment.PayloadTooLong},
		{"write too short", seq(write(b_, 0, 4, 9, 0), write(e_, 4, 4, 9, 0)), segment.PayloadTooShort},
		{"response without request", func(p *peer) []byte {
			return p.part(header(segment.ReadResponse, b_|e_, 5), nil, []byte("1234"))
		}, segment.NoReadOutstanding},
		{"ends inside a header", func(p *peer) []byte { return p.whole(segment.Header{}, nil, nil)[:20] }, io.ErrUnexpectedEOF},
		{"ends inside a payload", func(p *peer) []byte { return p.whole(segment.Header{}, nil, make([]byte, 9000))[:8000] }, io.ErrUnexpectedEOF},
		{"ends inside a message", seq(send(b_, 0, 4, 0)), io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, v := attack(t, dev, true)
			key = v.mr.RKey()
			v.recv(t, 16<<10, 4)
			p.write(tc.script(p))
			if errors.Is(tc.want, io.ErrUnexpectedEOF) {
				p.conn.(interface{ CloseWrite() error }).CloseWrite()
			}
			v.fails(verbs.ErrConnectionBroken, tc.want)
			if rest := p.ended(); len(rest) > 0 {
				t.Errorf("raw mode, but %d bytes came back", len(rest))
			}
		})
	}
	nv.recv(t, 16, 1)
	neighbour.put(segment.Header{}, nil, []byte("still here"))
	if wc := nv.next(); wc.Err() != nil || string(nv.mr.Bytes()[:wc.ByteLen]) != "still here" {
		t.Errorf("the neighbour's connection: %+v", wc)
	}
}

// Responses to our Reads that break a rule (R346, R354, R357).
func TestResponseRules(t *testing.T) {
	dev := device(t, rawConfig())
	for _, tc := range []struct {
		name  string
		parts func(p *peer, n uint32) [][]byte
		want  error
	}{
		{"second before first", func(p *peer, n uint32) [][]byte {
			return [][]byte{p.part(header(segment.ReadResponse, b_|e_, n+1), nil, make([]byte, 100))}
		}, segment.WrongReadNumber},
		{"twice", func(p *peer, n uint32) [][]byte {
			b := p.part(header(segment.ReadResponse, b_|e_, n), nil, make([]byte, 100))
			return [][]byte{b, b}
		}, segment.WrongReadNumber},
		{"too long", func(p *peer, n uint32) [][]byte {
			return [][]byte{p.part(header(segment.ReadResponse, b_|e_, n), nil, make([]byte, 101))}
		}, segment.PayloadTooLong},
		{"too short", func(p *peer, n uint32) [][]byte {
			return [][]byte{p.part(header(segment.ReadResponse, b_|e_, n), nil, make([]byte, 99))}
		}, segment.PayloadTooShort},
		{"end of the stream instead", func(p *peer, n uint32) [][]byte { return nil }, io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, v := attack(t, dev, true)
			p.put(segment.Header{Type: segment.Write}, nil, nil) // it has the Connection ID
			v.poison()
			read := verbs.SendWR{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: v.mr, Length: 100}}, RKey: 7, RemoteAddr: 11}
			v.send(t, []verbs.SendWR{read, read})
			h, _, _ := p.get()
			if second, _, _ := p.get(); h.Type != segment.ReadRequest || h.BufferID != 7 || h.Offset != 11 || h.RDMALength != 100 || second.Number != h.Number+1 {
				t.Fatalf("requests %+v, %+v", h, second)
			}
			for _, b := range tc.parts(p, h.Number) {
				p.write(b)
			}
			p.conn.(interface{ CloseWrite() error }).CloseWrite()
			v.fails(verbs.ErrConnectionBroken, tc.want)
			for i, b := range v.mr.Bytes() {
				if i >= 100 && b != 0xa5 {
					t.Fatalf("byte %d after the sink was written", i)
				}
			}
		})
	}
}

// R9; RFC 5042 §6.2.1, §6.3.1: a range that is not entirely inside the region moves no byte, in
// whatever segments it comes.
func TestRangeOutsideTheRegionMovesNothing(t *testing.T) {
	dev := device(t, rawConfig())
	_, other := attack(t, dev, true)
	region := func(v *victim, access verbs.Access) verbs.MemoryRegion {
		mr, err := v.pd.RegisterMemory(v.mr.Bytes()[64:128], access)
		if err != nil {
			t.Fatal(err)
		}
		return mr
	}
	const all = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	for _, op := range []segment.Type{segment.Write, segment.ReadRequest} {
		for _, off := range []uint32{0, 1, 8, 62, 63, 64, 65, 80, math.MaxUint32 - 80} {
			for _, n := range []int{0, 1, 2, 56, 63, 64, 65, 80} {
				p, v := attack(t, dev, true)
				v.poison()
				mr := region(v, all)
				h := header(op, b_|e_, p.next())
				h.BufferID, h.Offset, h.RDMALength = mr.RKey(), off, uint32(n)
				if op == segment.Write {
					h.End = false // the first byte must be refused, not only the last
					p.write(p.part(h, nil, make([]byte, n/2)))
					h.Begin, h.End, h.Offset = false, true, off+uint32(n/2)
					p.write(p.part(h, nil, make([]byte, n-n/2)))
				} else {
					p.write(p.part(h, nil, nil))
				}
				if n > 0 && uint64(off)+uint64(n) > 64 {
					v.fails(verbs.ErrConnectionBroken)
					if !v.poisoned() {
						t.Fatalf("%v of %d bytes at %d: something was written", op, n, off)
					}
					if rest := p.ended(); len(rest) > 0 {
						t.Fatalf("%v of %d bytes at %d: %d bytes came back", op, n, off, len(rest))
					}
				} else {
					v.recv(t, 8, 1)
					p.put(segment.Header{}, nil, nil)
					if wc := v.next(); wc.Err() != nil {
						t.Fatalf("%v of %d bytes at %d: %v: %v", op, n, off, wc.Err(), v.qp.Err())
					}
					p.conn.Close()
				}
				mr.Deregister()
			}
		}
	}
	if other.qp.State() != verbs.StateConnected {
		t.Errorf("another connection suffered: %v", other.qp.Err())
	}
}

// R8, R290, R301: keys that the peer may not use.
func TestForbiddenKeysMoveNothing(t *testing.T) {
	dev := device(t, rawConfig())
	_, other := attack(t, dev, true)
	for name, key := range map[string]func(v *victim) uint32{
		"none":           func(*victim) uint32 { return 0 },
		"guessed":        func(v *victim) uint32 { return v.mr.RKey() + 1 },
		"other domain's": func(*victim) uint32 { return other.mr.RKey() },
		"stale": func(v *victim) uint32 {
			old := v.mr.RKey()
			v.mr.Invalidate()
			v.mr.Reregister(v.mr.Bytes(), v.mr.Access())
			return old
		},
		"invalidated":  func(v *victim) uint32 { v.mr.Invalidate(); return v.mr.RKey() },
		"deregistered": func(v *victim) uint32 { v.mr.Deregister(); return v.mr.RKey() },
	} {
		for _, op := range []segment.Type{segment.Write, segment.ReadRequest} {
			p, v := attack(t, dev, true)
			v.poison()
			other.poison()
			h := segment.Header{Type: op, BufferID: key(v), RDMALength: 8}
			var payload []byte
			if op == segment.Write {
				payload = make([]byte, 8)
			}
			p.put(h, nil, payload)
			v.fails(verbs.ErrConnectionBroken)
			if rest := p.ended(); len(rest) > 0 || !v.poisoned() || !other.poisoned() {
				t.Errorf("%s, %v: bytes moved", name, op)
			}
		}
	}
}

// RFC 5042 §5.1: every single flipped bit is detected, and a short segment with one changes no
// memory.
func TestEveryBit(t *testing.T) {
	dev := device(t, rawConfig())
	for i := range 32 + 6 + 2 + 4 {
		for bit := range 8 {
			if bit != i%8 && bit != (i+3)%8 { // two bits of each byte
				continue
			}
			p, v := attack(t, dev, true)
			v.poison()
			b := p.whole(segment.Header{Type: segment.Write, BufferID: v.mr.RKey(), Offset: 3}, nil, []byte("secret"))
			b[i] ^= 1 << bit
			p.write(b)
			p.conn.(interface{ CloseWrite() error }).CloseWrite()
			v.fails(verbs.ErrConnectionBroken)
			if !v.poisoned() {
				t.Errorf("bit %d of byte %d flipped: memory was written", bit, i)
			}
		}
	}
}

// A long segment is placed while its CRC is computed. It is not reported if the CRC is wrong.
func TestLongBadCRC(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	v.recv(t, sideBytes, 1)
	b := p.whole(segment.Header{}, nil, make([]byte, 60_000))
	b[40_000] ^= 1
	p.write(b)
	v.fails(segment.BadCRC)
	if wc := v.next(); wc.Status != verbs.StatusFlushed {
		t.Errorf("completion %+v, want flushed", wc)
	}
}

// R3: a Send without a Receive, or with one that is too short, breaks the connection.
func TestSendWithoutReceiveEndsTheConnection(t *testing.T) {
	for _, tc := range []struct {
		name   string
		room   int // of the Receive; negative: none
		sizes  []int
		status verbs.Status
		reason string
	}{
		{"none posted", -1, []int{4}, 0, "Send found no Receive posted"},
		{"too small", 7, []int{8}, verbs.StatusLocalLength, "has room for 7"},
		{"too small for the second segment", 9, []int{5, 5}, verbs.StatusLocalLength, "has room for 9"},
		{"too small for a long segment", 9000, []int{5000, 5000}, verbs.StatusLocalLength, "has room for 9000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, v := attack(t, device(t, rawConfig()), true)
			v.poison()
			if tc.room >= 0 {
				v.recv(t, tc.room, 1)
			}
			n, off := p.next(), 0
			for i, size := range tc.sizes {
				h := header(segment.Send, 0, n)
				h.Begin, h.End, h.Offset = i == 0, i == len(tc.sizes)-1, uint32(off)
				p.write(p.part(h, nil, make([]byte, size)))
				off += size
			}
			v.fails(verbs.ErrConnectionBroken)
			if err := v.qp.Err(); !bytes.Contains([]byte(err.Error()), []byte(tc.reason)) {
				t.Errorf("error %q does not say %q", err, tc.reason)
			}
			if tc.room >= 0 {
				if wc := v.next(); wc.Status != tc.status {
					t.Errorf("Receive ended with %v, want %v", wc.Status, tc.status)
				}
			}
			if rest := v.mr.Bytes()[max(tc.room, 0):]; !bytes.Equal(rest, bytes.Repeat([]byte{0xa5}, len(rest))) {
				t.Error("bytes after the Receive were written")
			}
		})
	}
}

// A Send may arrive a little before its Receive is posted.
func TestLateReceive(t *testing.T) {
	cfg := rawConfig()
	cfg.ReceiveTimeout = patience
	p, v := attack(t, device(t, cfg), true)
	p.put(segment.Header{}, nil, []byte("early"))
	time.Sleep(20 * time.Millisecond)
	v.none()
	v.recv(t, 8, 1)
	if wc := v.next(); wc.Err() != nil || wc.ByteLen != 5 {
		t.Errorf("completion %+v", wc)
	}
}

// RFC 5042 §6.4.3.3: one Read more than negotiated breaks the connection. The others cost a list of
// their headers.
func TestReadDepth(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	ask := func(n int) (b []byte) {
		for range n {
			b = append(b, p.whole(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)...)
		}
		return b
	}
	p.write(ask(16)) // the peer reads nothing: the sockets buffer some of the responses
	time.Sleep(50 * time.Millisecond)
	if v.qp.State() != verbs.StateConnected {
		t.Fatalf("16 Reads: %v", v.qp.Err())
	}
	p.write(ask(16))
	v.fails(verbs.ErrConnectionBroken)
}

// Reads are answered in the order of their requests, each with its own bytes.
func TestReadsInOrder(t *testing.T) {
	p, v := attack(t, device(t, rawConfig()), true)
	for i := range v.mr.Bytes() {
		v.mr.Bytes()[i] = byte(i * 7)
	}
	sizes := []int{10, 70_000, 0, 4096, 200_000, 1}
	var numbers []uint32
	for i, n := range sizes {
		numbers = append(numbers, p.number)
		p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), Offset: uint32(i * 100), RDMALength: uint32(n)}, nil, nil)
	}
	for i, n := range sizes {
		var got []byte
		for last := false; !last; {
			h, _, payload := p.get()
			if h.Type != segment.ReadResponse || h.Number != numbers[i] || h.Order != segment.NoOrder || int(h.Offset) != len(got) || h.Begin != (len(got) == 0) {
				t.Fatalf("segment %+v at %d of Read %d, number %#x", h, len(got), i, numbers[i])
			}
			got, last = append(got, payload...), h.End
		}
		if !slices.Equal(got, v.mr.Bytes()[i*100:i*100+n]) {
			t.Fatalf("Read %d: %d bytes, or bytes other than the region's", i, len(got))
		}
	}
}
