package ibverbs

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A call of a removed device may fail before the event of the removal is read. The removal is the
// reason of the end all the same, and without a removal the failure is.
func TestFailedCallOfRemovedDeviceIsItsRemoval(t *testing.T) {
	for name, call := range map[string]func(c *side, w *watched){
		"ibv_post_send": func(c *side, w *watched) {
			w.refusePosts(0, syscall.EIO)
			_, _ = c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite}})
		},
		"ibv_post_recv": func(c *side, w *watched) {
			w.refusePosts(0, syscall.EIO)
			_, _ = c.qp.PostRecv([]verbs.RecvWR{{WRID: 1}})
		},
		"ping": func(c *side, w *watched) {
			w.refusePosts(0, syscall.EIO)
			c.qp.mu.Lock()
			c.qp.life.ping()
			c.qp.mu.UnlockNotify()
		},
		"ibv_req_notify_cq": func(c *side, w *watched) {
			w.failNext("ibv_req_notify_cq", syscall.EIO)
			c.qp.completionEvent()
		},
		"ibv_poll_cq": func(c *side, w *watched) {
			w.failNext("ibv_poll_cq", syscall.EIO)
			c.qp.completionEvent()
		},
	} {
		for _, removed := range []bool{true, false} {
			f, w := openWatched(t, abi.TransportIB, noQuirks, noPings)
			c, _ := connectedSides(t, f)
			f.c.removed.Store(removed) // the goroutines that read events have nothing yet
			// This side disconnects, and has the event of that.
			w.once(modifyERR, func() { c.qp.conn.handle(abi.CMEvent{Type: abi.CMDisconnected}) })
			call(c, w)
			c.ends()
			err := c.qp.Err()
			if removed != errors.Is(err, verbs.ErrDeviceRemoved) {
				t.Errorf("%s fails, removed: %v; the end is %v", name, removed, err)
			}
			if !removed && (!errors.Is(err, syscall.EIO) || !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, verbs.StatusError{Status: verbs.StatusFatal})) {
				t.Errorf("%s fails: the end is %v, want EIO", name, err)
			}
		}
	}
}

// A post to a removed device says that it was removed.
func TestPostToRemovedDeviceSaysSo(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, noPings)
	c, _ := connectedSides(t, f)
	f.c.removed.Store(true)
	w.refusePosts(0, syscall.EIO)
	if _, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite}}); !errors.Is(err, verbs.ErrDeviceRemoved) || !errors.Is(err, verbs.ErrInvalidState) || !errors.Is(err, syscall.EIO) {
		t.Errorf("PostSend: %v, want ErrDeviceRemoved, ErrInvalidState and EIO", err)
	}
}

// The end because a peer does not acknowledge says what the likely cause is, and other ends do not.
func TestPeerThatDoesNotAcknowledgeIsExplained(t *testing.T) {
	tree := map[string]string{
		"sys/class/infiniband/fake0/node_type": "1: CA", "sys/class/infiniband/fake0/ports/1/state": "4: ACTIVE",
		"sys/class/infiniband/fake0/ports/1/link_layer": "InfiniBand",
	}
	for _, c := range []struct {
		name, state string
		status      verbs.Status
		cause       rdmadev.Cause
		words       string
	}{
		{"path", "4: ACTIVE", verbs.StatusRetryExceeded, rdmadev.NoAnswer, "MTU"},
		{"port", "1: DOWN", verbs.StatusRetryExceeded, rdmadev.PortDown, "state DOWN"},
		{"another end", "1: DOWN", verbs.StatusFatal, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, quirks.Quirks{}, noPings)
			tree["sys/class/infiniband/fake0/ports/1/state"] = c.state
			f.c.tree = sysTree(t, tree)
			client, _ := connectedSides(t, f)
			client.qp.mu.Lock()
			client.qp.beginBy(c.status, "Send")
			client.qp.mu.UnlockNotify()
			client.ends()
			err := client.qp.Err()
			if !errors.Is(err, verbs.StatusError{Status: c.status}) || !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("the end is %v", err)
			}
			if c.cause == "" {
				if p := new(rdmadev.Problem); errors.As(err, &p) {
					t.Errorf("%v explains another end", err)
				}
				return
			}
			expectProblem(t, err, c.cause, c.words)
			if c.cause == rdmadev.NoAnswer && !strings.Contains(err.Error(), client.qp.life.path.remote.String()) {
				t.Errorf("%v does not name the peer", err)
			}
		})
	}
}

// usePort makes the next connection of a side use a port of its device: when the address is
// resolved, as the library does it.
func (s *side) usePort(w *watched, port uint8) {
	w.once(cmEvent, func() {
		s.qp.mu.Lock()
		c := s.qp.conn
		s.qp.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		f := abi.GetCMID(uintptr(c.id))
		f.Port = port
		f.Put(abi.At(uintptr(c.id), abi.CMIDSize))
	})
}

// On a device with two ports the state of the connection's own port is the cause.
func TestReasonNamesThePortOfTheConnection(t *testing.T) {
	tree := sysTree(t, map[string]string{
		"sys/class/infiniband/fake0/node_type":          "1: CA",
		"sys/class/infiniband/fake0/ports/1/state":      "4: ACTIVE",
		"sys/class/infiniband/fake0/ports/1/link_layer": "InfiniBand",
		"sys/class/infiniband/fake0/ports/2/state":      "1: DOWN",
		"sys/class/infiniband/fake0/ports/2/link_layer": "InfiniBand",
	})
	f, w := openWatched(t, abi.TransportIB, noQuirks, noPings)
	f.c.tree = tree
	c, s := newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
	c.usePort(w, 2)
	connectSides(c, s)
	c.qp.mu.Lock()
	c.qp.beginBy(verbs.StatusRetryExceeded, "Send")
	c.qp.mu.UnlockNotify()
	c.ends()
	expectProblem(t, c.qp.Err(), rdmadev.PortDown, "port 2 of fake0")

	for _, step := range []string{"rdma_resolve_route", "rdma_connect"} {
		c := newSide(t, f.c, verbs.QPConfig{})
		f.client.Fail(step, syscall.ETIMEDOUT, 0, 1)
		c.usePort(w, 2)
		_, err := c.dev.Dial(t.Context(), "127.0.0.2:7", c.qp, nil)
		expectProblem(t, err, rdmadev.PortDown, "port 2 of fake0")
	}
}

// Nothing is created on a device that was removed, although its objects do not know yet.
func TestRemovedDeviceCreatesNothing(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	pd := openDomain(t, f)
	buf, err := pd.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	f.c.removed.Store(true)
	_, listen := f.c.Listen(t.Context(), "127.0.0.1:0")
	_, alloc := pd.Alloc(8)
	_, register := pd.RegisterMemory(buf, verbs.AccessLocalWrite)
	for what, err := range map[string]error{"Listen": listen, "Alloc": alloc, "RegisterMemory": register} {
		if !errors.Is(err, verbs.ErrDeviceRemoved) {
			t.Errorf("%s: %v, want ErrDeviceRemoved", what, err)
		}
	}
	f.c.removed.Store(false)
	if err := pd.Free(buf); err != nil {
		t.Error(err)
	}
}
