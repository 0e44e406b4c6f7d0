package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// rawPeer is a connection of a queue pair whose peer is the test.
type rawPeer struct {
	t        *testing.T
	q        *queuePair
	mr       verbs.MemoryRegion
	cq       verbs.CompletionQueue
	conn     net.Conn
	f        *toyFramer   // makes the peer's frames
	notified chan uint32  // the state of the turn at each notification
	until    atomic.Int32 // a caller is done with so many entries in notified
}

// framing is a toy with another Framer.
type framing struct {
	*toy
	wrap func(*toyFramer) Framer
}

func (f framing) Connect(c *Conn, p *verbs.ConnParams) (*Session, error) {
	s, err := f.toy.Connect(c, p)
	if err == nil && f.wrap != nil {
		s.Framer = f.wrap(s.Framer.(*toyFramer))
	}
	return s, err
}

// newRawPeer returns a connected peer with receives Receives, whose turn is free.
func newRawPeer(t *testing.T, receives int, wrap func(*toyFramer) Framer) *rawPeer {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := toyConfig(1 << 15)
	cfg.ReceiveTimeout = time.Hour // the test posts Receives when it has seen a message
	shared := cfg.Framing.(*toy)
	cfg.Framing = framing{shared, wrap}
	dev := openToy(t, cfg)
	p := &rawPeer{t: t, f: &toyFramer{toy: shared}, notified: make(chan uint32, 100)}
	pd, err := dev.AllocPD()
	must(err)
	p.cq, err = dev.CreateCQ(64, func() {
		p.notified <- p.q.reader.turn.state.Load()
		p.arm()
	})
	must(err)
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, MaxSendWR: 4, MaxRecvWR: 32})
	must(err)
	p.q = qp.(*queuePair)
	p.mr, err = pd.RegisterMemory(make([]byte, 1<<16), verbs.AccessLocalWrite)
	must(err)
	ln, err := net.Listen("tcp", local)
	must(err)
	dialed := make(chan error, 1)
	go func() {
		_, err := dev.Dial(context.Background(), ln.Addr().String(), qp, &verbs.ConnParams{InitiatorDepth: 4})
		dialed <- err
	}()
	p.conn, err = ln.Accept()
	must(err)
	must(ln.Close())
	_, err = io.ReadFull(p.conn, make([]byte, toyHello))
	must(err)
	_, err = p.conn.Write(shared.hello(0, &verbs.ConnParams{ResponderResources: 4}))
	must(err)
	_, err = io.ReadFull(p.conn, make([]byte, toyHeader+trailerSize))
	must(err)
	must(<-dialed)
	t.Cleanup(func() {
		p.conn.Close()
		closeAll(t, qp.Close, p.mr.Deregister, p.cq.Close, pd.Close, dev.Close)
	})
	p.arm()
	p.q.reader.turn.moment = time.Minute // the reader gets no turn back by itself
	p.recvs(receives)
	return p
}

// offer makes the turn free.
func (p *rawPeer) offer() {
	p.t.Helper()
	state := &p.q.reader.turn.state
	for state.Load() != turnFree {
		p.q.reader.turn.wanted.Store(true)
		p.recvs(1)
		p.write(p.send(8, true))
		for wcs := make([]verbs.WC, 1); ; runtime.Gosched() {
			if n, err := p.cq.Poll(wcs); err != nil {
				p.t.Fatal(err)
			} else if n > 0 {
				break
			}
			if state.Load() == turnFree { // and the frame may have come after that
				p.q.Resume()
			}
		}
	}
	for len(p.notified) > 0 {
		<-p.notified
	}
}

func (p *rawPeer) arm() {
	if err := p.cq.Arm(false); err != nil && !errors.Is(err, verbs.ErrClosed) {
		p.t.Error(err)
	}
}

func (p *rawPeer) recvs(n int) {
	p.t.Helper()
	for range n {
		if _, err := p.q.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: p.mr, Length: 1 << 15}}}}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// send returns a frame of a Send with n bytes of payload, the only one or the first.
func (p *rawPeer) send(n int, last bool) []byte {
	flags := byte(0)
	if last {
		flags = toyLast
	}
	return p.sum(append(p.f.put(nil, n, KindSend, flags, 1, 0, 0, 0), make([]byte, n)...))
}

func (p *rawPeer) sum(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, toySum(0, b)) }

