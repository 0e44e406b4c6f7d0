package strangertest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// unusual are streams that a receiver must accept, though no sender should send some of them. Each
// leaves the message "done" behind it, after the messages in gets.
var unusual = []struct {
	name, cite string
	crc        bool
	put        func(p *stranger.Endpoint, k stranger.Key)
	gets       []string
	memory     string // of the region's first bytes
}{
	{"reserved bits of DDP and RDMAP", "RFC 5041 §4.1, RFC 5040 §4.1: not checked", true, func(p *stranger.Endpoint, k stranger.Key) {
		s := p.DueSend(stranger.Send, []byte("a"), 0)[0]
		s.DDPReserved, s.RDMAPReserved = 15, 3
		w := p.DueWrite(k.STag, k.Base, []byte("b"))[0]
		w.DDPReserved, w.RDMAPReserved = 15, 3
		p.Put(s, w)
	}, []string{"a"}, "b"},
	{"Invalidate STag in a Send without invalidation", "RFC 5040 §4.1: ignored", true, func(p *stranger.Endpoint, k stranger.Key) {
		p.Send(stranger.Send, []byte("a"), k.STag)
		p.Send(stranger.SendSE, []byte("b"), 12345)
	}, []string{"a", "b"}, ""},
	{"a pad that is not zero", "RFC 5044 §4.1: ignored except for the CRC", true, func(p *stranger.Endpoint, _ stranger.Key) {
		b := p.Wire(p.DueSend(stranger.Send, []byte("a"), 0)...)
		copy(b[len(b)-7:], "\xff\xfe\xfd")
		p.PutBytes(stranger.Reseal(b))
	}, []string{"a"}, ""},
	{"any CRC field without CRCs", "RFC 5044 §4.1: must not be checked", false, func(p *stranger.Endpoint, _ stranger.Key) {
		b := p.Wire(p.DueSend(stranger.Send, []byte("a"), 0)...)
		copy(b[len(b)-4:], "\xde\xad\xbe\xef")
		p.PutBytes(b)
	}, []string{"a"}, ""},
	{"Write of no bytes anywhere", "RFC 5041 §5.2: STag and TO must not be checked", true, func(p *stranger.Endpoint, k stranger.Key) {
		p.Write(0, 0, nil)
		p.Write(0xffffffff, 1<<64-1, nil)
		p.Write(k.STag, k.Base+1<<30, nil)
	}, nil, ""},
	{"Read of no bytes from anywhere to anywhere", "RFC 5040 §5.2.1: must not be validated", true, func(p *stranger.Endpoint, k stranger.Key) {
		p.Read(stranger.Read{})
		p.Read(stranger.Read{SinkSTag: 1<<32 - 1, SinkTO: 1<<64 - 1, SourceSTag: 1<<32 - 1, SourceTO: 1<<64 - 1})
	}, nil, ""},
	{"messages of no bytes", "RFC 5040 §5.3", true, func(p *stranger.Endpoint, _ stranger.Key) {
		p.Send(stranger.Send, nil, 0)
		p.Send(stranger.SendSE, nil, 0)
	}, []string{"", ""}, ""},
	{"segments of one byte", "RFC 5041 §5.2", true, func(p *stranger.Endpoint, k stranger.Key) {
		one := func(s stranger.Segment) {
			for i, octet := range bytes.Clone(s.Payload) {
				s.Payload, s.Last = []byte{octet}, i == 9
				p.Put(s)
				s.MO++
				s.TO++
			}
		}
		one(p.DueSend(stranger.Send, []byte("0123456789"), 0)[0])
		one(p.DueWrite(k.STag, k.Base, []byte("abcdefghij"))[0])
	}, []string{"0123456789"}, "abcdefghij"},
	{"the longest ULPDU", "RFC 5044 §4.1: 16 bits", true, func(p *stranger.Endpoint, k stranger.Key) {
		p.Write(k.STag, k.Base, bytes.Repeat([]byte("z"), 1<<16-1-stranger.TaggedHeader))
		p.Send(stranger.Send, bytes.Repeat([]byte("y"), 1<<16-1-stranger.UntaggedHeader), 0)
	}, []string{string(bytes.Repeat([]byte("y"), 1<<16-1-stranger.UntaggedHeader))}, "zzzz"},
	{"the whole region", "RFC 5041 §7.1", true, func(p *stranger.Endpoint, k stranger.Key) {
		p.Write(k.STag, k.Base, bytes.Repeat([]byte("w"), unusualBytes))
		p.Write(k.STag, k.Base+unusualBytes-1, []byte("!"))
	}, nil, "w"},
	{"a message as long as its buffer", "RFC 5041 §7.1", true, func(p *stranger.Endpoint, _ stranger.Key) {
		p.Send(stranger.Send, bytes.Repeat([]byte("f"), unusualBytes), 0)
	}, []string{string(bytes.Repeat([]byte("f"), unusualBytes))}, ""},
	{"all FPDUs in one piece", "RFC 5044 §5.1", true, func(p *stranger.Endpoint, k stranger.Key) {
		var b []byte
		for i := range 20 {
			b = append(b, p.Wire(p.DueWrite(k.STag, k.Base+uint64(i), []byte{byte('a' + i)})...)...)
			b = append(b, p.Wire(p.DueSend(stranger.Send, []byte{byte('A' + i)}, 0)...)...)
		}
		p.PutBytes(b)
	}, []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T"}, "abcdefghijklmnopqrst"},
}

const unusualBytes = 1 << 16

func TestUnusualStreamsAreAccepted(t *testing.T) {
	for _, tt := range unusual {
		for _, initiator := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, initiator %t", tt.name, initiator), func(t *testing.T) {
				cfg := config()
				cfg.NoCRC = !tt.crc
				h := newHost(t, open(t, cfg))
				mr := h.region("memory", make([]byte, unusualBytes), everything)
				for range len(tt.gets) {
					h.post(min(unusualBytes, recvBytes/(len(tt.gets)+1)))
				}
				h.post(4)
				p := h.connect(initiator, stranger.Config{Startup: enhanced(tt.crc), MaxULPDU: 1<<16 - 1}, nil)
				if p.CRC != tt.crc {
					t.Fatalf("CRC %t", p.CRC)
				}
				tt.put(p, stranger.Key{STag: mr.RKey(), Base: mr.RemoteAddr()})
				p.Send(stranger.Send, []byte("done"), 0)
				for _, want := range append(tt.gets, "done") {
					if b, wc, err := h.message(); string(b) != want || err != nil || wc.InvalidatedRKey != 0 {
						t.Fatalf("message %.50q, %v, want %.50q (%s)", b, err, want, tt.cite)
					}
				}
				if !bytes.HasPrefix(mr.Bytes(), []byte(tt.memory)) || mr.State() != verbs.MRValid {
					t.Errorf("memory %.50q, want %.50q; region %v", mr.Bytes(), tt.memory, mr.State())
				}
				noComplaints(t, p)
			})
		}
	}
}

