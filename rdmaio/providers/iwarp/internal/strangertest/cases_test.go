package strangertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// arena is the memory of a victim: regions of VictimRegion bytes with poison between them.
type arena struct {
	*host
	room    []byte
	foreign *host
	victim  stranger.Victim
}

// newArena makes a host the victim of cases.
func newArena(h *host) *arena {
	h.t.Helper()
	const each = 3 * stranger.VictimRegion
	a := &arena{host: h, foreign: newHost(h.t, h.dev), room: bytes.Repeat([]byte{stranger.VictimPoison}, 6*each)}
	for i, r := range []struct {
		key    *stranger.Key
		access verbs.Access
	}{
		{&a.victim.Full, everything},
		{&a.victim.ReadOnly, everything &^ verbs.AccessRemoteWrite},
		{&a.victim.WriteOnly, everything &^ verbs.AccessRemoteRead},
		{&a.victim.Kept, everything &^ verbs.AccessRemoteInvalidate},
		{&a.victim.Foreign, everything},
		{&a.victim.Revoked, everything},
	} {
		owner := h
		if r.key == &a.victim.Foreign {
			owner = a.foreign
		}
		at := i*each + stranger.VictimRegion
		mr := owner.region(fmt.Sprint(i), a.room[at:at+stranger.VictimRegion], r.access)
		*r.key = stranger.Key{STag: mr.RKey(), Base: mr.RemoteAddr()}
		if r.key == &a.victim.Revoked {
			h.must(mr.Invalidate())
		}
	}
	h.post(stranger.VictimBuffer, stranger.VictimBuffer)
	return a
}

// untouched checks that no byte of the arena changed.
func (a *arena) untouched() {
	a.t.Helper()
	if bytes.Count(a.room, []byte{stranger.VictimPoison}) != len(a.room) {
		a.t.Errorf("a byte was placed: %x", a.room)
	}
}

// The provider answers every case by the Terminate that the documents want, and places nothing.
func TestEachFaultGetsItsTerminate(t *testing.T) {
	framing := stranger.Framing()
	for _, c := range slices.Concat(stranger.Untagged(), stranger.Tagged(), framing) {
		for _, initiator := range []bool{false, true} {
			for _, crc := range []bool{true, false} {
				if !crc && c.Kind == stranger.NoHeaders {
					continue
				}
				t.Run(fmt.Sprintf("%s, initiator %t, CRC %t", c.Name, initiator, crc), func(t *testing.T) {
					cfg := config()
					cfg.NoCRC = !crc
					a := newArena(newHost(t, open(t, cfg)))
					f := enhanced(crc)
					f.ORD = stranger.VictimDepth
					p := a.connect(initiator, stranger.Config{Startup: f}, &verbs.ConnParams{ResponderResources: stranger.VictimDepth})
					c.Put(p, &a.victim)
					// Nothing behind the error is processed (RFC 5041 §7.1).
					p.Write(a.victim.Full.STag, a.victim.Full.Base, []byte("late"))
					a.checkCase(p, &c)
				})
			}
		}
	}
}

// checkCase checks the Terminate and the end of a case.
func (a *arena) checkCase(p *stranger.Endpoint, c *stranger.Case) {
	a.t.Helper()
	e := p.Next()
	for e.Kind == stranger.Message || e.Kind == stranger.ReadDone {
		e = p.Next()
	}
	switch {
	case e.Kind == stranger.Ended && c.Silent:
	case e.Kind != stranger.Terminated:
		a.t.Errorf("%v, want a Terminate with one of %v (%s)", e, c.Codes, c.Cite)
	case len(c.Codes) > 0 && !slices.Contains(c.Codes, e.Terminate.Code):
		a.t.Errorf("Terminate %v, want one of %v (%s)", e.Terminate.Code, c.Codes, c.Cite)
	default:
		a.t.Logf("Terminate %v", e.Terminate.Code)
		checkHeaders(a.t, &e.Terminate, c.Kind)
	}
	if err := a.ended(); !errors.Is(err, verbs.ErrConnectionBroken) && !c.Silent {
		a.t.Errorf("the host's reason is %v, want %v", err, verbs.ErrConnectionBroken)
	}
	noComplaints(a.t, p)
	a.untouched()
}

// checkHeaders checks the headers of a Terminate against RFC 5040 figure 10.
func checkHeaders(t testing.TB, e *stranger.Terminate, kind stranger.TerminateKind) {
	t.Helper()
	if kind == stranger.NoHeaders && (e.M || e.D || e.R) {
		t.Errorf("Terminate of MPA with headers %t %t %t (RFC 5040 §4.8 figure 10)", e.M, e.D, e.R)
	}
	if kind == stranger.WithHeaders && e.Layer < 2 && e.Type != 0 && !(e.M && e.D) {
		t.Errorf("Terminate %v without the DDP header (RFC 5040 §4.8 figure 10)", e.Code)
	}
	if e.R && !(e.D && e.DDP[1]&15 == byte(stranger.ReadRequest)) {
		t.Error("Terminated RDMA Header for a message that is no Read Request (RFC 5040 §4.8)")
	}
}
