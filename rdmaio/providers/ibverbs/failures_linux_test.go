package ibverbs

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// trial is the life of a server and a client, in which each step may fail. The server's device is
// opened in advance, and the client's library fails.
type trial struct {
	net    *fakelib.Net
	host   *fakelib.Host
	server *Device
	misuse []string
	mu     sync.Mutex
}

func newTrial(t *testing.T) *trial {
	r := new(trial)
	r.net = fakelib.NewNet(fakelib.Options{Misuse: func(s string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.misuse = append(r.misuse, s)
	}, RetryTime: 5 * time.Millisecond})
	t.Cleanup(r.net.Close)
	r.host = r.net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "fake0"})
	d, err := open(r.net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "fake1"}), &Config{PeerTimeout: 20 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.server = d
	return r
}

// run runs the life, and returns the first error of the client. All that it has created is closed.
func (r *trial) run(t *testing.T) (failed error) {
	var closers []func() error
	closing := func(f func() error) { closers = append(closers, f) }
	defer func() {
		for i := len(closers) - 1; i >= 0; i-- {
			if err := closers[i](); err != nil {
				t.Errorf("close: %v, after %v", err, failed)
			}
		}
	}()
	d, err := open(r.host, &Config{PeerTimeout: 20 * time.Millisecond}, nil)
	if err != nil {
		return err
	}
	closing(d.Close)
	// A device that is both ends: the failures hit either one.
	ln, err := d.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		return err
	}
	closing(ln.Close)
	queue := func() (verbs.ProtectionDomain, verbs.CompletionQueue, verbs.QueuePair, error) {
		pd, err := d.AllocPD()
		if err != nil {
			return nil, nil, nil, err
		}
		closing(pd.Close)
		cq, err := d.CreateCQ(64, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		closing(cq.Close)
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 8, MaxRecvWR: 8})
		if err != nil {
			return nil, nil, nil, err
		}
		closing(qp.Close)
		return pd, cq, qp, nil
	}
	pd, cq, qp, err := queue()
	if err != nil {
		return err
	}
	_, _, peer, err := queue()
	if err != nil {
		return err
	}
	accepted := make(chan error, 1)
	go func() {
		req, err := ln.Accept(t.Context())
		if err == nil {
			_, err = req.Accept(t.Context(), peer, nil)
		}
		accepted <- err
	}()
	_, err = d.Dial(t.Context(), ln.Addr(), qp, nil)
	if err != nil {
		ln.Close()
	}
	if err = errors.Join(err, <-accepted); err != nil {
		return err
	}
	buf, err := pd.Alloc(100 << 10)
	if err != nil {
		return err
	}
	closing(func() error { return pd.Free(buf) })
	for range 2 {
		mr, err := pd.RegisterMemory(buf, remoteRW)
		if err != nil {
			return err
		}
		closing(mr.Deregister)
		if _, err := qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled}}); err != nil {
			return err
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			wcs := make([]verbs.WC, 1)
			if n, err := cq.Poll(wcs); n == 1 || err != nil {
				if err = errors.Join(err, wcs[0].Err()); err != nil {
					return err
				}
				break
			}
		}
		if err := mr.Invalidate(); err != nil {
			return err
		}
	}
	return nil
}

// A call of the library that fails is an error with its number. Nothing is left of the call
// afterwards, and all objects can be closed.
func TestFailedCallsLeaveNothing(t *testing.T) {
	for _, fn := range []string{
		"rdma_get_devices", "ibv_query_device", "ibv_query_port", "ibv_alloc_pd", "ibv_create_comp_channel",
		"rdma_create_event_channel", "ibv_create_cq", "ibv_create_qp", "ibv_reg_mr", "ibv_alloc_mw", "rdma_create_id",
		"rdma_bind_addr", "rdma_listen", "rdma_resolve_addr", "rdma_resolve_route", "rdma_connect", "rdma_accept",
		"ibv_modify_qp",
	} {
		t.Run(fn, func(t *testing.T) {
			for skip := range 8 {
				r := newTrial(t)
				r.host.Fail(fn, syscall.ENOSPC, skip, 1)
				err := r.run(t)
				if skip == 0 && fn != "ibv_alloc_mw" && !errors.Is(err, syscall.ENOSPC) {
					// Without a window the provider registers the memory instead.
					t.Errorf("call %d of %s fails: %v, want ENOSPC", skip, fn, err)
				}
				if err := r.server.Close(); err != nil {
					t.Error(err)
				}
				if left := r.net.Objects(); left != (fakelib.Objects{}) {
					t.Errorf("call %d of %s fails with %v: left %+v", skip, fn, err, left)
				}
				r.mu.Lock()
				if len(r.misuse) > 0 {
					t.Errorf("call %d of %s fails: misuse: %s", skip, fn, strings.Join(r.misuse, "; "))
				}
				r.mu.Unlock()
			}
		})
	}
}

