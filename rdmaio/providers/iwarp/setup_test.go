package iwarp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func TestConfigRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  iwarp.Config
		want string
	}{
		"revision 3":                 {iwarp.Config{Revision: 3}, "Revision is 3, want 1 to 2"},
		"revision -1":                {iwarp.Config{Revision: -1}, "Revision is -1"},
		"peer-to-peer in revision 1": {iwarp.Config{Revision: 1, PeerToPeer: true}, "Revision with PeerToPeer is 1, want 2"},
		"unknown indication":         {iwarp.Config{RTR: 8}, "RTR is 8, want 0 to 7"},
		"MULPDU too small":           {iwarp.Config{MULPDU: 127}, "MULPDU is 127, want 128 to 64768"},
		"MULPDU too large":           {iwarp.Config{MULPDU: 64769}, "MULPDU is 64769"},
		"depth of more than 14 bits": {iwarp.Config{Limits: &verbs.DeviceAttributes{MaxInitiatorDepth: 0x3fff}}, "limit MaxInitiatorDepth is 16383, want 0 to 16382"},
		"private data":               {iwarp.Config{Limits: &verbs.DeviceAttributes{MaxPrivateData: 509}}, "limit MaxPrivateData is 509, want 0 to 508"},
	} {
		d, err := iwarp.Open(&tc.cfg)
		if !errors.Is(err, verbs.ErrInvalidValue) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if err == nil {
			d.Close()
		}
	}
}

// responder is a scripted responder.
type responder struct {
	net.Conn
	request mpa.Frame
	replied time.Time // before its reply was written
}

// initiate connects a side as the initiator, plays a responder that replies with frame, and returns
// the responder and the result of DialConn.
func initiate(t *testing.T, cfg *iwarp.Config, frame mpa.Frame) (s *side, r *responder, err error) {
	t.Helper()
	here, peer := tcpPair(t)
	return initiateOver(t, here, peer, cfg, frame)
}

// initiateOver is initiate over a stream with these ends.
func initiateOver(t *testing.T, here, peer net.Conn, cfg *iwarp.Config, frame mpa.Frame) (s *side, r *responder, err error) {
	t.Helper()
	s = newSide(t, device(t, cfg))
	done := make(chan error, 1)
	go func() {
		_, err := s.dialConn(here, nil)
		done <- err
	}()
	peer.SetDeadline(time.Now().Add(patience))
	head := make([]byte, mpa.FrameSize)
	if _, err := io.ReadFull(peer, head); err != nil {
		t.Fatal(err)
	}
	n, err := mpa.PrivateLength(head, mpa.Request)
	if err != nil {
		t.Fatal(err)
	}
	head = append(head, make([]byte, n)...)
	if _, err := io.ReadFull(peer, head[mpa.FrameSize:]); err != nil {
		t.Fatal(err)
	}
	r = &responder{Conn: peer}
	if err := r.request.Decode(head); err != nil {
		t.Fatal(err)
	}
	frame.Kind = mpa.Reply
	b, err := frame.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.replied = time.Now(); frame.Revision > 0 {
		peer.Write(b)
	} else {
		peer.Close()
	}
	return s, r, <-done
}

var accepts = mpa.Frame{Revision: 2, Enhanced: true, Setup: mpa.Setup{IRD: 4, ORD: 4}}

// fpdu reads an FPDU and returns its DDP header and payload.
func fpdu(t *testing.T, conn net.Conn) (h ddp.Header, payload []byte) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(patience))
	b := make([]byte, mpa.MaxWire)
	if _, err := io.ReadFull(conn, b[:mpa.LengthSize]); err != nil {
		t.Fatal(err)
	}
	n, err := mpa.Length(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, b[mpa.LengthSize:mpa.Wire(n)]); err != nil {
		t.Fatal(err)
	}
	ulpdu, _, err := mpa.OpenFPDU(b[:mpa.Wire(n)], true)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Decode(ulpdu); err != nil {
		t.Fatal(err)
	}
	return h, ulpdu[h.Size():]
}

