package ibverbs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// requestOf returns a request at the server, of a Dial that runs until it is answered.
func requestOf(f *fakeNet, c *side) (req verbs.ConnRequest, dialed <-chan error) {
	c.t.Helper()
	ln, err := f.s.Listen(c.t.Context(), "127.0.0.2:0")
	c.must(err)
	c.t.Cleanup(func() { c.must(ln.Close()) })
	ended := make(chan error, 1)
	go func() {
		_, err := f.c.Dial(c.t.Context(), ln.Addr(), c.qp, nil)
		ended <- err
	}()
	req, err = ln.Accept(c.t.Context())
	c.must(err)
	return req, ended
}

// Misuse of a request leaves it unanswered, and an answer is the only one.
func TestRequestIsAnsweredOnce(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, s := newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
	other := newSide(t, f.s, verbs.QPConfig{})
	req, dialed := requestOf(f, c)
	if _, err := req.Accept(t.Context(), c.qp, nil); !errors.Is(err, verbs.ErrForeignObject) {
		t.Errorf("Accept with the client's queue pair: %v, want ErrForeignObject", err)
	}
	if err := req.Reject(make([]byte, 57)); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("Reject with 57 bytes: %v, want ErrTooLarge", err)
	}
	req.(*connRequest).event.PrivateData = []byte{1}
	info, err := req.Accept(t.Context(), s.qp, nil)
	c.must(err)
	c.must(<-dialed)
	if info.PrivateData[0] = 2; len(info.PrivateData) != 1 || req.PrivateData()[0] != 1 {
		t.Errorf("private data %v of the connection and %v of the request share memory", info.PrivateData, req.PrivateData())
	}
	if _, err := req.Accept(t.Context(), other.qp, nil); !errors.Is(err, verbs.ErrInvalidState) || other.qp.State() != verbs.StateInit {
		t.Errorf("a second Accept: %v in state %v, want ErrInvalidState", err, other.qp.State())
	}
	if err := req.Reject(nil); !errors.Is(err, verbs.ErrInvalidState) {
		t.Errorf("Reject after Accept: %v, want ErrInvalidState", err)
	}
	c.must(c.alive())
}

// Accept fails with the peer's disconnection if the connection manager refuses or reports an error,
// and with the cause of its context.
func TestAcceptSaysWhyItFails(t *testing.T) {
	cause := errors.New("the caller has no time")
	for name, c := range map[string]struct {
		want error
		run  func(f *fakeNet, r *connRequest, cancel context.CancelCauseFunc)
	}{
		"refused": {syscall.ECONNRESET, func(f *fakeNet, _ *connRequest, _ context.CancelCauseFunc) {
			f.server.Fail("rdma_accept", syscall.ECONNRESET, 0, 1)
		}},
		"failed": {verbs.ErrPeerDisconnected, func(f *fakeNet, r *connRequest, _ context.CancelCauseFunc) {
			f.server.HoldEvents(true)
			r.conn.handle(abi.CMEvent{Type: abi.CMConnectError, Status: -int32(syscall.ECONNABORTED)})
		}},
		"cancelled": {cause, func(f *fakeNet, _ *connRequest, cancel context.CancelCauseFunc) {
			f.server.HoldEvents(true)
			time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, noQuirks, noPings)
			client, s := newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
			req, dialed := requestOf(f, client)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c.run(f, req.(*connRequest), cancel)
			_, err := req.Accept(ctx, s.qp, nil)
			if !errors.Is(err, c.want) || name != "cancelled" && !errors.Is(err, verbs.ErrPeerDisconnected) {
				t.Errorf("Accept: %v, want %v", err, c.want)
			}
			if s.qp.State() != verbs.StateError {
				t.Errorf("the queue pair is %v", s.qp.State())
			}
			f.server.HoldEvents(false)
			if name == "refused" { // the client gets no answer
				client.must(client.qp.Disconnect())
			}
			<-dialed
		})
	}
}

