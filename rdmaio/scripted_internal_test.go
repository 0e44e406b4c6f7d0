package rdmaio

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/driver"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// script is an engine that records its events and has the counts that a test sets.
type script struct {
	events    []engine.Event // since the last call of take
	credits   int
	delivered uint64
	stats     engine.Stats
	ends      bool // EventClose closes the connection
}

func (s *script) Step(_ time.Duration, events []engine.Event) *engine.Effects {
	s.events = append(s.events, events...)
	f := new(engine.Effects)
	for _, ev := range events {
		if s.ends && ev.Kind == engine.EventClose {
			f.Fail, s.ends = ev.Err, false
		}
	}
	return f
}
func (s *script) ReadStats(st *engine.Stats) { *st = s.stats }
func (s *script) Delivered() uint64          { return s.delivered }
func (s *script) Credits() int               { return s.credits }

// take returns the events since the last call.
func (s *script) take() []engine.Event {
	list := s.events
	s.events = nil
	return list
}

// scriptedConn returns a connection of a version whose engine is a script. The connection is to no
// peer, and ends with the test.
func scriptedConn(t *testing.T, version uint32, attributes *verbs.DeviceAttributes) (*Conn, *script) {
	t.Helper()
	s := new(script)
	c := connWith(t, s, version, attributes)
	s.take()
	return c, s
}

// connWith returns such a connection with any engine.
func connWith(t *testing.T, e driver.Engine, version uint32, attributes *verbs.DeviceAttributes) *Conn {
	t.Helper()
	dev, err := mem.New(nil).Open("device", attributes)
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{host: host{set: new(settings), shared: new(shared), log: slog.New(slog.DiscardHandler)}}
	c.join(admission.Source{Local: true})
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.set.Versions = []int{int(version)}
	setVersion(c, version)
	if c.pd, err = dev.AllocPD(); err != nil {
		t.Fatal(err)
	}
	c.pool = mrpool.New(c.pd, mrpool.Config{})
	if c.driver, err = driver.New(dev, c.pd, owner{c}, 4, 4, 2); err != nil {
		t.Fatal(err)
	}
	c.qp = c.driver.QP()
	c.driver.Start(e)
	t.Cleanup(func() {
		c.driver.Stop()
		if err := c.free(); err != nil {
			t.Error(err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// termsOf returns terms of a version that is known.
func termsOf(version uint32) *agreed {
	var v protocol.Version = new(v1.Version)
	if version == v2.Number {
		v = v2.New(v2.Config{})
	}
	return &agreed{Terms: header.Terms{}, version: v, known: true}
}

// setVersion gives a connection a version.
func setVersion(c *Conn, version uint32) { c.agreed.Store(termsOf(version)) }

// refresh makes a connection take over the counts of its script.
func refresh(c *Conn) { c.driver.Post(engine.Event{}) }