func (p *rawPeer) write(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// take gives the turn to a caller, which runs Progress until n messages have arrived.
func (p *rawPeer) take(n int) (returned chan struct{}) {
	p.t.Helper()
	p.offer()
	returned = make(chan struct{})
	p.until.Store(int32(n))
	go func() {
		p.q.Progress(func() bool { return p.until.Load() <= int32(len(p.notified)) })
		close(returned)
	}()
	for p.q.reader.turn.state.Load() == turnFree {
		runtime.Gosched()
	}
	return returned
}

// wait returns how often the completion queue has notified when n messages have arrived, and how
// often on the goroutine of a caller.
func (p *rawPeer) wait(n int) (notified, byCaller int) {
	p.t.Helper()
	wcs := make([]verbs.WC, 1)
	limit := time.Now().Add(10 * time.Second)
	for got := 0; got < n; {
		k, err := p.cq.Poll(wcs)
		if err != nil {
			p.t.Fatal(err)
		}
		if k > 0 && wcs[0].Status != verbs.StatusSuccess {
			p.t.Fatalf("completion %+v", wcs[0])
		}
		if got += k; k == 0 && time.Now().After(limit) {
			p.t.Fatalf("%d of %d messages have arrived", got, n)
		}
		if k == 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	for range len(p.notified) {
		notified++
		if by := <-p.notified; by == turnCaller {
			byCaller++
		}
	}
	return notified, byCaller
}

// shortWire says that frames are shorter than they are.
type shortWire struct{ *toyFramer }

func (s shortWire) Wire(prefix []byte) int { return s.toyFramer.Wire(prefix) - 4 }

// Input that is not at hand as a whole, or might make a caller wait, is handed back to the reader,
// which continues where the caller was.
func TestProgressHandsBack(t *testing.T) {
	for _, c := range []struct {
		name string
		wrap func(*toyFramer) Framer
		run  func(p *rawPeer, returned chan struct{})
	}{
		{"a part of a frame", nil, func(p *rawPeer, returned chan struct{}) {
			b := p.send(100, true)
			p.write(b[:60])
			returns(p.t, "Progress", returned)
			p.write(b[60:])
			p.wait(1)
		}},
		{"a byte", nil, func(p *rawPeer, returned chan struct{}) {
			b := p.send(100, true)
			p.write(b[:1])
			returns(p.t, "Progress", returned)
			p.write(b[1:])
			p.wait(1)
		}},
		{"a long frame", nil, func(p *rawPeer, returned chan struct{}) {
			p.write(p.send(5000, true))
			returns(p.t, "Progress", returned)
			p.wait(1)
		}},
		{"a message of several frames", nil, func(p *rawPeer, returned chan struct{}) {
			p.write(p.send(100, false))
			returns(p.t, "Progress", returned)
			p.write(p.sum(append(p.f.put(nil, 4, KindSend, toyLast, 1, 0, 100, 0), 1, 2, 3, 4)))
			p.wait(1)
		}},
		{"a frame longer than its prefix says", func(f *toyFramer) Framer { return shortWire{f} }, func(p *rawPeer, returned chan struct{}) {
			b := p.send(100, true)
			p.write(b[:len(b)-4])
			returns(p.t, "Progress", returned)
			p.write(b[len(b)-4:])
			p.wait(1)
		}},
		{"a message and a part of one", nil, func(p *rawPeer, returned chan struct{}) {
			b := p.send(100, true)
			p.write(append(p.send(100, true), b[:60]...))
			returns(p.t, "Progress", returned)
			p.wait(1) // its notification is not held back
			p.write(b[60:])
			p.wait(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newRawPeer(t, 12, c.wrap)
			for range 3 {
				c.run(p, p.take(100))
				if s := p.q.reader.turn.state.Load(); s != turnReader {
					t.Errorf("state %d, want the reader's", s)
				}
			}
		})
	}
}

// A caller handles whole frames. The notifications run on its own goroutine, one for all frames
// that came together.
func TestProgressAtHand(t *testing.T) {
	p := newRawPeer(t, 16, nil)
	for range 8 {
		returned := p.take(1)
		p.write(append(p.send(100, true), p.send(4096, true)...))
		returns(t, "Progress", returned)
		if notified, byCaller := p.wait(2); notified == 0 || notified != byCaller {
			t.Errorf("%d notifications, %d on the goroutine of the caller", notified, byCaller)
		}
		if s := p.q.reader.turn.state.Load(); s != turnFree {
			t.Fatalf("state %d, want a free turn", s)
		}
		p.q.Resume()
	}
}

// A caller does not wait for a Receive. The reader does.
func TestProgressNoReceive(t *testing.T) {
	p := newRawPeer(t, 0, nil)
	returned := p.take(1)
	p.write(p.send(8, true))
	returns(t, "Progress", returned)
	p.recvs(1)
	p.wait(1)
}

// The end of the stream, and faults in it, that a caller finds are those that the reader would
// find.
func TestProgressErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(p *rawPeer)
		want error
	}{
		{"end", func(p *rawPeer) { p.conn.Close() }, verbs.ErrPeerDisconnected},
		{"reset", func(p *rawPeer) {
			p.conn.(*net.TCPConn).SetLinger(0)
			p.conn.Close()
		}, verbs.ErrConnectionBroken},
		{"end inside a frame", func(p *rawPeer) {
			p.write(p.send(100, true)[:50])
			p.conn.Close()
		}, io.ErrUnexpectedEOF},
		{"wrong sum", func(p *rawPeer) {
			b := p.send(100, true)
			b[50]++
			p.write(b)
		}, errToy},
		{"broken rule", func(p *rawPeer) {
			p.write(p.sum(p.f.put(nil, 0, KindReadResponse, toyLast, 1, 0, 0, 0)))
		}, errToy},
		{"Disconnect", func(p *rawPeer) { p.q.Disconnect() }, verbs.ErrDisconnected},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newRawPeer(t, 1, nil)
			returned := p.take(100)
			c.run(p)
			returns(t, "Progress", returned)
			select {
			case <-p.q.ended:
			case <-time.After(leak.Patience()):
				t.Fatal("the connection has not ended")
			}
			if err := p.q.Err(); !errors.Is(err, c.want) {
				t.Errorf("the connection ended with %v, want %v", err, c.want)
			}
		})
	}
}

