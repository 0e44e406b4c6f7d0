package strangertest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The provider never has more Reads outstanding than the peer's IRD allows, and completes them in
// order (RFC 5040 §6.1, §5.5 rule 20).
func TestReadDepth(t *testing.T) {
	for _, ird := range []uint16{1, 3, 16} {
		for _, initiator := range []bool{true, false} {
			t.Run(fmt.Sprintf("IRD %d, initiator %t", ird, initiator), func(t *testing.T) {
				const reads = 40
				h := newHost(t, open(t, config()))
				sink := h.region("sink", make([]byte, reads), verbs.AccessLocalWrite)
				source := bytes.Repeat([]byte("0123456789"), reads/10)
				f := enhanced(true)
				f.IRD = ird
				cfg := stranger.Config{Startup: f, HoldReads: true, Regions: map[uint32]stranger.Region{5: {Base: 77, Bytes: source, ReadOK: true}}}
				p := h.connect(initiator, cfg, nil)
				if !initiator {
					p.Write(0, 0, nil) // lets the host send
				}
				for i := range reads {
					h.must(h.send(verbs.SendWR{WRID: uint64(i), Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: sink, Offset: i, Length: 1}}, RKey: 5, RemoteAddr: 77 + uint64(i)}))
				}
				for i := 0; i < reads; {
					await(t, func() bool { return p.Waiting() >= min(int(ird), reads-i) })
					if n := p.Waiting(); n > int(ird) {
						t.Fatalf("%d Reads outstanding, IRD %d", n, ird)
					}
					for range p.Answer(1) {
						if wc := h.next(); wc.WRID != uint64(i) || wc.Status != verbs.StatusSuccess || wc.ByteLen != 1 {
							t.Fatalf("completion %+v, want Read %d", wc, i)
						}
						i++
					}
				}
				if !bytes.Equal(sink.Bytes(), source) {
					t.Errorf("read %q", sink.Bytes())
				}
				noComplaints(t, p)
			})
		}
	}
}

// await waits for a condition.
func await(t testing.TB, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(limit) {
			t.Fatal("the condition did not come")
		}
	}
}

// badResponses are answers to a Read of 16 bytes to the middle of a sink, with another region near.
var badResponses = []struct {
	name, cite string
	change     func(s []stranger.Segment, other stranger.Key) []stranger.Segment
	placed     int // bytes of the sink that may have been placed
}{
	{"another STag", "RFC 5040 §5.2.2", func(s []stranger.Segment, other stranger.Key) []stranger.Segment {
		s[0].STag = other.STag
		return s
	}, 0},
	{"STag and TO of a region that the peer may write", "RFC 5040 §4.4: the sink is copied", func(s []stranger.Segment, other stranger.Key) []stranger.Segment {
		s[0].STag, s[0].TO = other.STag, other.Base
		return s
	}, 0},
	{"STag 0", "RFC 5041 §7.1", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].STag = 0
		return s
	}, 0},
	{"TO one less", "RFC 5041 §7.1", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].TO--
		return s
	}, 0},
	{"TO one more", "RFC 5041 §7.1", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].TO++
		return s
	}, 0},
	{"TO 2^64-1", "RFC 5041 §7.1", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].TO = 1<<64 - 1
		return s
	}, 0},
	{"a byte too long", "RFC 5040 §5.2.2", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].Payload = append(s[0].Payload, 'x')
		return s
	}, 0},
	{"a byte too short", "RFC 5040 §5.2: it is a single Response", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].Payload = s[0].Payload[:15]
		return s
	}, 15},
	{"nothing", "RFC 5040 §5.2", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].Payload = nil
		return s
	}, 0},
	{"a second segment beyond the sink", "RFC 5041 §7.1", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		last := s[0]
		s[0].Last = false
		last.TO, last.Payload = last.TO+16, []byte("x")
		return append(s, last)
	}, 16},
	{"a gap", "RFC 5041 §5.2", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		last := s[0]
		s[0].Last, s[0].Payload = false, s[0].Payload[:4]
		last.TO, last.Payload = last.TO+8, last.Payload[8:]
		return append(s, last)
	}, 4},
	{"the same octets twice", "RFC 5041 §5.2", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		last := s[0]
		s[0].Last = false
		return append(s, last)
	}, 16},
	{"two Responses", "RFC 5040 §5.2", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment { return append(s, s[0]) }, 16},
	{"opcode Write", "RFC 5040 §4.1: the sink has no right to write", func(s []stranger.Segment, _ stranger.Key) []stranger.Segment {
		s[0].Opcode = stranger.Write
		return s
	}, 0},
}

