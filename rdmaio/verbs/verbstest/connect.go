package verbstest

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R318, R319: addresses have the form that the devices report. If they are IP addresses, both
// sides of a connection see the port of the listener.
func testAddresses(h *harness) {
	form := h.Server.Attributes().Addresses
	if c := h.Client.Attributes().Addresses; c != form || form > verbs.AddressIP {
		h.Fatalf("addresses of the client are %v, of the server %v", c, form)
	}
	ln := h.listen()
	if form != verbs.AddressIP {
		if ln.Addr() == "" {
			h.Errorf("a listener without a name")
		}
		return
	}
	parse := func(what, s string) netip.AddrPort {
		at, err := netip.ParseAddrPort(s)
		h.must(what, err)
		return at
	}
	at := parse("address of the listener", ln.Addr())
	h.must("close", ln.Close())
	if at.Port() == 0 {
		h.Fatalf("listener at %v", at)
	}
	ctx, cancel := h.context()
	defer cancel()
	if bad, err := h.Server.Listen(ctx, at.Addr().String()); err == nil {
		h.Errorf("listens at %q, which has no port", at.Addr())
		h.check("close", bad.Close())
	}
	h.Addr = at.String() // complete, with the port
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	ci, si := h.connect(c, s, nil, nil)
	there, here := parse("the server as the client sees it", ci.RemoteAddr), parse("the server as it sees itself", si.LocalAddr)
	back, own := parse("the client as the server sees it", si.RemoteAddr), parse("the client as it sees itself", ci.LocalAddr)
	if there.Port() != at.Port() || here.Port() != at.Port() || back.Port() != own.Port() {
		h.Errorf("connected %v to %v, at the server %v to %v; it listened at %v", own, there, back, here, at)
	}
}

// Each side gets the other's private data, up to the limit. More is an error.
func testPrivateData(h *harness) {
	limit := min(h.Client.Attributes().MaxPrivateData, h.Server.Attributes().MaxPrivateData)
	for _, n := range []int{0, min(1, limit), limit} {
		h.Run("", func(h *harness) {
			c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
			mine, yours := bytes.Repeat([]byte{'c'}, n), bytes.Repeat([]byte{'s'}, n)
			ci, si := h.connect(c, s, &verbs.ConnParams{PrivateData: mine}, &verbs.ConnParams{PrivateData: yours})
			yourCopy, myCopy := bytes.Clone(yours), bytes.Clone(mine)
			if !h.samePrivate(ci.PrivateData, yourCopy) || !h.samePrivate(si.PrivateData, myCopy) {
				h.Errorf("client got %q, server %q", ci.PrivateData, si.PrivateData)
			}
			clear(mine) // the slices belong to the caller again
			clear(yours)
			if !h.samePrivate(ci.PrivateData, yourCopy) || !h.samePrivate(si.PrivateData, myCopy) {
				h.Errorf("the private data that one was given changes with what the other gave: %q, %q", ci.PrivateData, si.PrivateData)
			}
			if ci.RemoteAddr == "" || si.RemoteAddr == "" || ci.LocalAddr == "" || si.LocalAddr == "" {
				h.Errorf("an address is missing: %+v, %+v", ci, si)
			}
			h.fresh(c, s)
		})
	}
	c := h.newEnd(h.Client, verbs.QPConfig{})
	ctx, cancel := h.context()
	defer cancel()
	_, err := h.Client.Dial(ctx, h.Addr, c.qp, &verbs.ConnParams{PrivateData: make([]byte, h.Client.Attributes().MaxPrivateData+1)})
	h.wantErr("too much private data", err, verbs.ErrTooLarge)
	if st := c.qp.State(); st != verbs.StateInit {
		h.Errorf("state %v after misuse, want init", st)
	}
}