// An interrupt that comes when no caller waits any more disturbs no read after it.
func TestProgressLateInterrupt(t *testing.T) {
	p := newRawPeer(t, 20, nil)
	for i := range 16 {
		p.offer()
		if i%2 == 0 {
			p.q.Resume()
		}
		p.q.reader.interruptCaller()
		returned := make(chan struct{})
		go func() {
			p.q.Progress(func() bool { return len(p.notified) > 0 })
			close(returned)
		}()
		p.write(p.send(8, true))
		returns(t, "Progress", returned)
		p.wait(1)
		p.q.Resume()
	}
}

// Wake makes a caller look at its reason to return.
func TestProgressWake(t *testing.T) {
	p := newRawPeer(t, 0, nil)
	for range 20 {
		returned := p.take(100)
		for !p.q.reader.turn.isWaiting() {
			runtime.Gosched()
		}
		p.q.Wake() // it has no reason to leave
		p.until.Store(0)
		p.q.Wake()
		returns(t, "Progress", returned)
		if s := p.q.reader.turn.state.Load(); s != turnFree {
			t.Fatalf("state %d, want a free turn", s)
		}
		p.q.Resume()
	}
}

// A caller that waits longer than a moment hands its turn back.
func TestProgressRecall(t *testing.T) {
	p := newRawPeer(t, 1, nil)
	p.q.reader.turn.moment = moment
	for range 10 {
		asked := false
		for limit := time.Now().Add(leak.Patience()); !asked; {
			if time.Now().After(limit) {
				t.Fatal("no caller has waited for input")
			}
			p.q.reader.turn.wanted.Store(true)
			p.recvs(1)
			p.write(p.send(8, true))
			p.wait(1)
			returned := make(chan struct{})
			go func() {
				p.q.Progress(func() bool {
					asked = true
					return false
				})
				close(returned)
			}()
			returns(t, "Progress", returned)
		}
	}
}

// A caller that is never done returns although the peer sends one small message after the other.
func TestProgressTrickle(t *testing.T) {
	p := newRawPeer(t, 32, nil)
	p.q.reader.turn.moment = moment
	left := make(chan bool)
	go func() {
		defer close(left)
		for range 10 {
			for asked := false; !asked; {
				p.q.reader.turn.wanted.Store(true)
				p.q.Progress(func() bool {
					asked = true
					return false
				})
			}
		}
	}()
	frame, wcs := p.send(8, true), make([]verbs.WC, 32)
	for {
		select {
		case <-left:
			return
		case <-p.notified:
		default:
		}
		n, err := p.cq.Poll(wcs)
		if err != nil {
			t.Fatal(err)
		}
		p.recvs(n)
		p.write(frame)
		time.Sleep(10 * time.Microsecond)
	}
}

// When this side posts a Read, the reader gets the turn back. It keeps it while a Read is
// outstanding.
func TestProgressRead(t *testing.T) {
	p := newRawPeer(t, 1, nil)
	p.offer()
	if _, err := p.q.PostSend([]verbs.SendWR{{Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: p.mr, Length: 8}}, RKey: 1}}); err != nil {
		t.Fatal(err)
	}
	if s := p.q.reader.turn.state.Load(); s != turnReader {
		t.Errorf("state %d after a Read, want the reader's", s)
	}
	returned := p.take(100)
	p.write(p.send(8, true))
	returns(t, "Progress", returned)
	p.wait(1)
}
