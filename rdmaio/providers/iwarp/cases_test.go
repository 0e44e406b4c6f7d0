package iwarp_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// against connects a stranger to a side of the provider, in the given role of the stranger.
func against(t testing.TB, s *side, initiator bool, cfg stranger.Config, p *verbs.ConnParams) *stranger.Endpoint {
	t.Helper()
	a, b := tcpPair(t)
	done := make(chan error, 1)
	var (
		e   *stranger.Endpoint
		err error
	)
	if initiator {
		go func() { done <- s.acceptConn(b, p) }()
		e, err = stranger.Initiate(a, cfg)
	} else {
		go func() {
			_, err := s.dialConn(b, p)
			done <- err
		}()
		e, err = stranger.Respond(a, cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return e
}

func enhanced(crc bool, depth uint16) stranger.Config {
	return stranger.Config{Startup: stranger.Startup{CRC: crc, Enhanced: true, IRD: depth, ORD: depth}}
}

// victim exposes the regions of a Victim and posts its buffers.
func victim(s *side) (v *stranger.Victim, regions []verbs.MemoryRegion) {
	s.Helper()
	v = &stranger.Victim{}
	other, err := s.dev.AllocPD()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { other.Close() })
	const local = verbs.AccessLocalWrite
	for _, r := range []struct {
		key    *stranger.Key
		pd     verbs.ProtectionDomain
		access verbs.Access
	}{
		{&v.Full, s.pd, everything},
		{&v.ReadOnly, s.pd, local | verbs.AccessRemoteRead | verbs.AccessRemoteInvalidate},
		{&v.WriteOnly, s.pd, local | verbs.AccessRemoteWrite | verbs.AccessRemoteInvalidate},
		{&v.Kept, s.pd, local | verbs.AccessRemoteRead | verbs.AccessRemoteWrite},
		{&v.Foreign, other, everything},
		{&v.Revoked, s.pd, everything},
	} {
		mr := s.region(r.pd, stranger.VictimRegion, r.access)
		poison(mr)
		*r.key = stranger.Key{STag: mr.RKey(), Base: mr.RemoteAddr()}
		regions = append(regions, mr)
	}
	if err := regions[5].Invalidate(); err != nil {
		s.Fatal(err)
	}
	s.recv(stranger.VictimBuffer, stranger.VictimBuffer)
	return v, regions[:5]
}

// Every stream that breaks a rule ends its connection with the Terminate that the documents want.
// No byte of a region changes, and another connection of the device continues (RFC 5042 §6).
func TestCases(t *testing.T) {
	dev := device(t, &iwarp.Config{ReceiveTimeout: -1})
	neighbour := newSide(t, dev)
	honest := against(t, neighbour, true, enhanced(true, 2), nil)
	for _, c := range slices.Concat(stranger.Untagged(), stranger.Tagged(), stranger.Framing()) {
		for _, initiator := range []bool{true, false} {
			t.Run(c.Name, func(t *testing.T) {
				s := newSide(t, dev)
				v, regions := victim(s)
				e := against(t, s, initiator, enhanced(true, stranger.VictimDepth), nil)
				if !initiator { // the side must send first
					e.Post(8)
					s.post(verbs.SendWR{Opcode: verbs.Send})
					s.ok()
					if got := e.Next(); got.Kind != stranger.Message {
						t.Fatalf("first message: %v", got)
					}
				}
				c.Put(e, v)
				s.fails(verbs.ErrConnectionBroken)
				for e := range events(e) {
					switch {
					case e.Kind == stranger.Ended && c.Silent:
					case e.Kind != stranger.Terminated:
						t.Errorf("%v, want a Terminate", e)
					case len(c.Codes) > 0 && !slices.Contains(c.Codes, e.Terminate.Code):
						t.Errorf("%v, want one of %v (%s); %v", e, c.Codes, c.Cite, s.qp.Err())
					case c.Kind == stranger.NoHeaders && (e.Terminate.D || e.Terminate.R):
						t.Errorf("%v with headers", e)
					}
					break
				}
				for i, mr := range regions {
					if !poisoned(mr) {
						t.Errorf("region %d changed", i)
					}
				}
				for _, complaint := range e.Complaints() {
					t.Error(complaint)
				}
			})
		}
	}
	neighbour.recv(16)
	honest.Send(stranger.Send, []byte("still here"), 0)
	if wc := neighbour.ok(); string(neighbour.mr.Bytes()[:wc.ByteLen]) != "still here" {
		t.Error("the neighbour's message has changed")
	}
}

// events returns what an endpoint gets that is neither a message nor the end of a Read.
func events(e *stranger.Endpoint) func(yield func(stranger.Event) bool) {
	return func(yield func(stranger.Event) bool) {
		for start := time.Now(); time.Since(start) < 2*patience; {
			if got := e.Next(); got.Kind != stranger.Message && got.Kind != stranger.ReadDone && !yield(got) {
				return
			}
		}
	}
}
