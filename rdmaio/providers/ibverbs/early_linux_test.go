package ibverbs

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// dialing is a connection whose Accept waits for the event that says that it is established.
type dialing struct {
	c, s     *side
	accepted chan error
}

// dialHeld connects two sides, and holds back the events of the server from the connection request
// on.
func dialHeld(f *fakeNet, c, s *side) *dialing {
	t := c.t
	t.Helper()
	ln, err := s.dev.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	defer ln.Close()
	d := &dialing{c: c, s: s, accepted: make(chan error, 1)}
	dialed := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(t.Context(), ln.Addr(), c.qp, nil)
		dialed <- err
	}()
	req, err := ln.Accept(t.Context())
	c.must(err)
	f.server.HoldEvents(true)
	go func() {
		_, err := req.Accept(t.Context(), s.qp, nil)
		d.accepted <- err
	}()
	c.must(<-dialed)
	return d
}

// A message may reach the server before the event that says that the connection is established. It
// completes its Receive when the server can answer, not before.
func TestMessageBeforeEstablishedWaitsForIt(t *testing.T) {
	for name, tr := range map[string]abi.Transport{"RoCE": abi.TransportIB, "iWARP": abi.TransportIWARP} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, tr, noQuirks, Config{})
			answered := make(chan error, 1)
			var s *side
			c := newSide(t, f.c, verbs.QPConfig{})
			s = sideWith(t, f.s, func() {
				_, err := s.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}})
				answered <- err
			})
			c.recv(1, c.region(8, verbs.AccessLocalWrite))
			s.recv(1, s.region(8, verbs.AccessLocalWrite))
			s.must(s.cq.Arm(false))
			d := dialHeld(f, c, s)
			c.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
			c.wait(1)
			s.qp.completionEvent() // as the reader does
			select {
			case err := <-answered:
				t.Fatalf("the message arrived in state %v: the answer: %v", s.qp.State(), err)
			default:
			}
			f.server.HoldEvents(false)
			s.must(<-d.accepted)
			select {
			case err := <-answered:
				s.must(err)
			default:
				t.Fatal("Accept has returned, and the message has not arrived")
			}
			c.wait(1)
		})
	}
}

// The first message of an initiator over iWARP may lie unread at the peer's device until more
// comes.
func TestFirstMessageIsNotLeftUnread(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, quirks.Quirks{UnreadFirst: true}, Config{PeerTimeout: -1})
	c, s := connectedSides(t, f)
	s.recv(1, s.region(8, verbs.AccessLocalWrite))
	c.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: c.region(8, 0), Length: 8}}})
	if wc := s.wait(1)[0]; wc.Status != verbs.StatusSuccess || wc.ByteLen != 8 {
		t.Errorf("the Receive completed with %v", wc)
	}
}

// An initiator stops nudging its peer when it has heard from the peer.
func TestNudgesEndAtTheFirstSignOfThePeer(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, noQuirks, Config{PeerTimeout: -1})
	c, s := connectedSides(t, f)
	c.recv(1, c.region(8, verbs.AccessLocalWrite))
	s.send(verbs.SendWR{Opcode: verbs.Send})
	c.wait(1)
	c.qp.mu.Lock()
	over, posted := c.qp.opening.wait == 0, c.qp.sq.tail
	c.qp.mu.Unlock()
	if !over || posted != 0 {
		t.Errorf("the opening is over: %v, %d requests posted; want true and none", over, posted)
	}
	s.qp.mu.Lock()
	if s.qp.opening.timer != nil {
		t.Error("an acceptor has a timer for nudges")
	}
	s.qp.mu.Unlock()
	c.qp.nudge() // as by a timer that had expired before the opening was over
	c.qp.mu.Lock()
	defer c.qp.mu.Unlock()
	if c.qp.sq.tail != 0 {
		t.Errorf("%d requests posted, want none", c.qp.sq.tail)
	}
}

// A peer that stays silent, as a server that works on its first Call, gets few nudges.
func TestNudgesOfSilentPeerAreBounded(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, noQuirks, Config{PeerTimeout: -1})
	c, s := connectedSides(t, f)
	c.qp.mu.Lock()
	running := c.qp.opening.timer != nil
	c.qp.mu.Unlock()
	if running {
		t.Error("nudges have begun before there is a message")
	}
	s.recv(1, s.region(8, verbs.AccessLocalWrite))
	c.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
	c.wait(1)
	s.wait(1)
	for range 20 {
		c.qp.nudge()
	}
	c.qp.mu.Lock()
	defer c.qp.mu.Unlock()
	// One is outstanding at a time.
	if n := c.qp.sq.tail - 1; n == 0 || n > 9 || c.qp.opening.wait != 0 {
		t.Errorf("%d nudges, and the next one after %v; want 1 to 9, and none", n, c.qp.opening.wait)
	}
}

// Over siw the TCP connection is made within the call of rdma_connect, which reports what failed.
func TestErrorsOfConnectSayWhatFailed(t *testing.T) {
	for errno, want := range map[syscall.Errno]error{
		syscall.ECONNREFUSED: verbs.ErrConnectionRefused, syscall.ETIMEDOUT: verbs.StatusError{Status: verbs.StatusRetryExceeded},
		syscall.EHOSTUNREACH: verbs.ErrConnectionBroken, syscall.ENODEV: verbs.ErrDeviceRemoved,
	} {
		f := openFake(t, abi.TransportIWARP, noQuirks, Config{})
		f.client.Fail("rdma_connect", errno, 0, 1)
		c := newSide(t, f.c, verbs.QPConfig{})
		if _, err := f.c.Dial(t.Context(), "127.0.0.2:7", c.qp, nil); !errors.Is(err, want) || !errors.Is(err, errno) {
			t.Errorf("errno %d: Dial returns %v, want %v", errno, err, want)
		}
	}
}

// The acceptor speaks first, while the initiator's message lies unread at its device.
func TestMessageBeforeTheFirstSignOfThePeerIsNotLeftUnread(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, quirks.Quirks{UnreadFirst: true}, Config{PeerTimeout: -1})
	c, s := connectedSides(t, f)
	c.recv(1, c.region(8, verbs.AccessLocalWrite))
	s.recv(1, s.region(8, verbs.AccessLocalWrite))
	c.qp.mu.Lock()
	c.qp.opening.timer = time.AfterFunc(time.Hour, c.qp.nudge) // the regular nudges come too late
	c.qp.mu.Unlock()
	c.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: c.region(8, 0), Length: 8}}})
	for !f.server.HasUnread() {
		time.Sleep(time.Millisecond)
	}
	s.send(verbs.SendWR{Opcode: verbs.Send})
	c.wait(1)
	s.wait(1)
}
