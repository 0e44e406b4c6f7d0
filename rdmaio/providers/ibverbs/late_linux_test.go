package ibverbs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// stuckDial is a Dial whose rdma_connect does not return.
type stuckDial struct {
	f       *fakeNet
	w       *watched
	c       *side
	ln      verbs.Listener
	cancel  context.CancelCauseFunc
	dialed  chan error
	release func() // lets rdma_connect return
}

// dialStuck dials, and stops at a point of rdma_connect: when it begins, or before it returns.
func dialStuck(t *testing.T, cfg Config, at string) *stuckDial {
	t.Helper()
	s := &stuckDial{dialed: make(chan error, 1)}
	s.f, s.w = openWatched(t, abi.TransportIWARP, noQuirks, cfg)
	s.c = newSide(t, s.f.c, verbs.QPConfig{})
	var err error
	s.ln, err = s.f.s.Listen(t.Context(), "127.0.0.2:0")
	s.c.must(err)
	t.Cleanup(func() { s.c.must(s.ln.Close()) })
	entered, release := make(chan struct{}), make(chan struct{})
	s.release = sync.OnceFunc(func() { close(release) })
	t.Cleanup(s.release)
	s.w.once(at, func() {
		close(entered)
		<-release
	})
	var ctx context.Context
	ctx, s.cancel = context.WithCancelCause(t.Context())
	go func() {
		_, err := s.c.dev.Dial(ctx, s.ln.Addr(), s.c.qp, nil)
		s.dialed <- err
	}()
	<-entered
	return s
}

// wait returns the error of Dial.
func (d *stuckDial) wait() error {
	d.c.t.Helper()
	return patiently(d.c.t, d.dialed)
}

// patiently returns the error of a Dial that should return.
func patiently(t *testing.T, dialed chan error) error {
	t.Helper()
	select {
	case err := <-dialed:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("Dial waits for the connection manager")
		return nil
	}
}

// rdma_connect may take minutes. Dial ends with its context all the same, and what the call uses is
// destroyed when it has returned.
func TestDialEndsWithItsContextWithinConnect(t *testing.T) {
	for _, at := range []string{"rdma_connect", connectReturns} {
		t.Run(at, func(t *testing.T) {
			d := dialStuck(t, Config{}, at)
			c, w := d.c, d.w
			buf, err := c.pd.Alloc(8)
			c.must(err)
			mr, err := c.pd.RegisterMemory(buf, verbs.AccessLocalWrite)
			c.must(err)
			c.recv(1, mr.(*region))
			cause := errors.New("the caller has no time")
			d.cancel(cause)
			if err := d.wait(); !errors.Is(err, cause) {
				t.Errorf("Dial: %v, want %v", err, cause)
			}
			if c.qp.State() != verbs.StateError {
				t.Errorf("the queue pair is in state %v", c.qp.State())
			}
			if wc := c.wait(1)[0]; wc.Status != verbs.StatusFlushed {
				t.Errorf("completion %+v of a Receive, want it flushed", wc)
			}
			c.must(mr.Deregister())
			c.must(c.pd.Free(buf))
			c.must(c.qp.Close())
			c.must(c.pd.Close())
			if got := w.order("ibv_destroy_qp", "ibv_destroy_cq", "rdma_destroy_id", "rdma_disconnect"); len(got) > 0 {
				t.Errorf("calls %q before rdma_connect has returned", got)
			}
			if left := d.f.net.Objects(); left.QPs != 1 || left.PDs != 1 || left.CQs != 1 {
				t.Errorf("left before rdma_connect has returned: %+v", left)
			}
			d.release()
			for d.f.net.Objects().PDs > 0 {
				time.Sleep(50 * time.Microsecond)
			}
			if left := d.f.net.Objects(); left.QPs+left.CQs+left.MRs > 0 {
				t.Errorf("left although the domain is deallocated: %+v", left)
			}
		})
	}
}

