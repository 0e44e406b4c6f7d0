package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// datagram is one transmission of a Call. It has a copy of the message, so that the Call may be
// over before the write is.
type datagram struct {
	of     *pending
	serial uint64
	xid    uint32
	bytes  *[]byte
}

// copies has memory for datagrams.
var copies = sync.Pool{New: func() any { return new([]byte) }}

// datagram counts a transmission of a Call, and sets the time of the next one. The lock must be
// held, and the message must fit.
func (c *Conn) datagram(p *pending) datagram {
	if p.times++; p.times > 1 {
		c.stats.Retransmissions++
	}
	if p.pause > 0 {
		c.resends.Add(time.Now().Add(p.pause), p, &p.again)
		p.pause = min(2*p.pause, c.set.MaxRetransmit)
	}
	if s := p.call.Steps; s != nil {
		s.Sent = time.Now() // not after the write: the reply may come before it returns
	}
	b := copies.Get().(*[]byte)
	*b = append((*b)[:0], joined(&p.call.Message)...)
	return datagram{of: p, serial: p.serial, xid: p.xid, bytes: b}
}

// send writes the datagram. The system may report an earlier datagram's error instead of sending
// this one, so send tries twice.
func (d datagram) send(sock *net.UDPConn) error {
	_, err := sock.Write(*d.bytes)
	if err != nil {
		_, err = sock.Write(*d.bytes)
	}
	copies.Put(d.bytes)
	if errors.Is(err, net.ErrClosed) {
		return oncrpc.ErrClosed
	}
	return err
}

// has reports whether the Call of a datagram is in progress. The lock must be held.
func (c *Conn) has(d datagram) bool { return c.calls.Get(d.xid) == d.of && d.of.serial == d.serial }

// transmit sends a Call for the first time or again. If that fails, so does the Call.
func (c *Conn) transmit(d datagram) {
	err := d.send(c.sock)
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.has(d) {
		if d.of.times == 1 {
			d.of.times = 0 // it was not sent
		}
		c.conclude(d.of, err)
	}
}

// sendAgain sends the Calls again whose time has come.
func (c *Conn) sendAgain() {
	for {
		c.mu.Lock()
		p := c.resends.Expired(time.Now())
		if p == nil {
			c.mu.Unlock()
			break
		}
		if p.call.Renew != nil {
			p.renewing = true
			c.renewals++
			c.mu.Unlock()
			go c.renew(p)
			continue
		}
		d := c.datagram(p)
		c.mu.Unlock()
		c.transmit(d)
	}
	c.proceed()
}

// renew sends a Call again that has another message each time. R284: the same XID
func (c *Conn) renew(p *pending) {
	err, returned := error(nil), false
	defer func() { // also if Renew exits the goroutine
		if !returned {
			fault := oncrpc.Panicked(recover())
			c.set.faults.Error("udp: Renew of a Call panicked", "peer", c.RemoteAddr(), "panic", fault.Value, "stack", fault.Frames())
			err = fault
		}
		c.renewed(p, err)
	}()
	ctx := p.ctx
	if at := p.call.Deadline; p.finished != nil && !at.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at)
		defer cancel()
	}
	if err = p.call.Again(ctx); err == nil {
		err = checkSize(p.call)
	}
	returned = true
}

// renewed is called when Renew has returned err: it sends the Call again, unless that is over.
func (c *Conn) renewed(p *pending, err error) {
	c.mu.Lock()
	p.renewing = false
	c.renewals--
	var d datagram
	switch {
	case p.over:
		c.settle(p)
	case err != nil:
		c.conclude(p, err)
	default:
		d = c.datagram(p)
	}
	c.wake.Broadcast()
	c.mu.Unlock()
	if d.of != nil {
		c.transmit(d)
	}
	c.proceed()
}

// checkSize returns an error if a Call does not fit in a datagram.
func checkSize(call *oncrpc.Call) error {
	if size := call.Size(nil); size > MaxMessage {
		return fmt.Errorf("%w: %d bytes, at most %d: call over TCP", ErrSize, size, MaxMessage)
	}
	return nil
}