// A peer that is silent after the first message gets one Write of no bytes, a peer that speaks none
// (WakeUp). The Write never comes inside a message.
func TestWakeUp(t *testing.T) {
	for name, without := range map[string]iwarp.Workaround{"on": 0, "off": iwarp.WakeUp} {
		t.Run(name, func(t *testing.T) {
			s, peer, err := initiate(t, &iwarp.Config{Without: without, MULPDU: 128}, accepts)
			if err != nil {
				t.Fatal(err)
			}
			s.post(verbs.SendWR{Opcode: verbs.Send, SGL: s.sge(200)})
			for last := false; !last; {
				h, _ := fpdu(t, peer)
				if last = h.Last; rdmap.OpcodeOf(h.ULP) != rdmap.Send {
					t.Fatalf("%+v within a Send", h)
				}
			}
			if without == 0 {
				if h, payload := fpdu(t, peer); rdmap.OpcodeOf(h.ULP) != rdmap.Write || h.STag != 1 || len(payload) > 0 {
					t.Errorf("%+v with %d bytes, want a Write of none to STag 1", h, len(payload))
				}
			}
			peer.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			if n, err := peer.Read(make([]byte, 1)); !isTimeout(err) {
				t.Errorf("%d bytes more, %v", n, err)
			}
		})
	}
}

// In the peer-to-peer model the indication is the first message.
func TestWakeUpPeerToPeer(t *testing.T) {
	reply := accepts
	reply.Setup.PeerToPeer, reply.Setup.RTR = true, mpa.RTRSend
	_, peer, err := initiate(t, &iwarp.Config{PeerToPeer: true, FirstDelay: -1}, reply)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []rdmap.Opcode{rdmap.Send, rdmap.Write} {
		if h, payload := fpdu(t, peer); rdmap.OpcodeOf(h.ULP) != want || len(payload) > 0 {
			t.Errorf("%+v with %d bytes, want a %v of none", h, len(payload), want)
		}
	}
}

// An initiator waits for FirstDelay before the indication, too.
func TestFirstDelayPeerToPeer(t *testing.T) {
	const delay = 50 * time.Millisecond
	reply := accepts
	reply.Setup.PeerToPeer, reply.Setup.RTR = true, mpa.RTRSend
	_, peer, err := initiate(t, &iwarp.Config{PeerToPeer: true, FirstDelay: delay}, reply)
	if err != nil {
		t.Fatal(err)
	}
	if h, _ := fpdu(t, peer); rdmap.OpcodeOf(h.ULP) != rdmap.Send || time.Since(peer.replied) < delay {
		t.Errorf("%+v after %v, want a Send after at least %v", h, time.Since(peer.replied), delay)
	}
}

// After the indication there is no further FirstDelay before the first message.
func TestFirstMessageFollowsTheIndication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = patience / 2
		reply := accepts
		reply.Setup.PeerToPeer, reply.Setup.RTR = true, mpa.RTRSend
		here, there := net.Pipe()
		defer there.Close()
		go func() { // initiateOver returns after the indication
			time.Sleep(delay / 2) // until the reply is written
			h, _ := fpdu(t, there)
			if rdmap.OpcodeOf(h.ULP) != rdmap.Send {
				t.Errorf("%+v, want the indication", h)
			}
		}()
		s, peer, err := initiateOver(t, here, there, &iwarp.Config{PeerToPeer: true, FirstDelay: delay}, reply)
		if err != nil {
			t.Fatal(err)
		}
		s.post(verbs.SendWR{Opcode: verbs.Send})
		if h, _ := fpdu(t, there); h.MSN != 2 || time.Since(peer.replied) != delay {
			t.Errorf("message %d after %v, want 2 after %v", h.MSN, time.Since(peer.replied), delay)
		}
	})
}

