package strangertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Silence and floods: A14 to A20 of RFC 5042 §6.4.

// soon is a limit that a test waits for.
const soon = 50 * time.Millisecond

// A14: a peer that connects and sends no whole Request is given up (RFC 5044 §7.1.2 rule 10).
func TestA14SilentInitiator(t *testing.T) {
	whole := frame(t, req+"50 02 0008 0004 0004 'abcd'")
	for n := range len(whole) {
		cfg := config()
		cfg.HandshakeTimeout = soon
		h := newHost(t, open(t, cfg))
		ln, err := h.dev.Listen(context.Background(), local)
		h.must(err)
		conn := h.dialTo(ln.Addr())
		conn.Write(whole[:n])
		if b, err := io.ReadAll(conn); len(b) > 0 || err != nil && !isReset(err) {
			t.Errorf("after %d bytes: %x, %v", n, b, err)
		}
		h.must(ln.Close())
	}
}

// A14: a Request that comes a byte at a time is given up, too.
func TestA14Trickle(t *testing.T) {
	cfg := config()
	cfg.HandshakeTimeout = soon
	h := newHost(t, open(t, cfg))
	ln, err := h.dev.Listen(context.Background(), local)
	h.must(err)
	defer ln.Close()
	conn := h.dialTo(ln.Addr())
	for _, octet := range frame(t, req+"50 02 0200 0004 0004"+"00") {
		if _, err := conn.Write([]byte{octet}); err != nil {
			return
		}
		time.Sleep(soon / 10)
	}
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil && !isReset(err) {
		t.Errorf("%x, %v", b, err)
	}
}

// A14: Dial gives up a peer that sends no whole Reply when its context says so.
func TestA14SilentResponder(t *testing.T) {
	whole := frame(t, rep+"50 02 0008 0004 0004 'abcd'")
	for _, n := range []int{0, 1, 16, 20, 22, len(whole) - 1} {
		h := newHost(t, open(t, config()))
		conn, result := h.dialFor(soon, nil)
		conn.Write(whole[:n])
		if r := <-result; r.err == nil || h.qp.State() != verbs.StateError {
			t.Errorf("after %d bytes: %v, state %v", n, r.err, h.qp.State())
		}
	}
}

// A16: an FPDU, and a message, that does not go on ends the connection.
func TestA16Stalls(t *testing.T) {
	open1 := func(p *stranger.Endpoint) stranger.Segment {
		s := p.DueSend(stranger.Send, []byte("abc"), 0)[0]
		s.Last = false
		return s
	}
	for name, put := range map[string]func(p *stranger.Endpoint, mr verbs.MemoryRegion){
		"one byte of an FPDU": func(p *stranger.Endpoint, _ verbs.MemoryRegion) { p.PutBytes([]byte{0}) },
		"half an FPDU": func(p *stranger.Endpoint, _ verbs.MemoryRegion) {
			p.PutBytes(p.Wire(p.DueSend(stranger.Send, []byte("abcdef"), 0)...)[:20])
		},
		"no CRC": func(p *stranger.Endpoint, mr verbs.MemoryRegion) {
			b := p.Wire(p.DueWrite(mr.RKey(), mr.RemoteAddr(), make([]byte, 4000))[0])
			p.PutBytes(b[:len(b)-4])
		},
		"an open Send": func(p *stranger.Endpoint, _ verbs.MemoryRegion) { p.Put(open1(p)) },
		"an open Write": func(p *stranger.Endpoint, mr verbs.MemoryRegion) {
			s := p.DueWrite(mr.RKey(), mr.RemoteAddr(), []byte("abc"))[0]
			s.Last = false
			p.Put(s)
		},
		"an open Write with segments of no bytes": func(p *stranger.Endpoint, mr verbs.MemoryRegion) {
			s := p.DueWrite(mr.RKey(), mr.RemoteAddr(), nil)[0]
			s.Last = false
			go func() {
				for e, ok := p.Poll(0); !ok || e.Kind == stranger.Message; e, ok = p.Poll(time.Millisecond) {
					p.Put(s)
				}
			}()
		},
		"an open Send with segments of no bytes": func(p *stranger.Endpoint, _ verbs.MemoryRegion) {
			s := open1(p)
			p.Put(s)
			s.MO, s.Payload = 3, nil
			go func() {
				for e, ok := p.Poll(0); !ok || e.Kind == stranger.Message; e, ok = p.Poll(time.Millisecond) {
					p.Put(s)
				}
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.SegmentTimeout, cfg.MessageTimeout = soon, soon
			h := newHost(t, open(t, cfg))
			mr := h.region("memory", make([]byte, 4096), everything)
			h.post(100)
			p := h.connect(false, stranger.Config{Startup: enhanced(true), MaxULPDU: 8000}, nil)
			put(p, mr)
			if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("reason %v", err)
			}
		})
	}
}

// A Send that comes before its Receive waits for it, if the Config says so.
func TestLateReceive(t *testing.T) {
	cfg := config()
	cfg.ReceiveTimeout = patience
	h := newHost(t, open(t, cfg))
	p := h.connect(false, stranger.Config{Startup: enhanced(true)}, nil)
	p.Send(stranger.Send, []byte("early"), 0)
	p.Send(stranger.Send, nil, 0)
	time.Sleep(time.Millisecond)
	h.post(10, 0)
	for _, want := range []string{"early", ""} {
		if b, _, err := h.message(); string(b) != want || err != nil {
			t.Errorf("message %q, %v, want %q", b, err, want)
		}
	}
}

