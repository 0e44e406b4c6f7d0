package driver

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// New closes what it made if a later object cannot be made. Close closes the queue pair first, and
// all objects even if one cannot be closed.
func TestNewClosesWhatItMade(t *testing.T) {
	boom := errors.New("boom")
	made := []string{"create receives", "create sends", "create queue pair"}
	closed := []string{"close queue pair", "close sends", "close receives"}
	for k, name := range made {
		r := &rig{t: t, alone: true, fail: func(call string) error {
			if call == name {
				return boom
			}
			return nil
		}}
		if err := r.open(); !errors.Is(err, boom) || r.d != nil {
			t.Errorf("%s fails: New returns %v", name, err)
		}
		if diff := cmp.Diff(append(made[:k+1:k+1], closed[len(made)-k:]...), r.calls); diff != "" {
			t.Errorf("%s fails (-want +got):\n%s", name, diff)
		}
	}
	r := newRig(t)
	r.fail = func(call string) error { return errors.New("no " + call) }
	err := r.d.Close()
	if diff := cmp.Diff(append(made, closed...), r.calls); diff != "" || err == nil || strings.Count(err.Error(), "no close") != 3 {
		t.Errorf("Close returns %v (-want +got):\n%s", err, diff)
	}
}

// ball is an engine that answers each message by another one, so that two of them pass one message
// to and fro.
type ball struct {
	left *atomic.Int32 // messages that may still be sent
	over chan struct{} // closed after the last one
	f    engine.Effects
}

func (b *ball) Step(_ time.Duration, events []engine.Event) *engine.Effects {
	b.f = engine.Effects{}
	for _, ev := range events {
		switch {
		case ev.Kind == engine.EventStart:
			b.f.Recvs = make([]verbs.RecvWR, 4)
		case ev.Kind == engine.EventCall || ev.Kind == engine.EventCompletion && ev.WC.Opcode == verbs.WCRecv && ev.WC.Status == verbs.StatusSuccess:
			if ev.Kind == engine.EventCompletion {
				b.f.Recvs = append(b.f.Recvs, verbs.RecvWR{})
			}
			if n := b.left.Add(-1); n >= 0 {
				b.f.Sends = append(b.f.Sends, verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
			} else {
				close(b.over)
			}
		case ev.Kind == engine.EventClose || ev.Kind == engine.EventBroken:
			b.f.Fail = ev.Err
		}
	}
	return &b.f
}

func (b *ball) ReadStats(*engine.Stats) {}
func (b *ball) Delivered() uint64       { return 0 }
func (b *ball) Credits() int            { return 0 }

// ending counts the ends of a connection.
type ending struct{ n atomic.Int32 }

func (e *ending) Fault(error)                         {}
func (e *ending) Ending(error) verbs.DisconnectReason { return verbs.ReasonDone }
func (e *ending) Effects(f *engine.Effects) {
	if f.Fail != nil {
		e.n.Add(1)
	}
}
func (e *ending) Serve(*engine.Effects) {}
func (e *ending) PeerFaults(Faults)     {}
func (e *ending) CreditsChanged()       {}
func (e *ending) Due() bool             { return false }
func (e *ending) Polling() bool         { return false }
func (e *ending) Run()                  {}

// Two Drivers over a provider that notifies inside a post pass a message to and fro many times, on
// one stack or by handing over. Then one side closes, and both can be stopped.
func TestOverProvider(t *testing.T) {
	ctx := t.Context()
	network := mem.New(nil)
	var left atomic.Int32
	left.Store(20 * rounds)
	over := make(chan struct{})
	type side struct {
		dev   verbs.Device
		pd    verbs.ProtectionDomain
		d     *Driver
		ended ending
	}
	var sides [2]side
	for i, name := range []string{"client", "server"} {
		s := &sides[i]
		dev, err := network.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.dev = dev
		if s.pd, err = s.dev.AllocPD(); err != nil {
			t.Fatal(err)
		}
		if s.d, err = New(s.dev, s.pd, &s.ended, 8, 8, 1); err != nil {
			t.Fatal(err)
		}
		s.d.Start(&ball{left: &left, over: over})
	}
	ln, err := sides[1].dev.Listen(ctx, "there")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() { accepted <- accept(ctx, ln, sides[1].d.QP()) }()
	if _, err := sides[0].dev.Dial(ctx, "there", sides[0].d.QP(), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	sides[0].d.Post(engine.Event{Kind: engine.EventCall})
	<-over
	sides[0].d.Post(engine.Event{Kind: engine.EventClose, Err: verbs.ErrClosed})
	for i := range sides {
		s := &sides[i]
		for s.ended.n.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		s.d.Stop()
		if err := errors.Join(s.d.Close(), s.pd.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(ln.Close(), sides[0].dev.Close(), sides[1].dev.Close()); err != nil {
		t.Error(err)
	}
}

func accept(ctx context.Context, ln verbs.Listener, qp verbs.QueuePair) error {
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, qp, nil)
	}
	return err
}