// RFC 5044 §7.1.1: a Terminate that answers a reply has a CRC if either side wants one.
func TestTerminateOfTheSetUpHasACRC(t *testing.T) {
	reply := mpa.Frame{Revision: 2, Enhanced: true, CRC: true, Setup: mpa.Setup{ORD: 17}}
	_, peer, err := initiate(t, &iwarp.Config{NoCRC: true}, reply)
	if !errors.Is(err, mpa.InsufficientIRD) {
		t.Errorf("%v, want %v", err, mpa.InsufficientIRD)
	}
	if h, _ := fpdu(t, peer); rdmap.OpcodeOf(h.ULP) != rdmap.TerminateOp { // fpdu checks the CRC
		t.Errorf("%+v, want a Terminate", h)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// An initiator does not send before FirstDelay. Requests posted before that are sent in order.
func TestFirstDelay(t *testing.T) {
	const delay = 50 * time.Millisecond
	s, peer, err := initiate(t, &iwarp.Config{FirstDelay: delay}, accepts)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.post(verbs.SendWR{Opcode: verbs.Send})
	}
	for i := uint32(1); i <= 3; i++ {
		if h, _ := fpdu(t, peer); h.MSN != i {
			t.Errorf("message %d, want %d", h.MSN, i)
		}
		if took := time.Since(peer.replied); took < delay {
			t.Errorf("message %d after %v, want at least %v", i, took, delay)
		}
	}
	early, _, err := initiate(t, &iwarp.Config{FirstDelay: time.Hour}, accepts)
	if err != nil {
		t.Fatal(err)
	}
	early.post(verbs.SendWR{Opcode: verbs.Send})
	early.qp.Disconnect()
	if wc := early.next(); wc.Status != verbs.StatusFlushed {
		t.Errorf("%+v, want %v", wc, verbs.StatusFlushed)
	}
}

// Replies that make no connection, with the errors that name the remedy.
func TestRefusedReplies(t *testing.T) {
	for name, tc := range map[string]struct {
		reply mpa.Frame
		want  error
		text  string
	}{
		"no reply":     {mpa.Frame{}, verbs.ErrPeerDisconnected, "Config.Revision"},
		"revision 1":   {mpa.Frame{Revision: 1}, mpa.RevisionChanged, "RFC 6581 §10"},
		"not enhanced": {mpa.Frame{Revision: 2}, mpa.NotEnhanced, "RFC 6581 §10"},
		"markers":      {mpa.Frame{Revision: 2, Enhanced: true, Markers: true}, mpa.MarkersRefused, "Markers"},
		"more Reads":   {mpa.Frame{Revision: 2, Enhanced: true, Setup: mpa.Setup{ORD: 17}}, mpa.InsufficientIRD, "RFC 6581 §9.1"},
		"rejected":     {mpa.Frame{Revision: 2, Enhanced: true, Reject: true, Private: []byte("no")}, &verbs.RejectedError{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, peer, err := initiate(t, nil, tc.reply)
			rejected := (*verbs.RejectedError)(nil)
			switch {
			case errors.As(err, &rejected) && tc.reply.Reject:
				if string(rejected.PrivateData) != "no" {
					t.Errorf("private data %q", rejected.PrivateData)
				}
			case err == nil || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text):
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if s.qp.State() != verbs.StateError {
				t.Errorf("state %v", s.qp.State())
			}
			if request := &peer.request; !request.CRC || !request.Enhanced || request.Setup.IRD != 16 || request.Setup.ORD != 16 || request.Setup.PeerToPeer {
				t.Errorf("request %v", request)
			}
			if errors.Is(err, mpa.InsufficientIRD) {
				h, body := fpdu(t, peer)
				report := rdmap.Terminate{}
				if err := report.Decode(body); err != nil || rdmap.OpcodeOf(h.ULP) != rdmap.TerminateOp || report.Cause != (rdmap.Cause{Layer: 2, Code: 6}) {
					t.Errorf("%+v, %+v, %v; want a Terminate", h, report, err)
				}
			}
		})
	}
}

// RFC 5044 §7.1.1: a request that a responder cannot take is answered with a rejection.
func TestBadRequestIsRejected(t *testing.T) {
	s := newSide(t, device(t, nil))
	here, peer := tcpPair(t)
	b, err := (&mpa.Frame{Kind: mpa.Request, Revision: 2, Enhanced: true, Markers: true}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := s.acceptConn(here, nil); !errors.Is(err, mpa.MarkersRefused) {
		t.Errorf("%v, want %v", err, mpa.MarkersRefused)
	}
	peer.SetDeadline(time.Now().Add(patience))
	b, err = io.ReadAll(peer)
	reply := mpa.Frame{Kind: mpa.Reply}
	if err == nil {
		err = reply.Decode(b)
	}
	if err != nil || !reply.Reject {
		t.Errorf("the reply is %+v, %v", reply, err)
	}
}

// In revision 1 all operations work, and each side has its own depths and private data (RFC 5044).
func TestRevision1KeepsDepthsAndPrivateData(t *testing.T) {
	i, r := pair(t, &iwarp.Config{Revision: 1}, nil)
	r.recv(100)
	copy(i.mr.Bytes(), "written by revision 1")
	there := verbs.SendWR{RKey: r.mr.RKey(), RemoteAddr: r.mr.RemoteAddr() + 1000}
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead, verbs.Send} {
		there.Opcode, there.SGL = op, i.sge(21)
		if op == verbs.RDMARead {
			clear(i.mr.Bytes()[:21])
		}
		i.post(there)
		i.ok()
	}
	if wc := r.ok(); string(r.mr.Bytes()[:wc.ByteLen]) != "written by revision 1" {
		t.Errorf("%+v: %q", wc, r.mr.Bytes()[:21])
	}
}

// A responder reports no reason before it may send. Afterwards the peer gets it.
func TestReasonWaitsUntilItMayBeSent(t *testing.T) {
	i, r := pair(t, nil, nil)
	why := r.qp.(verbs.ReasonDisconnecter)
	if err := why.DisconnectFor(verbs.ReasonRule); !errors.Is(err, verbs.ErrNotSupported) || r.qp.State() != verbs.StateConnected {
		t.Fatalf("%v, state %v", err, r.qp.State())
	}
	r.recv(1)
	i.post(verbs.SendWR{Opcode: verbs.Send})
	r.ok()
	if err := why.DisconnectFor(verbs.ReasonRule); err != nil {
		t.Fatal(err)
	}
	i.fails(verbs.ErrConnectionBroken, verbs.StatusError{Status: verbs.StatusRemoteInvalidRequest})
}

// The size of FPDUs follows the TCP segments, or is Config.MULPDU. A stream without segments has
// another size.
func TestSegmentSize(t *testing.T) {
	longest := func(t *testing.T, cfg *iwarp.Config, connect func(t *testing.T) (a, b net.Conn)) (n int) {
		s := newSide(t, device(t, cfg))
		here, peer := connect(t)
		done := make(chan error, 1)
		go func() {
			_, err := s.dialConn(here, nil)
			done <- err
		}()
		peer.SetDeadline(time.Now().Add(patience))
		io.ReadFull(peer, make([]byte, mpa.FrameSize+mpa.SetupSize))
		reply := accepts
		reply.Kind = mpa.Reply
		b, err := reply.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		peer.Write(b)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s.post(verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: s.sge(200_000), RKey: 1})
		for last := false; !last; {
			h, payload := fpdu(t, peer)
			n, last = max(n, len(payload)+h.Size()), h.Last
			if !last && len(payload)%4 != 0 {
				t.Fatalf("%d bytes of payload are not a multiple of 4", len(payload))
			}
		}
		return n
	}
	plain := func(t *testing.T) (a, b net.Conn) { return tcpPair(t) }
	pipe := func(t *testing.T) (a, b net.Conn) {
		a, b = net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		return a, b
	}
	if n := longest(t, &iwarp.Config{MULPDU: 1442}, plain); n != 14+1428 {
		t.Errorf("longest ULPDU %d with MULPDU 1442", n)
	}
	if n := longest(t, nil, pipe); n != 14+16368 {
		t.Errorf("longest ULPDU %d over a pipe", n)
	}
	if n := longest(t, nil, plain); runtime.GOOS == "linux" && n < 20_000 {
		t.Errorf("longest ULPDU %d over loopback", n)
	}
}

