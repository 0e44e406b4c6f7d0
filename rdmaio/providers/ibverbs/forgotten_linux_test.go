package ibverbs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// quirkCheck shows what the provider does about a quirk. The check passes on devices with the quirk
// if the provider knows the quirk, and fails if the provider does not know it.
type quirkCheck struct {
	with   quirks.Quirks // of the device, in addition to the quirk
	tr     abi.Transport
	always bool // the provider does the same for every device: it passes without knowing
	run    func(q *quirkTest) error
}

// quirkTest is a pair of connected sides on devices with a quirk.
type quirkTest struct {
	f     *fakeNet
	c, s  *side
	known bool
}

// noWindows is a quirk that keeps windows out of a check.
var noWindows = quirks.Quirks{NoWindows: true}

// quirkChecks has a check for each field of quirks.Quirks.
var quirkChecks = map[string]quirkCheck{
	"UnorderedReads": {run: func(q *quirkTest) error {
		src, sink := q.s.region(8, verbs.AccessRemoteRead), q.c.region(8, verbs.AccessLocalWrite)
		q.s.recv(1, q.s.region(8, verbs.AccessLocalWrite))
		q.f.server.Device("fake1").HoldReads(true)
		defer q.f.server.Device("fake1").HoldReads(false)
		q.c.send(readOf(src, sink, 0), verbs.SendWR{WRID: 2, Opcode: verbs.Send, Flags: verbs.SendSignaled})
		q.s.wait(1)
		q.c.until("the Send is complete at the device", func(q *queuePair) bool { return q.sq.reached == q.sq.tail })
		if n, err := q.c.cq.Poll(make([]verbs.WC, 4)); n > 0 || err != nil {
			return fmt.Errorf("%d completions while a Read before them is outstanding, %w", n, err)
		}
		return nil
	}},
	"NoSolicitedEvent": {always: true, run: func(q *quirkTest) error {
		q.s.recv(1, q.s.region(8, verbs.AccessLocalWrite))
		q.c.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSolicited})
		return q.s.wait(1)[0].Err()
	}},
	"NoErrorEvent": {always: true, run: func(q *quirkTest) error {
		q.c.send(verbs.SendWR{Opcode: verbs.Send}) // without a Receive
		q.c.ends()
		return nil
	}},
	"LateCause": {with: quirks.Quirks{CauseNever: true}, run: func(q *quirkTest) error {
		disconnected := make(chan struct{})
		q.f.w.once("rdma_disconnect", func() { close(disconnected) })
		q.f.c.waits.event = time.Hour
		q.c.qp.mu.Lock()
		q.c.qp.begin(verbs.ErrPeerDisconnected, causePeer)
		q.c.qp.mu.Unlock()
		patience := 10 * time.Second
		if q.known {
			patience = 20 * time.Millisecond
		}
		select {
		case <-disconnected:
			return errors.New("the end does not wait for the event that has its cause")
		case <-time.After(patience):
		}
		q.f.client.Device("fake0").Event(abi.AsyncEvent{Type: abi.AsyncQPAccessErr, Element: uintptr(q.c.qp.hw)})
		q.c.ends()
		return wantEnd(q.c, verbs.StatusError{Status: verbs.StatusRemoteAccess})
	}},
	"CauseAfterEnd": {always: true, with: quirks.Quirks{LateCause: true}, tr: abi.TransportIWARP, run: refusedWrite},
	"CauseDelayed":  {always: true, with: quirks.Quirks{LateCause: true}, tr: abi.TransportIWARP, run: refusedWrite},
	"CauseNever": {always: true, with: quirks.Quirks{LateCause: true}, tr: abi.TransportIWARP, run: func(q *quirkTest) error {
		q.c.send(verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 1, RemoteAddr: 1, SGL: []verbs.SGE{{MR: q.c.region(8, 0), Length: 8}}})
		<-q.c.lost // although the cause is never known
		return nil
	}},
	"NoRNR": {always: true, tr: abi.TransportIWARP, run: func(q *quirkTest) error {
		q.c.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
		q.c.ends()
		return wantEnd(q.c, verbs.ErrPeerDisconnected)
	}},
	"UnreadFirst": {always: true, tr: abi.TransportIWARP, run: func(q *quirkTest) error {
		q.s.recv(1, q.s.region(8, verbs.AccessLocalWrite))
		q.c.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: q.c.region(8, 0), Length: 8}}})
		return q.s.wait(1)[0].Err()
	}},
	"BrittleReply": {with: quirks.Quirks{KernelTCP: true}, tr: abi.TransportIWARP, run: speakFirst},
	"NoEmptyReads": {run: func(q *quirkTest) error {
		q.c.send(verbs.SendWR{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled})
		return q.c.wait(1)[0].Err()
	}},
	"KernelTCP": {tr: abi.TransportIWARP, run: func(q *quirkTest) error {
		q.c.qp.mu.Lock()
		q.c.qp.life.limit = time.Hour
		q.c.qp.life.timer = time.AfterFunc(time.Hour, func() {})
		q.c.qp.life.heard = time.Now().Add(-2 * time.Hour) // before what the kernel has heard
		q.c.qp.mu.Unlock()
		q.c.qp.life.checkPeer()
		if q.c.ending() {
			return errors.New("the peer is given up, although the kernel has heard from the peer")
		}
		return nil
	}},
	"EmptySGE": {run: func(q *quirkTest) error {
		_, err := q.c.qp.PostRecv([]verbs.RecvWR{{WRID: 1}})
		return err
	}},
	"PaddedPrivateData": {run: func(q *quirkTest) error {
		if got := q.c.peerData; !q.f.s.Attributes().PaddedPrivateData && !bytes.Equal(got, []byte(testData)) {
			return fmt.Errorf("private data %q arrives as %q", testData, got)
		}
		return nil
	}},
	"PeersDepths": {tr: abi.TransportIWARP, run: func(q *quirkTest) error {
		if c, s := q.c.info, q.s.info; c.InitiatorDepth != 3 || c.ResponderResources != 2 || s.InitiatorDepth != 2 || s.ResponderResources != 3 {
			return fmt.Errorf("depths of the client %d and %d, of the server %d and %d; want 3, 2, 2, 3", c.InitiatorDepth, c.ResponderResources, s.InitiatorDepth, s.ResponderResources)
		}
		return nil
	}},
	"StatusRejects": {run: func(q *quirkTest) error {
		other := newSide(q.c.t, q.f.c, verbs.QPConfig{})
		if _, err := q.f.c.Dial(q.c.t.Context(), "127.0.0.2:9", other.qp, nil); !errors.Is(err, verbs.ErrConnectionRefused) {
			return fmt.Errorf("no listener: %w, want %w", err, verbs.ErrConnectionRefused)
		}
		return nil
	}},
	"NoLocalInvalidate": {run: func(q *quirkTest) error {
		mr := q.c.region(8, remoteRW)
		return errors.Join(mr.Invalidate(), q.c.alive())
	}},
	"LocalInvalidateBreaks": {always: true, with: noWindows, run: func(q *quirkTest) error {
		mr := q.c.region(8, remoteRW)
		if _, err := q.c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.LocalInvalidate, InvalidateRKey: mr.RKey()}}); !errors.Is(err, verbs.ErrNotSupported) {
			return fmt.Errorf("LocalInvalidate of an ordinary region: %w", err)
		}
		return q.c.alive()
	}},
	"InvalidateOnce": {always: true, run: func(q *quirkTest) error {
		mr := q.c.region(8, remoteRW)
		q.c.settleBinds()
		q.c.recv(1, q.c.region(8, verbs.AccessLocalWrite))
		q.s.send(verbs.SendWR{Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: mr.RKey()})
		q.s.wait(1) // and this side has not looked
		return errors.Join(mr.Invalidate(), q.c.alive())
	}},
	"RemoteInvalidateBreaks": {always: true, with: noWindows, run: func(q *quirkTest) error {
		if a := q.f.c.Attributes(); !a.InvalidateWindowsOnly || a.RemoteInvalidate {
			return errors.New("the attributes let the peer invalidate ordinary regions")
		}
		return nil
	}},
	"UnreportedInvalidate": {run: reportedInvalidate},
	"KernelWithInv":        {run: reportedInvalidate},
	"InvalidateInRKey":     {always: true, run: reportedInvalidate},
	"GuessableKeys": {with: noWindows, run: func(q *quirkTest) error {
		a, b := q.c.region(8, remoteRW), q.c.region(8, remoteRW)
		if b.RKey()>>8 == a.RKey()>>8+1 && !q.f.c.Attributes().GuessableKeys {
			return fmt.Errorf("after key %#x comes %#x, and keys count as not guessable", a.RKey(), b.RKey())
		}
		return nil
	}},
	"SinkNeedsRemoteWrite": {run: func(q *quirkTest) error {
		q.c.send(readOf(q.s.region(8, verbs.AccessRemoteRead), q.c.region(8, verbs.AccessLocalWrite), verbs.SendSignaled))
		return q.c.wait(1)[0].Err()
	}},
	"DeregLeavesReads": {always: true, run: func(q *quirkTest) error {
		return q.c.alive() // no call mends it: docs/ibverbs.md says when memory can be used again
	}},
	"MaxUnflushed": {always: true, run: func(q *quirkTest) error {
		q.f.c.waits.flush = 10 * time.Millisecond
		q.f.client.Device("fake0").Stall(true)
		q.c.send(verbs.SendWR{WRID: 1, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled}, verbs.SendWR{WRID: 2, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
		q.c.must(q.c.qp.Disconnect())
		q.f.client.Device("fake0").Stall(false)
		if wcs := q.c.wait(2); wcs[0].Status != verbs.StatusFlushed || wcs[1].Status != verbs.StatusFlushed {
			return fmt.Errorf("completions %+v, want both flushed", wcs)
		}
		return nil
	}},
	"OddStatuses": {run: func(q *quirkTest) error {
		q.s.recv(1, q.s.region(8, verbs.AccessLocalWrite))
		q.c.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: q.c.region(64, 0), Length: 64}}})
		if c, s := q.c.wait(1)[0].Status, q.s.wait(1)[0].Status; c != verbs.StatusRemoteInvalidRequest || s != verbs.StatusLocalLength {
			return fmt.Errorf("a message that is too long completes as %v and %v", c, s)
		}
		return nil
	}},
	"NoWindows": {run: func(q *quirkTest) error {
		if q.f.w.claims = true; errors.Join(q.f.c.query()) != nil || q.f.w.count("ibv_alloc_mw") > 0 {
			return errors.New("the provider looks for windows on a device that cannot bind them")
		}
		return nil
	}},
	"RefusedPage": {run: func(q *quirkTest) error {
		if n := fillContext(q.c.t, q.f.client, q.f.c.ctx, 64); n > 0 {
			return fmt.Errorf("the library refuses %d queues", n)
		}
		return nil
	}},
	"WindowsAbsent": {always: true, run: func(q *quirkTest) error {
		mr, sink := q.c.region(8, remoteRW), q.s.region(8, verbs.AccessLocalWrite)
		if status := q.s.read(mr.RKey(), mr, sink); status != verbs.StatusSuccess {
			return verbs.StatusError{Status: status}
		}
		return nil
	}},
	"WindowsUnbounded": {run: func(q *quirkTest) error {
		mine, secret, sink := q.c.region(64, remoteRW), q.c.region(64, remoteRW), q.s.region(8, verbs.AccessLocalWrite)
		if status := q.s.read(mine.RKey(), secret, sink); status != verbs.StatusRemoteAccess {
			return fmt.Errorf("a key of one region reads another: %v", status)
		}
		return nil
	}},
}