// Deregister of a region whose window the device has not bound yet waits for the bind: else the
// bind would fail, and the connection with it. The same holds for a revocation in progress.
func TestDeregisterWaitsForRequestsOfTheWindow(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		t.Run(fmt.Sprint("revoke ", revoke), func(t *testing.T) {
			f := openFake(t, abi.TransportIB, noQuirks, Config{})
			c, _ := boundSides(t, f, 2)
			dev := f.client.Device("fake0")
			buf, err := c.pd.Alloc(64)
			c.must(err)
			defer func() { c.must(c.pd.Free(buf)) }()
			if !revoke {
				dev.Stall(true)
			}
			mr, err := c.pd.RegisterMemory(buf, remoteRW)
			c.must(err)
			dev.Stall(true)
			ended := make(chan error, 2)
			if revoke {
				c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { ended <- err }))
			} else {
				ended <- nil
			}
			go func() { ended <- mr.Deregister() }()
			c.until("Deregister waits for a revocation", func(q *queuePair) bool {
				region := mr.(*region)
				region.mu.Lock()
				defer region.mu.Unlock()
				w := region.window
				return w == nil || len(w.waiting) == map[bool]int{false: 1, true: 2}[revoke]
			})
			if mr.State() != verbs.MRValid {
				t.Errorf("the region is %v while requests of its window are posted", mr.State())
			}
			dev.Stall(false)
			c.must(<-ended)
			c.must(<-ended)
			if mr.State() != verbs.MRDeregistered {
				t.Errorf("the region is %v", mr.State())
			}
			c.connected()
		})
	}
}

// A connection over another device than the open one is refused, with both names.
func TestAddressOfAnotherDeviceIsRefused(t *testing.T) {
	net := fakelib.NewNet(fakelib.Options{Misuse: func(s string) { t.Error(s) }})
	t.Cleanup(net.Close)
	host := net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "first"}, fakelib.DeviceOptions{Name: "second"})
	server := net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: "server"})
	d, err := open(host, &Config{Device: "second"}, &noQuirks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	c := newSide(t, d, verbs.QPConfig{})
	_, err = d.Dial(t.Context(), server.Device("server").Addr().String()+":9", c.qp, nil)
	if err == nil || !strings.Contains(err.Error(), "first") || !strings.Contains(err.Error(), "second") {
		t.Errorf("dial by way of the device first: %v", err)
	}
	if _, err := d.Listen(t.Context(), host.Device("first").Addr().String()+":0"); err == nil || !strings.Contains(err.Error(), "first") {
		t.Errorf("listen at an address of the device first: %v", err)
	}
	// A listener at all addresses takes only the requests of the device that made it.
	ln, err := d.Listen(t.Context(), "0.0.0.0:2049")
	c.must(err)
	sd, err := open(server, nil, &noQuirks)
	c.must(err)
	t.Cleanup(func() { c.must(sd.Close()) })
	t.Cleanup(func() { c.must(ln.Close()) })
	s := newSide(t, sd, verbs.QPConfig{})
	_, err = sd.Dial(t.Context(), host.Device("first").Addr().String()+":2049", s.qp, nil)
	if r := new(verbs.RejectedError); !errors.As(err, &r) {
		t.Errorf("dial to the other device: %v, want a rejection", err)
	}
}