// interleaved are streams about which the documents are not clear. A receiver accepts them, and
// then all is where it belongs, or refuses them by a Terminate.
var interleaved = []struct {
	name string
	put  func(p *stranger.Endpoint, k stranger.Key)
	gets []string
	want string // memory, if accepted
}{
	{"a Send within a Write", func(p *stranger.Endpoint, k stranger.Key) {
		w := p.DueWrite(k.STag, k.Base, []byte("abcd"))[0]
		first, last := w, w
		first.Last, first.Payload = false, w.Payload[:2]
		last.TO, last.Payload = w.TO+2, w.Payload[2:]
		p.Put(first, p.DueSend(stranger.Send, []byte("x"), 0)[0], last)
	}, []string{"x"}, "abcd"},
	{"a Write within a Send", func(p *stranger.Endpoint, k stranger.Key) {
		s := p.DueSend(stranger.Send, []byte("xyz"), 0)[0]
		first, last := s, s
		first.Last, first.Payload = false, s.Payload[:1]
		last.MO, last.Payload = 1, s.Payload[1:]
		p.Put(first, p.DueWrite(k.STag, k.Base, []byte("ab"))[0], last)
	}, []string{"xyz"}, "ab"},
	{"two Writes in turn", func(p *stranger.Endpoint, k stranger.Key) {
		a, b := p.DueWrite(k.STag, k.Base, []byte("a"))[0], p.DueWrite(k.STag, k.Base+1, []byte("b"))[0]
		a.Last, b.Last = false, false
		p.Put(a, b)
		a.TO, b.TO = k.Base+2, k.Base+3
		a.Last, b.Last = true, true
		p.Put(a, b)
	}, nil, "abab"},
	{"a Write whose segments leave a gap", func(p *stranger.Endpoint, k stranger.Key) {
		a := p.DueWrite(k.STag, k.Base, []byte("a"))[0]
		b := a
		a.Last, b.TO = false, k.Base+2
		p.Put(a, b)
	}, nil, "a.a"},
	{"a Write whose segments go backwards", func(p *stranger.Endpoint, k stranger.Key) {
		a, b := p.DueWrite(k.STag, k.Base+1, []byte("b"))[0], p.DueWrite(k.STag, k.Base, []byte("a"))[0]
		a.Last = false
		p.Put(a, b)
	}, nil, "ab"},
	{"a Read Request within a Send", func(p *stranger.Endpoint, k stranger.Key) {
		s := p.DueSend(stranger.Send, []byte("xy"), 0)[0]
		first, last := s, s
		first.Last, first.Payload = false, s.Payload[:1]
		last.MO, last.Payload = 1, s.Payload[1:]
		p.Put(first, p.DueRead(stranger.Read{SinkSTag: 1, Size: 1, SourceSTag: k.STag, SourceTO: k.Base}), last)
	}, []string{"xy"}, ""},
	{"a Write that ends with a segment of no bytes", func(p *stranger.Endpoint, k stranger.Key) {
		a := p.DueWrite(k.STag, k.Base, []byte("a"))[0]
		b := a
		a.Last, b.TO, b.Payload = false, k.Base+1, nil
		p.Put(a, b)
	}, nil, "a"},
	{"a Send that ends with a segment of no bytes", func(p *stranger.Endpoint, k stranger.Key) {
		a := p.DueSend(stranger.Send, []byte("a"), 0)[0]
		b := a
		a.Last, b.MO, b.Payload = false, 1, nil
		p.Put(a, b)
	}, []string{"a"}, ""},
	{"a Write whose second segment has another STag", func(p *stranger.Endpoint, k stranger.Key) {
		a := p.DueWrite(k.STag, k.Base, []byte("a"))[0]
		b := a
		a.Last, b.STag = false, k.STag^1
		p.Put(a, b)
	}, nil, "a"},
	{"a Send whose segments have two opcodes", func(p *stranger.Endpoint, k stranger.Key) {
		a := p.DueSend(stranger.Send, []byte("a"), 0)[0]
		b := a
		a.Last, b.Opcode, b.MO = false, stranger.SendSE, 1
		p.Put(a, b)
	}, []string{"aa"}, ""},
	{"a Read Request in two segments", func(p *stranger.Endpoint, k stranger.Key) {
		s := p.DueRead(stranger.Read{SinkSTag: 1, Size: 1, SourceSTag: k.STag, SourceTO: k.Base})
		first, last := s, s
		first.Last, first.Payload = false, s.Payload[:20]
		last.MO, last.Payload = 20, s.Payload[20:]
		p.Put(first, last)
	}, nil, ""},
}