// reportedInvalidate lets the peer invalidate a window, if the device says that it reports that.
func reportedInvalidate(q *quirkTest) error {
	if !q.f.c.Attributes().RemoteInvalidate {
		return nil
	}
	mr := q.c.region(8, remoteRW)
	key := mr.RKey()
	q.c.settleBinds()
	q.c.recv(1, q.c.region(8, verbs.AccessLocalWrite))
	q.s.send(verbs.SendWR{Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: key})
	if wc := q.c.wait(1)[0]; wc.Status != verbs.StatusSuccess || wc.InvalidatedRKey != key || mr.State() != verbs.MRInvalid {
		return fmt.Errorf("the peer invalidates key %#x: %+v, and the region is %v", key, wc, mr.State())
	}
	return nil
}

// refusedWrite makes the peer refuse a Write. The cause comes by an event, perhaps late.
func refusedWrite(q *quirkTest) error {
	q.f.c.waits.event = time.Hour
	q.c.send(verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: 1, RemoteAddr: 1, SGL: []verbs.SGE{{MR: q.c.region(8, 0), Length: 8}}})
	q.c.ends()
	return wantEnd(q.c, verbs.StatusError{Status: verbs.StatusRemoteAccess})
}

func readOf(src, sink *region, flags verbs.SendFlags) verbs.SendWR {
	return verbs.SendWR{WRID: 1, Opcode: verbs.RDMARead, Flags: flags, RKey: src.RKey(), RemoteAddr: src.RemoteAddr(), SGL: []verbs.SGE{{MR: sink, Length: 8}}}
}

