package strangertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// blocks is the number of blocks of a memory. There is one more, for fences.
const blocks = 64

// script is a random conversation between a host and a stranger. Each round has operations of both
// on blocks of memory that no other operation of the round uses, then a message each way, behind
// which all is in place (RFC 5040 §5.5).
type script struct {
	t    *testing.T
	rnd  *rand.Rand
	each int // bytes of a block
	h    *host
	p    *stranger.Endpoint
	mr   verbs.MemoryRegion // the host's memory
	here []byte             // the model of the host's memory
	far  []byte             // the model of the stranger's

	toHost, toFar []message // due
	reads         int       // of the stranger, due
	posts         int       // of the host, due
}

// message is a message that is due.
type message struct {
	payload []byte
	stag    uint32
}

const farSTag, farBase = 0x5eed, 1 << 45

// Thousands of random operations, in pieces of any size, leave what a model says, in both roles and
// with and without CRCs.
func TestRandomOperationsLeaveWhatTheModelSays(t *testing.T) {
	seeds, rounds := 36, 40
	if testing.Short() {
		seeds, rounds = 4, 15
	}
	for seed := range seeds {
		initiator, crc := seed%2 == 0, seed/2%2 == 0
		t.Run(fmt.Sprintf("seed %d, initiator %t, CRC %t", seed, initiator, crc), func(t *testing.T) {
			s := &script{t: t, rnd: rand.New(rand.NewPCG(uint64(seed), 5)), each: 4096}
			cfg := config()
			cfg.NoCRC = !crc
			cfg.MULPDU = []int{0, 128, 129, 1442, 64768}[seed%5]
			if seed%7 == 3 {
				s.each = 50_000 // FPDUs that are placed directly
			}
			memory := (blocks + 1) * s.each
			s.here, s.far = make([]byte, memory), make([]byte, memory)
			s.h = newHost(t, open(t, cfg))
			s.mr = s.h.region("memory", make([]byte, memory), everything)
			chop := rand.New(rand.NewPCG(uint64(seed), 6))
			scfg := stranger.Config{
				Startup:  enhanced(crc),
				MaxULPDU: 128 + s.rnd.IntN([]int{1, 1400, 1<<16 - 129}[s.rnd.IntN(3)]),
				Regions:  map[uint32]stranger.Region{farSTag: {Base: farBase, Bytes: make([]byte, memory), ReadOK: true, WriteOK: true}},
			}
			if seed%3 > 0 {
				scfg.Chop = func(n int) int { return 1 + chop.IntN(2*n) }
			}
			s.p = s.h.connect(initiator, scfg, nil)
			for range rounds {
				s.round()
			}
			noComplaints(t, s.p)
		})
	}
}

// data returns n random bytes.
func (s *script) data(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(s.rnd.Uint32())
	}
	return b
}

func (s *script) round() {
	ours, theirs := s.rnd.Perm(blocks), s.rnd.Perm(blocks)
	for i := range 1 + s.rnd.IntN(24) {
		n := s.rnd.IntN(s.each)
		if s.rnd.IntN(8) == 0 {
			n = 0
		}
		x := ours[i]*s.each + s.rnd.IntN(s.each-n)
		y := theirs[i]*s.each + s.rnd.IntN(s.each-n)
		s.operation(x, y, n)
	}
	s.messageToHost(s.rnd.IntN(2000))
	s.messageToFar(blocks*s.each, s.rnd.IntN(2000))
	s.settle()
}

// operation runs one operation on n bytes at x of the host's memory and y of the stranger's.
func (s *script) operation(x, y, n int) {
	sge := []verbs.SGE{{MR: s.mr, Offset: x, Length: n}}
	if n > 10 && s.rnd.IntN(2) == 0 {
		sge = []verbs.SGE{{MR: s.mr, Offset: x, Length: 7}, {MR: s.mr, Offset: x + 7, Length: n - 7}}
	}
	stag, base := s.mr.RKey(), s.mr.RemoteAddr()
	switch s.rnd.IntN(7) {
	case 0:
		b := s.data(n)
		s.p.Write(stag, base+uint64(x), b)
		copy(s.here[x:], b)
	case 1:
		if s.reads < 16 {
			s.reads++
			s.p.Read(stranger.Read{SinkSTag: farSTag, SinkTO: farBase + uint64(y), Size: uint32(n), SourceSTag: stag, SourceTO: base + uint64(x)})
			copy(s.far[y:y+n], s.here[x:])
		}
	case 2:
		s.post(verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: sge, RKey: farSTag, RemoteAddr: farBase + uint64(y)})
		copy(s.far[y:y+n], s.here[x:])
	case 3:
		s.post(verbs.SendWR{Opcode: verbs.RDMARead, SGL: sge[:1], RKey: farSTag, RemoteAddr: farBase + uint64(y)})
		copy(s.here[x:x+sge[0].Length], s.far[y:])
	case 4:
		s.messageToHost(n)
	case 5:
		s.messageToFar(x, n)
	case 6:
		s.invalidate()
	}
}