// A stream that ends or stops anywhere in the set-up makes no connection.
func TestTruncatedStart(t *testing.T) {
	dev := device(t, &iwarp.Config{HandshakeTimeout: 50 * time.Millisecond})
	ln := listen(t, dev)
	f := mpa.Frame{Kind: mpa.Request, Revision: 2, Enhanced: true, CRC: true, Setup: mpa.Setup{IRD: 1, ORD: 1}, Private: []byte("hello")}
	whole, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		for _, ends := range []bool{true, false} {
			conn, err := net.Dial("tcp", ln.Addr())
			if err != nil {
				t.Fatal(err)
			}
			conn.Write(whole[:n])
			if ends {
				conn.(*net.TCPConn).CloseWrite()
			}
			conn.SetReadDeadline(time.Now().Add(patience))
			if b, err := io.ReadAll(conn); len(b) > 0 || isTimeout(err) {
				t.Errorf("%d of %d bytes, ends %v: %x came back, %v", n, len(whole), ends, b, err)
			}
			conn.Close()
		}
	}
	if s := dev.Stats(); s.RefusedHandshake != int64(2*len(whole)) || s.Refused != s.RefusedHandshake {
		t.Errorf("%+v, want %d refused", s, 2*len(whole))
	}
	ln = listen(t, device(t, nil)) // with time for a slow machine
	conn, err := net.Dial("tcp", ln.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write(whole)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := ln.Accept(ctx)
	if err != nil || !bytes.Equal(req.PrivateData(), []byte("hello")) {
		t.Fatalf("%v", err)
	}
	if err := req.Reject(nil); err != nil {
		t.Error(err)
	}
}