// dialing starts a Dial. It returns a channel for its result, and the request at the listener.
func (h *harness) dialing(ctx context.Context, ln verbs.Listener, c *end) (verbs.ConnRequest, <-chan error) {
	h.Helper()
	res := make(chan error, 1)
	private := h.private("please")
	go func() {
		_, err := h.Client.Dial(ctx, ln.Addr(), c.qp, &verbs.ConnParams{PrivateData: private})
		res <- err
	}()
	actx, cancel := h.context()
	defer cancel()
	req, err := ln.Accept(actx)
	h.must("accept", err)
	if !h.samePrivate(req.PrivateData(), private) || req.RemoteAddr() == "" {
		h.Errorf("request from %q with %q", req.RemoteAddr(), req.PrivateData())
	}
	return req, res
}

// samePrivate reports whether got equals the private data sent. Zeros may follow where the devices
// pad it.
func (h *harness) samePrivate(got, sent []byte) bool {
	rest, ok := bytes.CutPrefix(got, sent)
	if !h.Client.Attributes().PaddedPrivateData && !h.Server.Attributes().PaddedPrivateData {
		return ok && len(rest) == 0
	}
	return ok && len(bytes.Trim(rest, "\x00")) == 0
}

// private returns the start of a text, as much as both devices allow as private data.
func (h *harness) private(text string) []byte {
	return []byte(text[:min(len(text), h.Client.Attributes().MaxPrivateData, h.Server.Attributes().MaxPrivateData)])
}

func (h *harness) result(res <-chan error) error {
	h.Helper()
	select {
	case err := <-res:
		return err
	case <-time.After(h.Timeout):
		h.Fatalf("no answer after %v", h.Timeout)
		return nil
	}
}

// failed checks that a queue pair that was never connected is flushed.
func (h *harness) failed(e *end) {
	h.Helper()
	h.lost(e)
	for _, wc := range e.wait(len(e.open)) {
		h.wantFlushed(wc)
	}
}

func testReject(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	c.recvs(2, 8)
	req, res := h.dialing(ctx, ln, c)
	h.wantErr("long reason", req.Reject(make([]byte, h.Server.Attributes().MaxPrivateData+1)), verbs.ErrTooLarge)
	h.must("reject", req.Reject(h.private("full")))
	err := h.result(res)
	if rejected := new(verbs.RejectedError); !errors.As(err, &rejected) || !h.samePrivate(rejected.PrivateData, h.private("full")) {
		h.Errorf("dial: %v, want a rejection with the reason", err)
	}
	h.failed(c)
	h.wantErr("second answer", req.Reject(nil), verbs.ErrInvalidState)
	_, err = req.Accept(ctx, s.qp, nil)
	h.wantErr("third answer", err, verbs.ErrInvalidState)
	if st := s.qp.State(); st != verbs.StateInit {
		h.Errorf("state %v of a queue pair never used", st)
	}
}

func testRefused(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	addr := ln.Addr()
	h.must("close", ln.Close())
	c := h.newEnd(h.Client, verbs.QPConfig{})
	c.recvs(1, 8)
	_, err := h.Client.Dial(ctx, addr, c.qp, nil)
	h.wantErr("dial an address without listener", err, verbs.ErrConnectionRefused)
	h.failed(c)
}

func testAddressInUse(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	_, err := h.Server.Listen(ctx, ln.Addr())
	h.wantErr("listen twice", err, verbs.ErrAddressInUse)
	h.must("close", ln.Close())
	again, err := h.Server.Listen(ctx, ln.Addr())
	h.must("listen after close", err)
	h.check("close", again.Close())
}

// Cancelling a context stops the wait and the attempt, at the other side too.
func testCancel(h *harness) {
	ln := h.listen()
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := ln.Accept(short)
	h.wantErr("accept", err, context.DeadlineExceeded)

	ctx, cancel := context.WithCancel(context.Background())
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	c.recvs(1, 8)
	s.recvs(1, 8)
	req, res := h.dialing(ctx, ln, c)
	cancel()
	h.wantErr("dial", h.result(res), context.Canceled)
	h.failed(c)
	actx, cancel := h.context()
	defer cancel()
	if _, err = req.Accept(actx, s.qp, nil); h.Precise || err != nil {
		h.wantErr("accept of an abandoned request", err, verbs.ErrPeerDisconnected)
	}
	h.failed(s)
}