// A wrong Read Response ends the connection, and nothing outside its sink changes.
func TestBadResponses(t *testing.T) {
	for _, tt := range badResponses {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, open(t, config()))
			room := bytes.Repeat([]byte{'.'}, 64)
			sink := h.region("sink", room[16:48], verbs.AccessLocalWrite)
			other := h.region("other", make([]byte, 64), everything)
			cfg := stranger.Config{Startup: enhanced(true), HoldReads: true, Regions: map[uint32]stranger.Region{5: {Bytes: make([]byte, 100), ReadOK: true}}}
			p := h.connect(true, cfg, nil)
			h.must(h.send(verbs.SendWR{Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: sink, Offset: 8, Length: 16}}, RKey: 5}))
			await(t, func() bool { return p.Waiting() == 1 })
			all := p.Received()
			r, err := stranger.ParseRead(all[len(all)-1].Payload)
			h.must(err)
			s := stranger.Segment{
				Tagged: true, Last: true, DDPVersion: 1, RDMAPVersion: 1, Opcode: stranger.ReadResponse,
				STag: r.SinkSTag, TO: r.SinkTO, Payload: []byte("0123456789abcdef"),
			}
			p.Put(tt.change([]stranger.Segment{s}, stranger.Key{STag: other.RKey(), Base: other.RemoteAddr()})...)
			if e := p.Next(); e.Kind != stranger.Terminated {
				t.Errorf("%v, want a Terminate (%s)", e, tt.cite)
			}
			if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("reason %v", err)
			}
			if wc := h.next(); wc.Status == verbs.StatusSuccess && tt.name != "two Responses" {
				t.Error("the Read has succeeded")
			}
			want := append(bytes.Repeat([]byte{'.'}, 24), "0123456789abcdef"[:tt.placed]...)
			got := bytes.TrimRight(room, ".")
			if !bytes.HasPrefix(want, got) && !bytes.Equal(got, want[:24]) {
				t.Errorf("memory %q", room)
			}
			if bytes.Count(other.Bytes(), []byte{0}) != 64 {
				t.Errorf("another region changed: %q", other.Bytes())
			}
		})
	}
}

// A region that is invalidated before its Read was answered in full ends the connection by a
// Terminate with an invalid STag (RFC 5040 §4.8 figure 9), and no byte of it is sent from then on.
// A Send may overtake a Read (RFC 5040 §5.5 rule 18).
func TestInvalidatedRead(t *testing.T) {
	for _, remote := range []bool{true, false} {
		h := newHost(t, open(t, config()))
		source := h.region("source", bytes.Repeat([]byte{1}, 16<<20), everything)
		h.post(10)
		cfg := stranger.Config{Startup: enhanced(true), Deaf: true, Regions: map[uint32]stranger.Region{5: {Bytes: make([]byte, 16<<20)}}}
		p := h.connect(false, cfg, nil)
		p.Read(stranger.Read{SinkSTag: 5, Size: 16 << 20, SourceSTag: source.RKey(), SourceTO: source.RemoteAddr()})
		if remote {
			p.Send(stranger.SendInvalidate, []byte("bye"), source.RKey())
		} else {
			p.Send(stranger.Send, []byte("bye"), 0)
		}
		if b, _, err := h.message(); string(b) != "bye" || err != nil {
			t.Fatalf("message %q, %v", b, err)
		}
		if !remote {
			h.must(source.Invalidate())
		}
		copy(source.Bytes(), make([]byte, 16<<20))
		p.Hear()
		if e := p.Next(); e.Kind != stranger.Terminated || e.Terminate.Code != stranger.RDMAPInvalidSTag {
			t.Errorf("%v, want a Terminate with %v", e, stranger.RDMAPInvalidSTag)
		}
		if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Errorf("reason %v", err)
		}
		sum := 0
		for _, s := range p.Received() {
			if s.Opcode == stranger.ReadResponse {
				sum += len(s.Payload)
			}
		}
		if got, _ := p.Memory(5); bytes.Count(got, []byte{1}) != sum {
			t.Errorf("%d bytes came, %d of them from before the invalidation", sum, bytes.Count(got, []byte{1}))
		}
		noComplaints(t, p)
	}
}