// No message allocates, of any size, with and without CRCs.
func TestMessageDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, cfg := range []iwarp.Config{{}, {MULPDU: 1442}, {MULPDU: 1442, NoCRC: true}} {
		i, r := pair(t, &cfg, &cfg)
		send := []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: i.sge(5000)}}
		read := []verbs.SendWR{{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: i.sge(100_000), RKey: r.mr.RKey(), RemoteAddr: r.mr.RemoteAddr()}}
		recv := []verbs.RecvWR{{SGL: r.sge(5000)}}
		n := testing.AllocsPerRun(200, func() {
			r.qp.PostRecv(recv)
			i.qp.PostSend(send)
			i.ok()
			r.ok()
			i.qp.PostSend(read)
			i.ok()
		})
		if n > 1 { // a garbage collection may empty a pool
			t.Errorf("MULPDU %d: %v allocations of a Send and a Read, want 0", cfg.MULPDU, n)
		}
	}
}

// An idle connection costs little memory, whatever it has carried.
func TestIdleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	before := heap()
	const n = 40
	for range n {
		i, r := pair(t, nil, nil)
		r.recv(sideBytes)
		i.post(verbs.SendWR{Opcode: verbs.Send, SGL: i.sge(sideBytes)})
		i.ok()
		r.ok()
	}
	// Two regions of each pair belong to the test.
	if each := (heap()-before)/n - 2*sideBytes; each > 200<<10 {
		t.Errorf("an idle connection keeps %d bytes at both ends", each)
	} else {
		t.Logf("an idle connection keeps %d bytes at both ends", each)
	}
}
