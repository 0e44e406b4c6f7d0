package ibverbs

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/tcpstate"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// fakeTCP stands for a kernel that reports on its TCP connections.
type fakeTCP struct {
	ago           time.Duration
	err           error
	local, remote netip.AddrPort // of the last question
}

func (k *fakeTCP) state(local, remote netip.AddrPort) (tcpstate.State, error) {
	k.local, k.remote = local, remote
	return tcpstate.State{Heard: k.ago}, k.err
}

// check makes the queue pair of c look for its peer, which was silent for a time, and
// returns the requests that it has posted for that.
func (k *fakeTCP) check(c *side, quiet time.Duration) (posted uint64) {
	c.qp.mu.Lock()
	c.qp.life.heard = time.Now().Add(-quiet)
	before := c.qp.sq.tail
	c.qp.mu.Unlock()
	c.qp.life.checkPeer()
	c.qp.mu.Lock()
	defer c.qp.mu.Unlock()
	return c.qp.sq.tail - before
}

// ending reports whether the end of the queue pair has begun.
func (s *side) ending() bool {
	s.qp.mu.Lock()
	defer s.qp.mu.Unlock()
	return s.qp.end.begun
}

// Over TCP connections of a kernel the acknowledgments of TCP are the signs of the peer.
func TestAcknowledgmentsOfKernelTCPAreSignsOfThePeer(t *testing.T) {
	const limit = time.Hour
	var log bytes.Buffer
	f := openFake(t, abi.TransportIWARP, quirks.Quirks{KernelTCP: true}, Config{PeerTimeout: limit, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	k := new(fakeTCP)
	f.c.tcp = k.state
	c, _ := connectedSides(t, f)
	k.ago = limit / 3
	if n := k.check(c, limit); n != 0 || c.ending() {
		t.Errorf("TCP has heard of the peer: %d pings, closing: %v; want none, false", n, c.ending())
	}
	if k.local.Port() == 0 || k.remote.Port() == 0 || k.local.Addr() == k.remote.Addr() {
		t.Errorf("asked about a connection from %v to %v", k.local, k.remote)
	}
	k.ago = limit * 2 / 3
	if n := k.check(c, limit); n != 1 {
		t.Errorf("nothing came for two thirds of the limit: %d pings, want 1", n)
	}
	if wc := abi.GetSendWR(c.qp.area.sendAt(0)); wc.Opcode != abi.OpWrite {
		t.Errorf("the ping is request %v, want a Write", wc.Opcode)
	}
	k.ago = limit * 2
	if k.check(c, limit/4); c.ending() {
		t.Error("a message after the last acknowledgment does not count as a sign of the peer")
	}
	k.err = syscall.ENOENT
	for range 3 {
		if n := k.check(c, limit); n != 0 || c.ending() {
			t.Errorf("the kernel does not answer: %d pings, closing: %v; want none, false", n, c.ending())
		}
	}
	if n := strings.Count(log.String(), "tcp_diag"); n != 1 {
		t.Errorf("%d warnings, want 1: %s", n, log.String())
	}
	k.ago, k.err = limit, nil
	k.check(c, limit)
	c.ends()
	if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) {
		t.Errorf("the end is %v", err)
	}
}

// A Read of no bytes completes on a device that cannot have one, and says nothing of the peer.
func TestReadOfNoBytesIsNotPostedToSiw(t *testing.T) {
	f := openFake(t, abi.TransportIWARP, quirks.Quirks{NoEmptyReads: true}, Config{PeerTimeout: time.Hour})
	c, _ := connectedSides(t, f)
	before := time.Now().Add(-time.Minute)
	c.qp.mu.Lock()
	c.qp.life.heard = before
	c.qp.mu.Unlock()
	c.send(verbs.SendWR{WRID: 3, Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: 1, RemoteAddr: 1})
	if wc := c.wait(1)[0]; wc.WRID != 3 || wc.Status != verbs.StatusSuccess || wc.Opcode != verbs.WCRDMARead {
		t.Errorf("completion %+v", wc)
	}
	c.qp.mu.Lock()
	defer c.qp.mu.Unlock()
	if !c.qp.life.heard.Equal(before) {
		t.Error("it is a sign of the peer")
	}
}