func wantEnd(s *side, want error) error {
	if err := s.qp.Err(); !errors.Is(err, want) {
		return fmt.Errorf("the end is %w, want %w", err, want)
	}
	return nil
}

// alive returns an error if a Write of no bytes fails.
func (s *side) alive() error {
	if _, err := s.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled}}); err != nil {
		return err
	}
	return s.wait(1)[0].Err()
}

// Each quirk has a check, which fails if the provider forgets the quirk.
func TestForgottenQuirkIsNoticed(t *testing.T) {
	fields := reflect.TypeFor[quirks.Quirks]()
	var names []string
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; name != "NoConnections" { // TestDeviceWithoutConnectionsNamesOtherProviders
			names = append(names, name)
		}
	}
	if have := slices.Sorted(maps.Keys(quirkChecks)); !slices.Equal(have, slices.Sorted(slices.Values(names))) {
		t.Fatalf("checks of %q, want checks of %q", have, names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			check := quirkChecks[name]
			without := check.with
			with := without
			setQuirk(reflect.ValueOf(&with).Elem().FieldByName(name))
			if err := runQuirkCheck(t, check, with, with); err != nil {
				t.Errorf("the provider knows of the quirk: %v", err)
			}
			err := runQuirkCheck(t, check, with, without)
			if check.always && err != nil {
				t.Errorf("the provider does not do it for every device: %v", err)
			}
			if !check.always && err == nil {
				t.Error("the check passes, although the provider has forgotten the quirk")
			}
		})
	}
}

