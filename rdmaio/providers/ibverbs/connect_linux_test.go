package ibverbs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The peer disconnects as soon as it is connected: while Dial still handles the event of that.
func TestPeerThatDisconnectsDuringDialIsNoticed(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, s := newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
	conn := func() *connection {
		c.qp.mu.Lock()
		defer c.qp.mu.Unlock()
		return c.qp.conn
	}
	for range 2 {
		w.once(cmEvent, func() {}) // the address, the route
	}
	established := make(chan struct{})
	w.once(cmEvent, func() {
		conn().mu.Lock() // stops Dial when it has the event
		close(established)
	})
	w.once(cmEvent, func() {})                     // the disconnection
	w.once(cmEvent, func() { conn().mu.Unlock() }) // the time after it
	go func() {
		<-established
		for s.qp.State() != verbs.StateConnected {
			time.Sleep(50 * time.Microsecond)
		}
		s.must(s.qp.Disconnect())
	}()
	connectSides(c, s)
	c.ends()
	if err := c.qp.Err(); !errors.Is(err, verbs.ErrPeerDisconnected) {
		t.Errorf("the queue pair ended with %v", err)
	}
}

// A queue pair that ends, because the device was removed for example, is not connected.
func TestQueuePairIsNotDialedDuringItsEnd(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{})
	c.inEnd(w, func() {
		if _, err := c.dev.Dial(t.Context(), "127.0.0.2:9", c.qp, nil); !errors.Is(err, verbs.ErrInvalidState) {
			t.Errorf("Dial: %v, want ErrInvalidState", err)
		}
	})
}

// Of an rdma_cm_id that was destroyed nothing is used any more.
func TestClosedConnectionMakesNoCalls(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c := newConnection(f.c, 0)
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
	if n := w.count("rdma_destroy_id"); n != 1 {
		t.Errorf("rdma_destroy_id was called %d times, want once", n)
	}
	if err := c.do(func(lib.ID) error { t.Error("a call for a closed connection"); return nil }); !errors.Is(err, verbs.ErrDisconnected) {
		t.Errorf("a call for a closed connection: %v", err)
	}
	if err := c.open(); !errors.Is(err, verbs.ErrDisconnected) {
		t.Errorf("open of a closed connection: %v", err)
	}
}

// A listener that is closed refuses the requests that wait, and those that come.
func TestClosedListenerRefusesRequests(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{})
	ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	dialed := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(t.Context(), ln.Addr(), c.qp, nil)
		dialed <- err
	}()
	l := ln.(*listener)
	for len(l.queue) == 0 {
		time.Sleep(50 * time.Microsecond)
	}
	c.must(ln.Close())
	if r := new(verbs.RejectedError); !errors.As(<-dialed, &r) {
		t.Error("the request that waited was not rejected")
	}
	if l.add(new(connRequest)) {
		t.Error("a closed listener takes a request")
	}
}

// A device destroys the requests that were accepted from a listener and not answered.
func TestDeviceClosesRequestsWithoutAnswer(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{})
	ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	dialed := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(ctx, ln.Addr(), c.qp, nil)
		dialed <- err
	}()
	_, err = ln.Accept(t.Context())
	c.must(err)
	c.must(ln.Close())
	cancel()
	if err := <-dialed; !errors.Is(err, context.Canceled) {
		t.Errorf("Dial: %v, want Canceled", err)
	}
}

// A peer without a listener differs from one that rejects, over both transports.
func TestRefusalAndRejectionDiffer(t *testing.T) {
	for name, q := range map[string]quirks.Quirks{"InfiniBand": {}, "status of iWARP": {StatusRejects: true}} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, q, Config{})
			c := newSide(t, f.c, verbs.QPConfig{})
			_, err := c.dev.Dial(t.Context(), "127.0.0.2:9", c.qp, nil)
			if r := new(verbs.RejectedError); !errors.Is(err, verbs.ErrConnectionRefused) || errors.As(err, &r) {
				t.Errorf("no listener: %v, want ErrConnectionRefused", err)
			}
			for _, data := range []string{"", "no"} {
				c := newSide(t, f.c, verbs.QPConfig{})
				ln, err := f.s.Listen(t.Context(), "127.0.0.2:0")
				c.must(err)
				rejected := make(chan error, 1)
				go func() {
					req, err := ln.Accept(t.Context())
					if err == nil {
						err = req.Reject([]byte(data))
					}
					rejected <- err
				}()
				_, err = c.dev.Dial(t.Context(), ln.Addr(), c.qp, nil)
				if r := new(verbs.RejectedError); !errors.As(err, &r) || string(r.PrivateData) != data || errors.Is(err, verbs.ErrConnectionRefused) {
					t.Errorf("rejected with %q: %v", data, err)
				}
				c.must(<-rejected)
				c.must(ln.Close())
			}
		})
	}
}

// The connection manager and the device both say that the device was removed, one of them perhaps
// late. Each is enough.
func TestRemovalIsNoticedByEitherEvent(t *testing.T) {
	for _, by := range []string{"device", "connection manager"} {
		t.Run(by, func(t *testing.T) {
			f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
			c, _ := connectedSides(t, f)
			dev := f.client.Device("fake0")
			if by == "device" {
				dev.Event(abi.AsyncEvent{Type: abi.AsyncDeviceFatal})
			} else {
				w.dropFatal()
				dev.Remove()
			}
			c.ends()
			if err := c.qp.Err(); !errors.Is(err, verbs.ErrDeviceRemoved) {
				t.Errorf("the queue pair ended with %v", err)
			}
			if _, err := c.dev.AllocPD(); !errors.Is(err, verbs.ErrDeviceRemoved) {
				t.Errorf("AllocPD: %v, want ErrDeviceRemoved", err)
			}
		})
	}
}