// Disconnect and the removal of the device end a Dial within rdma_connect, too.
func TestOtherEndsDoNotWaitForConnect(t *testing.T) {
	for name, end := range map[string]struct {
		do   func(d *stuckDial)
		want error
	}{
		"Disconnect": {func(d *stuckDial) { d.c.must(d.c.qp.Disconnect()) }, verbs.ErrDisconnected},
		"removal": {func(d *stuckDial) {
			d.f.client.Device("fake0").Event(abi.AsyncEvent{Type: abi.AsyncDeviceFatal})
		}, verbs.ErrDeviceRemoved},
	} {
		t.Run(name, func(t *testing.T) {
			d := dialStuck(t, Config{}, "rdma_connect")
			defer d.release()
			end.do(d)
			if err := d.wait(); !errors.Is(err, end.want) {
				t.Errorf("Dial: %v, want %v", err, end.want)
			}
		})
	}
}

// A device is closed when no call of librdmacm runs. Close does not wait for that without a limit.
func TestDeviceIsClosedWhenConnectHasReturned(t *testing.T) {
	d := dialStuck(t, Config{}, "rdma_connect")
	d.cancel(nil)
	d.wait()
	d.c.must(d.c.qp.Close())
	d.c.must(d.c.pd.Close())
	d.c.must(d.c.cq.Close())
	d.f.c.waits.close = time.Millisecond
	if err := d.f.c.Close(); !errors.Is(err, verbs.ErrBusy) || !strings.Contains(err.Error(), "request to "+d.ln.Addr()) {
		t.Errorf("Close: %v, want ErrBusy and the address", err)
	}
	d.f.c.waits.close = time.Hour
	closed := make(chan error)
	go func() { closed <- d.f.c.Close() }()
	for n := 0; n < 10; n++ {
		select {
		case err := <-closed:
			t.Fatalf("Close has not waited: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	d.release()
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := d.w.count("rdma_destroy_id"); n != 1 {
		t.Errorf("rdma_destroy_id was called %d times before the device is closed, want once", n)
	}
}

// The peer of a cancelled Dial learns that when rdma_connect has returned.
func TestPeerOfDialThatEndedLearnsThat(t *testing.T) {
	d := dialStuck(t, Config{}, connectReturns)
	s := newSide(t, d.f.s, verbs.QPConfig{})
	req, err := d.ln.Accept(t.Context())
	s.must(err)
	d.cancel(nil)
	d.wait()
	d.release()
	if _, err := req.Accept(t.Context(), s.qp, nil); err == nil {
		s.ends()
	}
}

// What a device fails to do late is logged.
func TestLateFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	d := dialStuck(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, "rdma_connect")
	d.cancel(nil)
	d.wait()
	d.c.must(d.c.qp.Close())
	d.c.must(d.c.pd.Close())
	d.w.failNext("ibv_destroy_cq", syscall.EIO)
	d.release()
	d.f.c.waits.close = time.Hour
	d.c.must(d.c.cq.Close())
	d.c.must(d.f.c.Close())
	if got := log.String(); !strings.Contains(got, "failed to end a queue pair") || !strings.Contains(got, "input/output error") {
		t.Errorf("log: %s", got)
	}
}

// Over iWARP the kernel lets rdma_disconnect wait until the peer has answered. Dial does not wait
// for that, and over InfiniBand its end is complete when it returns.
func TestDialEndsWithItsContextBeforeTheAnswer(t *testing.T) {
	for name, tr := range map[string]abi.Transport{"InfiniBand": abi.TransportIB, "iWARP": abi.TransportIWARP} {
		t.Run(name, func(t *testing.T) {
			f, w := openWatched(t, tr, noQuirks, Config{})
			c := newSide(t, f.c, verbs.QPConfig{})
			ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
			c.must(err)
			t.Cleanup(func() { c.must(ln.Close()) })
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			if tr == abi.TransportIWARP {
				w.once("rdma_disconnect", func() { <-release })
			}
			ctx, cancel := context.WithCancel(t.Context())
			dialed := make(chan error, 1)
			go func() {
				_, err := f.c.Dial(ctx, ln.Addr(), c.qp, nil)
				dialed <- err
			}()
			_, err = ln.Accept(t.Context())
			c.must(err)
			cancel()
			if err := patiently(t, dialed); !errors.Is(err, context.Canceled) {
				t.Errorf("Dial: %v, want Canceled", err)
			}
			want := 1
			if tr == abi.TransportIWARP {
				want = 0
			}
			if n := w.count("rdma_destroy_id"); n != want {
				t.Errorf("rdma_destroy_id was called %d times before Dial returned, want %d", n, want)
			}
		})
	}
}