// runQuirkCheck runs a check on devices with some quirks. The provider knows only the second ones.
// Misuse of the library is an error, too.
func runQuirkCheck(t *testing.T, check quirkCheck, device, known quirks.Quirks) error {
	var mu sync.Mutex
	var misuse []error
	f := new(fakeNet)
	f.w = &watched{before: make(map[string][]func())}
	f.net = fakelib.NewNet(fakelib.Options{Misuse: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		misuse = append(misuse, errors.New(s))
	}})
	defer f.net.Close()
	host := func(name string, around func(*fakelib.Host) lib.Lib) (*fakelib.Host, *Device) {
		h := f.net.Host(fakelib.HostOptions{}, fakelib.DeviceOptions{Name: name, Transport: check.tr, Quirks: device})
		cfg := noPings
		d, err := open(around(h), &cfg, &known)
		if err != nil {
			t.Fatal(err)
		}
		d.tcp = tcpOf(h)
		return h, d
	}
	f.client, f.c = host("fake0", func(h *fakelib.Host) lib.Lib { f.w.Lib = h; return f.w })
	f.server, f.s = host("fake1", func(h *fakelib.Host) lib.Lib { return h })
	var err error
	t.Run(fmt.Sprint("known ", device == known), func(t *testing.T) {
		q := &quirkTest{f: f, known: device == known}
		q.c, q.s = newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
		connectFully(q.c, q.s)
		err = check.run(q)
	})
	err = errors.Join(err, f.c.Close(), f.s.Close())
	mu.Lock()
	defer mu.Unlock()
	return errors.Join(append(misuse, err)...)
}

// testData is the private data of connectFully.
const testData = "data"

// connectFully connects two sides with private data and depths, and keeps what each side learns.
func connectFully(c, s *side) {
	t := c.t
	t.Helper()
	ln, err := s.dev.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	defer ln.Close()
	dialed := make(chan error, 1)
	go func() {
		var err error
		c.info, err = c.dev.Dial(t.Context(), ln.Addr(), c.qp, &verbs.ConnParams{PrivateData: []byte(testData), InitiatorDepth: 4, ResponderResources: 2})
		dialed <- err
	}()
	req, err := ln.Accept(t.Context())
	c.must(err)
	c.peerData = req.PrivateData()
	s.info, err = req.Accept(t.Context(), s.qp, &verbs.ConnParams{InitiatorDepth: 5, ResponderResources: 3})
	c.must(err)
	c.must(<-dialed)
}