func testConnectMisuse(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	c, s := h.connected()
	_, err := h.Client.Dial(ctx, h.Addr, c.qp, nil)
	h.wantErr("dial with a connected queue pair", err, verbs.ErrInvalidState)
	_, err = h.Client.Dial(ctx, h.Addr, nil, nil)
	h.wantErr("dial without a queue pair", err, verbs.ErrForeignObject)
	ln := h.listen()
	other := h.newEnd(h.Client, verbs.QPConfig{})
	req, res := h.dialing(ctx, ln, other)
	_, err = req.Accept(ctx, s.qp, nil)
	h.wantErr("accept with a connected queue pair", err, verbs.ErrInvalidState)
	h.fresh(c, s)
	h.must("reject", req.Reject(nil))
	h.result(res)

	early := h.newEnd(h.Client, verbs.QPConfig{})
	_, err = early.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}})
	h.wantErr("send before the connection", err, verbs.ErrInvalidState)
}

func testListenerClose(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	waiting := make(chan error, 1)
	go func() {
		_, err := ln.Accept(ctx)
		waiting <- err
	}()
	time.Sleep(5 * time.Millisecond) // probably inside Accept by now; it must return in any case
	h.must("close", ln.Close())
	h.wantErr("accept during close", h.result(waiting), verbs.ErrClosed)
	_, err := ln.Accept(ctx)
	h.wantErr("accept after close", err, verbs.ErrClosed)
	h.check("close again", ln.Close())

	// A request that Accept returned before the close can still be answered.
	ln = h.listen()
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	req, res := h.dialing(ctx, ln, c)
	h.must("close", ln.Close())
	_, err = req.Accept(ctx, s.qp, nil)
	h.must("accept after close", err)
	h.must("dial", h.result(res))
	h.fresh(c, s)
}

// R14: each side's initiator depth is the smaller of its wish and the other's resources. It
// limits the side's outstanding Reads.
func testReadDepth(h *harness) {
	ca, sa := h.Client.Attributes(), h.Server.Attributes()
	for _, tc := range []struct {
		name                   string
		cp, sp                 verbs.ConnParams
		clientReads, peerReads int // negotiated depth of client and server
	}{
		{"defaults", verbs.ConnParams{}, verbs.ConnParams{}, min(ca.MaxInitiatorDepth, sa.MaxResponderResources), min(sa.MaxInitiatorDepth, ca.MaxResponderResources)},
		{
			"lesser wins",
			verbs.ConnParams{InitiatorDepth: 4, ResponderResources: 2},
			verbs.ConnParams{InitiatorDepth: 5, ResponderResources: 3},
			min(3, ca.MaxInitiatorDepth, sa.MaxResponderResources), min(2, sa.MaxInitiatorDepth, ca.MaxResponderResources),
		},
		{
			"server only",
			verbs.ConnParams{InitiatorDepth: -1, ResponderResources: 4},
			verbs.ConnParams{InitiatorDepth: 1},
			0, min(1, sa.MaxInitiatorDepth, ca.MaxResponderResources),
		},
	} {
		h.Run(tc.name, func(h *harness) {
			c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
			ci, si := h.connect(c, s, &tc.cp, &tc.sp)
			if ci.InitiatorDepth != tc.clientReads || si.InitiatorDepth != tc.peerReads ||
				ci.ResponderResources < si.InitiatorDepth || si.ResponderResources < ci.InitiatorDepth {
				h.Errorf("client %+v, server %+v; want depths %d and %d", ci, si, tc.clientReads, tc.peerReads)
			}
			wr := remote(verbs.RDMARead, s.region(8, verbs.AccessRemoteRead), 0, whole(c.region(8, verbs.AccessLocalWrite)))
			if tc.clientReads == 0 {
				_, err := c.qp.PostSend([]verbs.SendWR{wr})
				h.wantErr("read at depth 0", err, verbs.ErrNotSupported)
				return
			}
			for range 3 * tc.clientReads { // more than may run at once: the rest waits in the queue
				if len(c.open) == 60 {
					c.wait(60)
				}
				c.post(wr)
			}
			for _, wc := range c.wait(len(c.open)) {
				if wc.Err() != nil || wc.ByteLen != 8 {
					h.Errorf("completion %+v", wc)
				}
			}
		})
	}
}