// post posts a request of the host. It is signaled or not; the last of a round is.
func (s *script) post(wr verbs.SendWR) {
	s.t.Helper()
	s.posts++
	s.h.must(s.h.send(wr))
}

func (s *script) messageToHost(n int) {
	s.t.Helper()
	b := s.data(n)
	s.h.post(n + s.rnd.IntN(100))
	op := []stranger.Opcode{stranger.Send, stranger.SendSE}[s.rnd.IntN(2)]
	s.p.Send(op, b, 0)
	s.toHost = append(s.toHost, message{payload: b})
}

func (s *script) messageToFar(x, n int) {
	s.t.Helper()
	s.p.Post(n + s.rnd.IntN(100))
	s.post(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: s.mr, Offset: x, Length: n}}})
	s.toFar = append(s.toFar, message{payload: bytes.Clone(s.here[x : x+n])})
}

// invalidate lets each end invalidate a region of the other.
func (s *script) invalidate() {
	s.t.Helper()
	mr, err := s.h.pd.RegisterMemory(make([]byte, 8), everything)
	s.h.must(err)
	s.t.Cleanup(func() { mr.Deregister() })
	b := s.data(s.rnd.IntN(50))
	s.h.post(50)
	s.p.Send(stranger.SendSEInvalidate, b, mr.RKey())
	s.toHost = append(s.toHost, message{b, mr.RKey()})

	stag := s.rnd.Uint32() | 1<<31
	s.p.Expose(stag, stranger.Region{Bytes: make([]byte, 8), WriteOK: true, InvalidOK: true})
	s.p.Post(50)
	s.post(verbs.SendWR{Opcode: verbs.SendWithInvalidate, InvalidateRKey: stag})
	s.toFar = append(s.toFar, message{stag: stag})
}

// settle waits for all that is due, and compares the memories with the model.
func (s *script) settle() {
	s.t.Helper()
	for len(s.toFar) > 0 || s.reads > 0 {
		e := s.p.Next()
		switch {
		case e.Kind == stranger.ReadDone && s.reads > 0:
			s.reads--
		case e.Kind == stranger.Message && len(s.toFar) > 0 && bytes.Equal(e.Payload, s.toFar[0].payload) && e.STag == s.toFar[0].stag:
			s.toFar = s.toFar[1:]
		default:
			s.t.Fatalf("%v, with %d messages and %d Reads due; host: %v", e, len(s.toFar), s.reads, s.h.qp.Err())
		}
	}
	for len(s.toHost) > 0 {
		b, wc, err := s.h.message()
		if err != nil || !bytes.Equal(b, s.toHost[0].payload) || wc.InvalidatedRKey != s.toHost[0].stag {
			s.t.Fatalf("message of %d bytes, invalidated %#x, %v; want %d, %#x", len(b), wc.InvalidatedRKey, err, len(s.toHost[0].payload), s.toHost[0].stag)
		}
		s.toHost = s.toHost[1:]
	}
	for ; s.posts > len(s.h.early); s.posts-- {
		if wc := s.h.next(); wc.Status != verbs.StatusSuccess {
			s.t.Fatalf("completion %+v; %v", wc, s.h.qp.Err())
		}
	}
	s.posts, s.h.early = 0, nil
	if far, _ := s.p.Memory(farSTag); !bytes.Equal(far, s.far) {
		s.t.Fatal("the stranger's memory differs from the model")
	}
	if !bytes.Equal(s.mr.Bytes(), s.here) {
		s.t.Fatal("the host's memory differs from the model")
	}
}
