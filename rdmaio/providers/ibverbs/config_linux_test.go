package ibverbs

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// What operators of RoCE networks set reaches the library, and nothing else is set.
func TestConfigReachesTheLibrary(t *testing.T) {
	for name, c := range map[string]struct {
		cfg       Config
		transport abi.Transport
		tos, ack  []byte
		retry     uint8
	}{
		"defaults": {retry: 7},
		"all":      {cfg: Config{TrafficClass: 104, ACKTimeout: 9 * time.Microsecond, Retries: 3}, tos: []byte{104}, ack: []byte{2}, retry: 3},
		"none":     {cfg: Config{Retries: -1}},
		"iWARP":    {cfg: Config{ACKTimeout: time.Second}, transport: abi.TransportIWARP, retry: 7},
	} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, c.transport, quirks.Quirks{PeersDepths: c.transport == abi.TransportIWARP}, c.cfg)
			connectedSides(t, f)
			if got := f.client.Option(abi.OptionTOS); !bytes.Equal(got, c.tos) {
				t.Errorf("traffic class %v, want %v", got, c.tos)
			}
			if got := f.client.Option(abi.OptionACKTimeout); !bytes.Equal(got, c.ack) {
				t.Errorf("ACK timeout %v, want %v", got, c.ack)
			}
			for who, p := range map[string]abi.ConnParam{"client": f.client.Param(), "server": f.server.Param()} {
				if p.Retry != c.retry || p.RNRRetry != 0 {
					t.Errorf("%s: retries %d and %d, want %d and 0", who, p.Retry, p.RNRRetry, c.retry)
				}
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"retries":    {Retries: 8},
		"backlog":    {Backlog: -1},
		"vector":     {CompletionVector: -1},
		"negative":   {ACKTimeout: -1},
		"three days": {ACKTimeout: 72 * time.Hour},
	} {
		if _, err := c.fill(); !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("%s: %v, want ErrInvalidValue", name, err)
		}
	}
	for d, want := range map[time.Duration]byte{
		0: 0, 1: 1, 8192: 1, 8193: 2, 16384: 2, time.Second: 18, 4096 << 31: 31,
	} {
		if got, err := ackTimeout(d); got != want || err != nil {
			t.Errorf("ackTimeout(%v) = %d, %v, want %d", d, got, err, want)
		}
	}
}

// After half of the PeerTimeout without a sign of the peer a request asks for one, and after the
// whole time the peer is given up: also if the device would go on, and this side sends nothing.
func TestPeerIsAskedAndGivenUp(t *testing.T) {
	for name, tr := range map[string]abi.Transport{"InfiniBand": abi.TransportIB, "iWARP": abi.TransportIWARP} {
		t.Run(name, func(t *testing.T) {
			const limit = time.Hour
			f := openFake(t, tr, quirks.Quirks{}, Config{PeerTimeout: limit})
			c, _ := connectedSides(t, f)
			c.recv(1, c.region(8, verbs.AccessLocalWrite))
			quietFor := func(d time.Duration) {
				c.qp.mu.Lock()
				c.qp.life.heard = time.Now().Add(-d)
				c.qp.mu.Unlock()
				c.qp.life.checkPeer()
			}
			pings := func() (n int) {
				c.qp.mu.Lock()
				defer c.qp.mu.Unlock()
				for i := c.qp.sq.head; i < c.qp.sq.tail; i++ {
					if c.qp.sq.at(i).kind == kindPing {
						n++
					}
				}
				return n
			}
			for range 5 {
				quietFor(limit * 2 / 3)
				c.settle() // the peer's device has responded
				c.qp.mu.Lock()
				if quiet := time.Since(c.qp.life.heard); quiet > limit/2 {
					t.Errorf("no sign of the peer for %v after a request for one", quiet)
				}
				c.qp.mu.Unlock()
			}
			server := f.server.Device("fake1")
			server.HoldReads(true)
			f.client.Device("fake0").Stall(true)
			quietFor(limit / 3)
			if n := pings(); n != 0 {
				t.Errorf("%d requests ask for a sign after a third of the limit", n)
			}
			quietFor(limit * 2 / 3)
			quietFor(limit * 2 / 3)
			if n := pings(); n != 1 {
				t.Errorf("%d requests ask for a sign, want 1", n)
			}
			quietFor(limit)
			f.client.Device("fake0").Stall(false)
			c.ends()
			if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) || !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("the end is %v", err)
			}
			if wc := c.wait(1)[0]; wc.WRID != 1 || wc.Status != verbs.StatusFlushed {
				t.Errorf("completion %+v", wc)
			}
		})
	}
}