// A15: a peer that sends beyond the Receives loses its connection, and another peer of the device
// keeps its own.
func TestA15SendsBeyondReceives(t *testing.T) {
	dev := open(t, config())
	neighbour, attacked := newHost(t, dev), newHost(t, dev)
	p := neighbour.connect(false, stranger.Config{Startup: enhanced(true)}, nil)
	for range 100 {
		attacked.post(1)
	}
	q := attacked.connect(false, stranger.Config{Startup: enhanced(false)}, nil)
	for range 5000 {
		q.Send(stranger.Send, []byte{1}, 0)
	}
	for range 100 {
		neighbour.post(10)
		p.Send(stranger.Send, []byte("honest"), 0)
		if b, _, err := neighbour.message(); string(b) != "honest" || err != nil {
			t.Fatalf("the neighbour: %q, %v", b, err)
		}
	}
	if err := attacked.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
		t.Errorf("reason %v", err)
	}
	for range 100 {
		if wc := attacked.next(); wc.Status != verbs.StatusSuccess {
			t.Fatalf("completion %+v", wc)
		}
	}
	if wc, err := attacked.wait(0); err == nil {
		t.Errorf("completion %+v", wc)
	}
}

// A18: a Read Request beyond the depth ends the connection, though the peer reads no Response.
func TestA18ReadsBeyondDepth(t *testing.T) {
	cfg := config()
	cfg.SendTimeout = soon
	h := newHost(t, open(t, cfg))
	mr := h.region("memory", make([]byte, 16<<20), everything)
	f := enhanced(false)
	f.ORD = 4
	p := h.connect(false, stranger.Config{Startup: f, Deaf: true}, &verbs.ConnParams{ResponderResources: 4})
	for range 4 + 1 {
		p.Read(stranger.Read{SinkSTag: 1, Size: 16 << 20, SourceSTag: mr.RKey(), SourceTO: mr.RemoteAddr()})
	}
	if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
		t.Errorf("reason %v", err)
	}
}

// A18: thousands of Read Requests within the depth are all answered in order.
func TestA18ManyReads(t *testing.T) {
	h := newHost(t, open(t, config()))
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i >> 4)
	}
	mr := h.region("memory", b, everything)
	f := enhanced(true)
	f.ORD = 16
	p := h.connect(false, stranger.Config{Startup: f, Regions: map[uint32]stranger.Region{1: {Bytes: make([]byte, 4096)}}}, nil)
	window, done := 0, 0
	for i := 0; done < 2000; {
		for ; window < 16 && i < 2000; window++ {
			at := uint64(i) % 256 * 16
			p.Read(stranger.Read{SinkSTag: 1, SinkTO: at, Size: 16, SourceSTag: mr.RKey(), SourceTO: mr.RemoteAddr() + at})
			i++
		}
		if e := p.Next(); e.Kind != stranger.ReadDone {
			t.Fatalf("%v after %d; %v", e, done, h.qp.Err())
		}
		window--
		done++
	}
	if got, _ := p.Memory(1); !bytes.Equal(got, b) {
		t.Error("other bytes were read")
	}
	noComplaints(t, p)
}

// A20: a peer that takes nothing is given up, and the host's requests are flushed.
func TestA20NothingTaken(t *testing.T) {
	cfg := config()
	cfg.SendTimeout = soon
	h := newHost(t, open(t, cfg))
	mr := h.region("memory", make([]byte, 1<<20), everything)
	p := h.connect(false, stranger.Config{Startup: enhanced(true), Deaf: true}, nil)
	p.Write(0, 0, nil)
	const posts = 64
	for range posts {
		h.must(h.send(verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: []verbs.SGE{{MR: mr, Length: 1 << 20}}, RKey: 1}))
	}
	if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
		t.Errorf("reason %v", err)
	}
	for range posts {
		h.next()
	}
}

// A16: a Read Response that does not go on, or only by segments of no bytes, ends the connection.
func TestA16OpenResponse(t *testing.T) {
	for _, empties := range []bool{false, true} {
		cfg := config()
		cfg.MessageTimeout = soon
		h := newHost(t, open(t, cfg))
		mr := h.region("sink", make([]byte, 16), verbs.AccessLocalWrite)
		p := h.connect(true, stranger.Config{Startup: enhanced(true), HoldReads: true, Regions: map[uint32]stranger.Region{5: {Bytes: make([]byte, 16), ReadOK: true}}}, nil)
		h.must(h.send(verbs.SendWR{Opcode: verbs.RDMARead, RKey: 5, SGL: []verbs.SGE{{MR: mr, Length: 16}}}))
		await(t, func() bool { return p.Waiting() == 1 })
		all := p.Received()
		r, err := stranger.ParseRead(all[len(all)-1].Payload)
		h.must(err)
		s := stranger.Segment{Tagged: true, DDPVersion: 1, RDMAPVersion: 1, Opcode: stranger.ReadResponse, STag: r.SinkSTag, TO: r.SinkTO}
		if !empties {
			s.Payload = []byte("abc")
			p.Put(s)
		}
		for limit := time.Now().Add(patience); empties && h.qp.State() == verbs.StateConnected; time.Sleep(time.Millisecond) {
			p.Put(s)
			if time.Now().After(limit) {
				t.Fatal("the connection still stands")
			}
		}
		if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Errorf("reason %v", err)
		}
		if wc := h.next(); wc.Status == verbs.StatusSuccess {
			t.Errorf("completion %+v", wc)
		}
	}
}