func TestMessagesInsideOthersArePlacedOrRefused(t *testing.T) {
	for _, tt := range interleaved {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, open(t, config()))
			mr := h.region("memory", bytes.Repeat([]byte{'.'}, 8), everything)
			h.post(10, 10)
			p := h.connect(false, stranger.Config{Startup: enhanced(true), Regions: map[uint32]stranger.Region{1: {Bytes: make([]byte, 8)}}}, nil)
			tt.put(p, stranger.Key{STag: mr.RKey(), Base: mr.RemoteAddr()})
			p.Send(stranger.Send, []byte("done"), 0)
			for _, want := range append(tt.gets, "done") {
				b, _, err := h.message()
				if err != nil {
					e := p.Next()
					for e.Kind == stranger.ReadDone {
						e = p.Next()
					}
					if e.Kind != stranger.Terminated {
						t.Errorf("%v, %v, want a Terminate or no error", err, e)
					}
					t.Logf("refused: %v, %v", e.Terminate.Code, err)
					return
				}
				if string(b) != want {
					t.Fatalf("message %q, want %q", b, want)
				}
			}
			if !bytes.HasPrefix(mr.Bytes(), []byte(tt.want)) {
				t.Errorf("memory %q, want %q", mr.Bytes(), tt.want)
			}
			t.Log("accepted")
		})
	}
}