// Requests that the device carries out without the peer do not show that the peer is alive. Over
// iWARP a Write does not either, because it is complete before the peer has it.
func TestSignsOfThePeer(t *testing.T) {
	for name, tr := range map[string]abi.Transport{"InfiniBand": abi.TransportIB, "iWARP": abi.TransportIWARP} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, tr, quirks.Quirks{}, Config{PeerTimeout: time.Hour})
			c, s := boundSides(t, f, 2)
			mr, src, sink := c.region(64, remoteRW), s.region(8, verbs.AccessRemoteRead), c.region(8, verbs.AccessLocalWrite)
			s.settle()
			read := verbs.SendWR{
				Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: src.RKey(), RemoteAddr: src.RemoteAddr(),
				SGL: []verbs.SGE{{MR: sink, Length: 8}},
			}
			for what, step := range map[string]struct {
				sign bool
				run  func()
			}{
				"a window's revocation and bind": {false, func() {
					c.must(mr.Invalidate())
					c.must(mr.Reregister(mr.Bytes(), remoteRW))
					c.must(mr.Invalidate())
					c.must(mr.Reregister(mr.Bytes(), remoteRW))
					c.settleBinds()
				}},
				"a Write": {tr == abi.TransportIB, func() {
					c.send(verbs.SendWR{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
					c.wait(1)
				}},
				"a Read": {true, func() {
					c.send(read)
					c.wait(1)
				}},
				"a message": {true, func() {
					c.recv(1, sink)
					s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
					c.wait(1)
				}},
			} {
				before := time.Now().Add(-20 * time.Minute)
				c.qp.mu.Lock()
				c.qp.life.heard = before
				c.qp.mu.Unlock()
				step.run()
				c.qp.mu.Lock()
				if sign := !c.qp.life.heard.Equal(before); sign != step.sign {
					t.Errorf("%s is a sign of the peer: %v, want %v", what, sign, step.sign)
				}
				c.qp.mu.Unlock()
			}
		})
	}
}

// Asynchronous events of the device end the queue pair that they name, with a reason.
func TestAsynchronousEventsEndTheirQueuePair(t *testing.T) {
	for event, want := range map[abi.AsyncType]verbs.Status{
		abi.AsyncQPFatal: verbs.StatusFatal, abi.AsyncQPReqErr: verbs.StatusRemoteInvalidRequest,
		abi.AsyncQPAccessErr: verbs.StatusRemoteAccess, abi.AsyncCQErr: verbs.StatusFatal,
	} {
		f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
		c, _ := connectedSides(t, f)
		other, _ := connectedSides(t, f)
		dev := f.client.Device("fake0")
		dev.Event(abi.AsyncEvent{Type: abi.AsyncPortErr, Element: 1})
		dev.Event(abi.AsyncEvent{Type: abi.AsyncGIDChange, Element: 1})
		element := uintptr(c.qp.hw)
		if event == abi.AsyncCQErr {
			element = uintptr(c.qp.cq)
		}
		dev.Event(abi.AsyncEvent{Type: event, Element: element})
		c.ends()
		if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: want}) || !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Errorf("event %d: the end is %v, want %v", event, err, want)
		}
		if other.qp.State() != verbs.StateConnected {
			t.Errorf("event %d: another queue pair is %v", event, other.qp.State())
		}
	}
}
