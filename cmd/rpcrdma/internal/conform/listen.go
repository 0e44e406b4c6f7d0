package conform

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rawpeer"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// maxConns is the number of connections that a client may make.
const maxConns = 10_000

// Listener tests one client, which calls the program CONFORM_CLIENT. Listen makes one.
type Listener struct {
	session *session
	carrier Carrier
	wait    time.Duration
	addr    string

	stream net.Listener
	dgram  net.PacketConn
	rdma   verbs.Listener
	device verbs.Device
	work   sync.WaitGroup
}

// Listen opens an address for a client, and tests it with the cases of the carrier. dev is for RDMA
// only. The client may take wait for a case. The caller must call Run, which closes the address.
func Listen(ctx context.Context, carrier Carrier, dev verbs.Device, addr string, wait time.Duration, cases []Reply) (*Listener, error) {
	l := &Listener{session: newSession(cases), carrier: carrier, wait: wait, device: dev}
	var err error
	switch carrier {
	case RDMA:
		if l.rdma, err = dev.Listen(ctx, addr); err == nil {
			l.addr = l.rdma.Addr()
		}
	case UDP:
		if l.dgram, err = new(net.ListenConfig).ListenPacket(ctx, "udp", addr); err == nil {
			l.addr = l.dgram.LocalAddr().String()
		}
	default:
		if l.stream, err = new(net.ListenConfig).Listen(ctx, "tcp", addr); err == nil {
			l.addr = l.stream.Addr().String()
		}
	}
	return l, err
}

// Addr returns the address.
func (l *Listener) Addr() string { return l.addr }

// Run serves the client until all cases are over, and passes each result to report, on the
// goroutine of the caller. The error is ErrGone or the context's.
func (l *Listener) Run(ctx context.Context, report func(*Result)) (err error) {
	ctx, stop := context.WithCancel(ctx)
	l.work.Add(1)
	go func() {
		defer l.work.Done()
		l.accept(ctx)
	}()
	look := time.NewTicker(max(l.wait/4, time.Millisecond))
	defer look.Stop()
	for over := false; !over; {
		select {
		case r := <-l.session.results:
			report(r)
		case <-l.session.done:
			over = true
		case <-ctx.Done():
			err, over = ctx.Err(), true
		case <-look.C:
			err = l.session.silent(l.wait)
			over = err != nil
		}
	}
	if err == nil {
		l.linger()
	}
	stop()
	l.close()
	l.work.Wait()
	close(l.session.results)
	for r := range l.session.results {
		report(r)
	}
	return err
}

// linger gives the client time to read the last answer.
func (l *Listener) linger() { time.Sleep(quiet) }

// close closes the address, which ends accept.
func (l *Listener) close() {
	switch { // errors do not matter: the run is over
	case l.stream != nil:
		_ = l.stream.Close()
	case l.dgram != nil:
		_ = l.dgram.Close()
	default:
		_ = l.rdma.Close()
	}
}

// accept serves each connection.
func (l *Listener) accept(ctx context.Context) {
	if l.dgram != nil {
		l.datagrams()
		return
	}
	for range maxConns {
		var w wire
		if l.stream != nil {
			nc, err := l.stream.Accept()
			if err != nil {
				return
			}
			w = &stream{nc: nc}
		} else {
			p, err := rawpeer.New(l.device, receives, receiveSize, nil)
			if err == nil {
				err = p.Accept(ctx, l.rdma, nil)
			}
			w = &rdma{Peer: p}
			if err != nil {
				w.close()
				return
			}
		}
		l.work.Add(1)
		go func() {
			defer l.work.Done()
			defer w.close()
			l.serve(ctx, w)
		}()
	}
}

// serve answers the calls of a connection.
func (l *Listener) serve(ctx context.Context, w wire) {
	before := uint32(0)
	for ctx.Err() == nil {
		b, err := w.receive(time.Now().Add(quiet))
		if err == errSilent {
			continue
		}
		if err != nil {
			return
		}
		message, lists := b, []uint32(nil)
		if r, ok := w.(*rdma); ok {
			message, lists = r.call(b)
		}
		for _, a := range l.session.answer(message, before) {
			if a.close {
				return
			}
			if err := put(w, a, lists); err != nil {
				return
			}
		}
		before, _ = xidOf(message)
	}
}

// put sends a part of an answer. Over RDMA it has the lists of the call, unused.
func put(w wire, a act, lists []uint32) error {
	until := time.Now().Add(time.Second)
	if _, ok := w.(*rdma); ok {
		xid, _ := xidOf(a.send)
		return w.write(append(header(xid, 0, lists...), a.send...), until)
	}
	if a.raw {
		return w.write(a.send, until)
	}
	return w.send(a.send, until)
}

// call returns the RPC message in a message, and the lists of an answer that uses none of its
// chunks (RFC 8166 §4.3.2, §4.3.3). A long call gives no message.
func (r *rdma) call(b []byte) (message []byte, lists []uint32) {
	m, err := rawpeer.Parse(string(b))
	if err != nil || m.Kind != rawpeer.Call || m.Long {
		return nil, nil
	}
	lists = append(lists, 0)
	segments := func(list []rawpeer.Segment) {
		lists = append(lists, 1, uint32(len(list)))
		for _, s := range list {
			lists = append(lists, s.Key, 0, uint32(s.Addr>>32), uint32(s.Addr))
		}
	}
	for _, c := range m.Writes {
		segments(c)
	}
	lists = append(lists, 0)
	if m.ReplyChunk != nil {
		segments(m.ReplyChunk)
	} else {
		lists = append(lists, 0)
	}
	return b[len(b)-m.Inline:], lists
}

// datagrams answers the calls of all sources.
func (l *Listener) datagrams() {
	before, last := uint32(0), uint32(0)
	b := make([]byte, 64<<10)
	for {
		n, from, err := l.dgram.ReadFrom(b)
		if from == nil && err != nil {
			return
		}
		xid, _ := xidOf(b[:n])
		if xid != last {
			before, last = last, xid
		}
		for _, a := range l.session.answer(b[:n], before) {
			_, _ = l.dgram.WriteTo(a.send, from) // a lost datagram: the client sends its call again
		}
	}
}
