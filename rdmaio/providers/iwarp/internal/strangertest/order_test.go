package strangertest

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A request with a fence waits for the Reads before it, and one without does not (RFC 5040 §5.5
// rule 12 and footnote 2 of figure 17).
func TestFenceWaitsForReads(t *testing.T) {
	for _, fence := range []verbs.SendFlags{0, verbs.SendFence} {
		h := newHost(t, open(t, config()))
		mr := h.region("memory", []byte("hello..."), everything)
		cfg := stranger.Config{Startup: enhanced(true), HoldReads: true, Buffers: []int{10}, Regions: map[uint32]stranger.Region{5: {Bytes: []byte("12345678"), ReadOK: true}}}
		p := h.connect(true, cfg, nil)
		for i := range 2 {
			h.must(h.send(verbs.SendWR{Opcode: verbs.RDMARead, RKey: 5, SGL: []verbs.SGE{{MR: mr, Offset: 5 + i, Length: 1}}}))
		}
		h.must(h.send(verbs.SendWR{Opcode: verbs.Send, Flags: fence, SGL: []verbs.SGE{{MR: mr, Length: 5}}}))
		await(t, func() bool { return p.Waiting() == 2 })
		if fence == 0 {
			if e := p.Next(); string(e.Payload) != "hello" {
				t.Fatalf("%v", e)
			}
			p.Answer(2)
		} else {
			for range 2 {
				if e, ok := p.Poll(5 * time.Millisecond); ok {
					t.Fatalf("%v before the Reads are answered", e)
				}
				p.Answer(1)
			}
			if e := p.Next(); string(e.Payload) != "hello" {
				t.Fatalf("%v", e)
			}
		}
		for _, op := range []verbs.WCOpcode{verbs.WCRDMARead, verbs.WCRDMARead, verbs.WCSend} {
			if wc := h.next(); wc.Opcode != op || wc.Status != verbs.StatusSuccess {
				t.Errorf("completion %+v, want opcode %v", wc, op)
			}
		}
		noComplaints(t, p)
	}
}

// Invalidate does not wait for the rest of an FPDU, and nothing is placed behind it.
func TestInvalidateWithinFPDU(t *testing.T) {
	for _, size := range []int{500, 60_000} {
		for _, cut := range []int{1, 2, 16, 17, size / 2, size + 16} {
			h := newHost(t, open(t, config()))
			b := make([]byte, size)
			mr := h.region("memory", b, everything)
			p := h.connect(false, stranger.Config{Startup: enhanced(true), MaxULPDU: 1<<16 - 1}, nil)
			wire := p.Wire(p.DueWrite(mr.RKey(), mr.RemoteAddr(), bytes.Repeat([]byte{1}, size))...)
			p.PutBytes(wire[:cut])
			time.Sleep(100 * time.Microsecond) // lets the first part arrive, mostly
			done := make(chan error, 1)
			go func() { done <- mr.Invalidate() }()
			select {
			case err := <-done:
				h.must(err)
			case <-time.After(patience):
				t.Fatalf("%d bytes, cut behind %d: Invalidate waits", size, cut)
			}
			clear(b)
			p.PutBytes(wire[cut:])
			p.Write(mr.RKey(), mr.RemoteAddr(), []byte("late"))
			if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("reason %v", err)
			}
			if bytes.Count(b, []byte{0}) != size {
				t.Errorf("%d bytes, cut behind %d: bytes were placed behind Invalidate", size, cut)
			}
			if e := p.Next(); e.Kind != stranger.Terminated || e.Terminate.Layer != 1 || e.Terminate.Type != 1 {
				t.Errorf("%d bytes, cut behind %d: %v, want a Terminate of a tagged buffer", size, cut, e)
			}
		}
	}
}

// Disconnect and Close do not wait for the rest of an FPDU.
func TestDisconnectWithinFPDU(t *testing.T) {
	for cut := range 24 {
		h := newHost(t, open(t, config()))
		h.post(10)
		p := h.connect(false, stranger.Config{Startup: enhanced(true)}, nil)
		p.PutBytes(p.Wire(p.DueSend(stranger.Send, []byte("12345"), 0)...)[:cut])
		h.must(h.qp.Disconnect())
		if wc := h.next(); wc.Status != verbs.StatusFlushed {
			t.Errorf("cut behind %d: %+v", cut, wc)
		}
		if e := p.Next(); e.Kind != stranger.Ended && e.Kind != stranger.Terminated {
			t.Errorf("cut behind %d: %v", cut, e)
		}
	}
}

// A Terminate instead of the RTR indication or of the first message ends the connection (RFC 6581
// §9.2).
func TestTerminateFirst(t *testing.T) {
	for _, f := range []stranger.Startup{{CRC: true}, enhanced(true), rtr(7), rtr(2)} {
		h := newHost(t, open(t, config()))
		h.post(10)
		addr, result := h.serve(nil)
		conn := h.dialTo(<-addr)
		_, err := conn.Write(f.Bytes())
		h.must(err)
		reply, err := stranger.ReadStartup(conn, true)
		h.must(err)
		p := stranger.Attach(conn, stranger.Config{Startup: f}, true, reply)
		p.Terminate(stranger.Terminate{Code: stranger.MPANoRTR})
		if r := <-result; r.err == nil {
			if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("reason %v", err)
			}
		}
		if wc := h.next(); wc.Status != verbs.StatusFlushed {
			t.Errorf("completion %+v", wc)
		}
		p.Close()
	}
}

// A responder that sends before the first FPDU breaks RFC 5044 §7.1.2 rule 4. The initiator takes
// the message, or ends the connection.
func TestEarlyResponder(t *testing.T) {
	h := newHost(t, open(t, config()))
	h.post(10)
	p, _ := h.respond(stranger.Config{Startup: enhanced(true), Early: true}, nil)
	p.Send(stranger.Send, []byte("early"), 0)
	if b, _, err := h.message(); err == nil && string(b) != "early" {
		t.Errorf("message %q", b)
	}
}

// A stream that is reset flushes outstanding requests, and the reason says that the connection is
// broken or that the peer has left.
func TestResetFlushesRequests(t *testing.T) {
	for _, initiator := range []bool{false, true} {
		h := newHost(t, open(t, config()))
		mr := h.region("memory", make([]byte, 8), everything)
		h.post(10)
		p := h.connect(initiator, stranger.Config{Startup: enhanced(true), HoldReads: true, Regions: map[uint32]stranger.Region{5: {Bytes: make([]byte, 8), ReadOK: true}}}, nil)
		p.Write(0, 0, nil)
		h.must(h.send(verbs.SendWR{Opcode: verbs.RDMARead, RKey: 5, SGL: []verbs.SGE{{MR: mr, Length: 8}}}))
		await(t, func() bool { return p.Waiting() == 1 })
		p.Conn.(*net.TCPConn).SetLinger(0)
		p.Close()
		if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) && !errors.Is(err, verbs.ErrPeerDisconnected) {
			t.Errorf("reason %v", err)
		}
		for range 2 {
			if wc := h.next(); wc.Status == verbs.StatusSuccess {
				t.Errorf("completion %+v", wc)
			}
		}
	}
}
