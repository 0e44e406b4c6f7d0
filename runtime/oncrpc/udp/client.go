package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Conn makes Calls to one address. Dial makes one. All methods are safe for concurrent use.
type Conn struct {
	set   settings
	sock  *net.UDPConn // connected: the system drops datagrams of other addresses
	xids  oncrpc.XIDs
	slots chan struct{} // has an element for each Call in progress
	ctx   context.Context
	end   context.CancelCauseFunc
	wg    sync.WaitGroup // the reader

	mu    sync.Mutex
	calls map[uint32]*pending
	stats Stats
}

var _ oncrpc.Conn = (*Conn)(nil)

// Stats holds the counts of a Conn. They only grow.
type Stats struct {
	Retransmissions uint64 // Calls sent again
	StrayReplies    uint64 // datagrams that answer no Call in progress
}

// pending is a Call in progress.
type pending struct {
	call *oncrpc.Call
	done chan error // has room for one
}

// Dial returns a Conn to an address of the form that net.Dial has for "udp". Nothing is sent, so
// whether a server is there shows with the first Call. ctx bounds the call of Dial. cfg may be nil.
// The caller must Close the Conn.
func Dial(ctx context.Context, addr string, cfg *Config) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	set := cfg.settle()
	c := &Conn{set: set, sock: nc.(*net.UDPConn), slots: make(chan struct{}, set.MaxCalls), calls: make(map[uint32]*pending)}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.xids.Seed()
	c.wg.Add(1)
	go c.read()
	return c, nil
}

// Call implements oncrpc.Carrier. It sends the Call again until its reply comes, as
// Config.MinRetransmit says. A Call of more than MaxMessage bytes fails with ErrSize.
func (c *Conn) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if err := oncrpc.CheckCall(call); err != nil {
		return nil, err
	}
	sent, err := c.exchange(ctx, call)
	if err != nil {
		return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: sent, Err: err}
	}
	return &call.Reply, nil
}

// exchange sends a Call until it is over. sent reports whether the server may have received it.
func (c *Conn) exchange(ctx context.Context, call *oncrpc.Call) (sent bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	case <-c.ctx.Done():
		return false, c.Err()
	}
	defer func() { <-c.slots }()
	xid := call.XID()
	p := &pending{call: call, done: make(chan error, 1)}
	if err := c.begin(xid, p); err != nil {
		return false, err
	}
	pause := c.set.MinRetransmit
	timer := time.NewTimer(pause)
	defer timer.Stop()
	if pause == 0 {
		timer.Stop()
	}
	for times := 1; ; times++ {
		if err := c.send(call); err != nil {
			return sent, c.abandon(xid, p, err)
		}
		sent = true
		select {
		case err := <-p.done:
			return sent, err
		case <-ctx.Done():
			return sent, c.abandon(xid, p, unanswered(ctx.Err(), times))
		case <-c.ctx.Done():
			return sent, c.abandon(xid, p, c.Err())
		case <-timer.C:
		}
		if err := call.Again(ctx); err != nil { // R284: the same XID
			return sent, c.abandon(xid, p, err)
		}
		c.mu.Lock()
		c.stats.Retransmissions++
		c.mu.Unlock()
		pause = min(2*pause, c.set.MaxRetransmit)
		timer.Reset(pause)
	}
}

// unanswered returns the error of a Call whose context ended when it had been sent so many times.
// Nothing says why a datagram has no answer.
func unanswered(why error, times int) error {
	if !errors.Is(why, context.DeadlineExceeded) {
		return why
	}
	return fmt.Errorf("%w: no answer to a Call that was sent %d times: the network loses datagrams, or the server is slow, or ignores Calls beyond its limits (Config.MaxRequests, MaxMemory and ReplyRate there)", why, times)
}

// begin makes a Call one in progress.
func (c *Conn) begin(xid uint32, p *pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Err(); err != nil {
		return err
	}
	if c.calls[xid] != nil {
		return fmt.Errorf("%w: %#x", oncrpc.ErrXIDInUse, xid)
	}
	c.calls[xid] = p
	return nil
}

// abandon makes a Call return why, unless it has completed in the meantime.
func (c *Conn) abandon(xid uint32, p *pending, why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case err := <-p.done:
		return err
	default:
		delete(c.calls, xid)
		return why
	}
}

// send sends a Call once. The system may report an earlier datagram's error instead of sending this
// one, so send tries twice.
func (c *Conn) send(call *oncrpc.Call) error {
	if size := call.Size(nil); size > MaxMessage {
		return fmt.Errorf("%w: %d bytes, at most %d: call over TCP", ErrSize, size, MaxMessage)
	}
	b := joined(&call.Message)
	_, err := c.sock.Write(b)
	if err != nil {
		_, err = c.sock.Write(b)
	}
	if errors.Is(err, net.ErrClosed) {
		return oncrpc.ErrClosed
	}
	return err
}

// read reads replies until the Conn is closed. An error is a report from a router or the peer about
// one of our datagrams. It does not say which Call that was, so it fails all in progress, unless
// the next transmission may succeed: the system has learned the size of the path's packets.
func (c *Conn) read() {
	defer c.wg.Done()
	b := make([]byte, 1<<16)
	for {
		n, err := c.sock.Read(b)
		switch {
		case err == nil:
			c.receive(b[:n])
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.EMSGSIZE):
		case errors.Is(err, syscall.ECONNREFUSED):
			c.fail(fmt.Errorf("%w: %w", ErrRefused, err))
		default:
			c.fail(err)
		}
		time.Sleep(time.Millisecond) // a socket with an error that stays must not take a processor
	}
}

// receive completes the Call that a datagram answers.
func (c *Conn) receive(b []byte) {
	xid, typ, ok := oncrpc.Peek(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[xid]
	if !ok || typ != oncrpc.MsgReply || p == nil {
		c.stats.StrayReplies++
		return
	}
	r := &p.call.Reply
	*r = oncrpc.Reply{Items: r.Items[:0]}
	r.Message = append(p.call.ReplyBuf[:0:len(p.call.ReplyBuf)], b...)
	delete(c.calls, xid)
	p.done <- nil
}

// fail fails the Calls in progress.
func (c *Conn) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for xid, p := range c.calls {
		delete(c.calls, xid)
		p.done <- why
	}
}

// XID implements oncrpc.Carrier.
func (c *Conn) XID() uint32 { return c.xids.Next() }

// AllowReverse implements oncrpc.Conn. It has no effect.
func (c *Conn) AllowReverse() {}

// Peer implements oncrpc.Conn.
func (c *Conn) Peer() oncrpc.Peer { return oncrpc.Peer{Addr: c.RemoteAddr()} }

// RemoteAddr returns the address of the server.
func (c *Conn) RemoteAddr() string { return c.sock.RemoteAddr().String() }

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() string { return c.sock.LocalAddr().String() }

// Network returns "udp".
func (c *Conn) Network() string { return oncrpc.NetIDUDP }

// Done returns a channel that is closed by Close. Errors of the network fail Calls only.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns the reason why the Conn is down, or nil while it is not.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Stats returns the counts.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Close fails Calls in progress with oncrpc.ErrClosed.
func (c *Conn) Close() error {
	c.end(oncrpc.ErrClosed)
	err := c.sock.Close()
	c.wg.Wait()
	if errors.Is(err, net.ErrClosed) { // it was closed before
		return nil
	}
	return err
}