// A line is logged for a connection that fails and for a device that fails to end one, not for an
// orderly end, and not for what follows from a removal.
func TestEndsWithAnErrorAreLogged(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		end  func(f *fakeNet, w *watched, c *side)
	}{
		"orderly": {"", func(_ *fakeNet, _ *watched, c *side) { c.must(c.qp.Disconnect()) }},
		"broken": {"level=WARN msg=\"ibverbs: connection broken\" device=fake0 qp=", func(_ *fakeNet, _ *watched, c *side) {
			c.send(verbs.SendWR{Opcode: verbs.Send})
			c.ends()
		}},
		"device": {"level=ERROR msg=\"ibverbs: the device failed to end a queue pair\" device=fake0 qp=", func(f *fakeNet, _ *watched, c *side) {
			f.c.waits.flush = time.Millisecond
			f.client.Fail("ibv_modify_qp", syscall.EIO, 0, 1)
			c.must(c.qp.Disconnect())
		}},
		"removed": {"", func(f *fakeNet, w *watched, c *side) {
			w.failNext("ibv_destroy_cq", syscall.EIO)
			f.client.Device("fake0").Remove()
			c.ends()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f, w := openWatched(t, abi.TransportIB, noQuirks, Config{PeerTimeout: -1})
			f.c.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			client, _ := connectedSides(t, f)
			c.end(f, w, client)
			client.qp.mu.Lock() // the line is written with the lock held
			defer client.qp.mu.Unlock()
			if got := log.String(); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("logged %q, want %q", got, c.want)
			}
		})
	}
}

// The timers of a queue pair stop at its end.
func TestTimersStopAtTheEnd(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, noQuirks, Config{PeerTimeout: time.Hour})
	c, _ := connectedSides(t, f)
	c.qp.mu.Lock()
	c.qp.opening.timer = time.AfterFunc(time.Hour, c.qp.nudge)
	c.qp.prog.timer = time.AfterFunc(time.Hour, c.qp.Resume)
	timers := map[string]*time.Timer{"peer": c.qp.life.timer, "nudge": c.qp.opening.timer, "arm": c.qp.prog.timer}
	c.qp.mu.Unlock()
	c.must(c.qp.Disconnect())
	for name, timer := range timers {
		if timer.Stop() {
			t.Errorf("the timer %s runs after the end", name)
		}
	}
}

// The timer of PeerTimeout asks a peer that is silent for a sign, and gives it up, again and again
// as long as there are signs.
func TestPeerTimeoutRunsByItself(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{PeerTimeout: 60 * time.Millisecond})
	f.s.cfg.PeerTimeout = -1 // else the peer may be the first to give up
	c, _ := connectedSides(t, f)
	c.qp.mu.Lock()
	c.qp.life.heard = time.Now().Add(50 * time.Millisecond) // so the first look finds signs
	c.qp.mu.Unlock()
	f.client.Device("fake0").Stall(true)
	c.until("the end begins", func(q *queuePair) bool { return q.end.begun })
	f.client.Device("fake0").Stall(false)
	c.ends()
	if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) {
		t.Errorf("the end is %v", err)
	}
}

// Creations that fail leave nothing: no queue pair in the device's tables, no use of completion
// queues and domains, and no registration.
func TestFailedCreationsLeaveNothing(t *testing.T) {
	const times = 3
	f := openFake(t, abi.TransportIB, quirks.Quirks{SinkNeedsRemoteWrite: true, NoWindows: true}, Config{})
	f.client.Fail("ibv_alloc_pd", syscall.ENOSPC, 0, 1)
	if _, err := f.c.AllocPD(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("AllocPD: %v", err)
	}
	if r := f.c.Resources(); r != (verbs.Resources{}) {
		t.Errorf("resources after a domain that failed: %+v", r)
	}
	pd := openDomain(t, f)
	cq, err := f.c.CreateCQ(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := f.net.Objects()
	for _, fn := range []string{"ibv_create_cq", "ibv_create_qp", "ibv_modify_qp"} {
		f.client.Fail(fn, syscall.ENOSPC, 0, times)
		for range times {
			if _, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 16}); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("CreateQP: %v", err)
			}
		}
		if got := f.net.Objects(); got != objects || len(f.c.objects.queues) > 0 || f.c.Resources().QPs > 0 {
			t.Errorf("%s: %+v left, before %+v; %d queue pairs known", fn, got, objects, len(f.c.objects.queues))
		}
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
	buf, err := pd.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	registered := f.net.Objects().MRs
	f.client.Fail("ibv_reg_mr", syscall.ENOSPC, 1, 1) // the sink's succeeds, the region's fails
	if _, err := pd.RegisterMemory(buf, remoteRW); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("RegisterMemory: %v", err)
	}
	if n := f.net.Objects().MRs - registered; n != 0 {
		t.Errorf("%d registrations left", n)
	}
	if err := pd.Free(buf); err != nil {
		t.Error(err)
	}
}
