package engine_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// T107, R312: a Call that comes before Config.Guard allows it is not delivered and the connection
// is closed. Afterwards Calls are delivered.
func TestGuardHoldsCallsBack(t *testing.T) {
	for _, open := range []bool{false, true} {
		p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, func(i int, c *engine.Config) {
			if i == 1 {
				c.Guard = func() bool { return open }
			}
		})
		p.ends[0].call(1, pattern(8100)) // its first part is enough
		p.run()
		got, why := len(p.ends[1].reqs), p.ends[1].fail
		if open && (got != 1 || why != nil) || !open && (got != 0 || !errors.Is(why, engine.ErrEarly)) {
			t.Errorf("allowed %v: %d Calls, %v", open, got, why)
		}
	}
}

// A first set without properties is one, too.
func TestEmptyFirstSet(t *testing.T) {
	p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, func(i int, c *engine.Config) {
		if i == 0 {
			c.Versions = []protocol.Version{bare{v2.New(v2.Config{Dialed: true, Own: v2.DefaultProperties()})}}
		}
	})
	p.run()
	if s := p.ends[1]; len(s.props) != 1 || len(s.props[0]) != 0 {
		t.Errorf("first sets %v", s.props)
	}
}

// bare is a version that does not send its own properties.
type bare struct{ protocol.Version }

func (bare) Properties() []header.Property { return []header.Property{} }

// R219: both ends send Config.Announce with their first set alone, and each gets the first set of
// the other whole. Later ones give their host authentication message.
func TestFirstSet(t *testing.T) {
	p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, func(_ int, c *engine.Config) {
		c.Announce = []header.Property{{ID: 6, Data: make([]byte, 4)}}
	})
	p.run()
	p.ends[0].step(engine.Event{Kind: engine.EventProperties, Control: &engine.Control{
		Props: []header.Property{{ID: 6, Data: []byte{0, 0, 0, 1, 7, 0, 0, 0}}},
	}})
	p.run()
	for i, s := range p.ends {
		if len(s.props) != 1 || len(s.props[0]) != 6 || s.props[0][5].ID != 6 || len(s.props[0][5].Data) != 4 {
			t.Errorf("end %d: first sets %v", i, s.props)
		}
		if len(s.auth) != i || i == 1 && string(s.auth[0]) != "\x07" {
			t.Errorf("end %d: messages %x", i, s.auth)
		}
	}
}
