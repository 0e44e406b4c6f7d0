package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
)

// HandshakeInput is the most that Conn.Need can return during the set-up, in bytes.
const HandshakeInput = 2 << 10

const (
	trailerSize = 4                      // bytes of the checksum
	padding     = 3                      // the most bytes of padding
	aheadBehind = 1 << 10                // bytes read ahead after a long message
	lingerTime  = time.Second            // for the peer to read the reason for the close
	lingerWrite = 200 * time.Millisecond // for a write after the end
)

// Conn is the byte stream of a connection, with the state of its two directions.
type Conn struct {
	dev  *Device
	conn net.Conn
	tcp  *net.TCPConn    // conn, if it is plain TCP; else nil
	raw  syscall.RawConn // the same, if the system has calls that do not wait; else nil

	// Receiving: used by the reader only, which is the goroutine with the turn.
	arrival arrival
	input   inputBuffer
	noWait  bool      // read returns errIdle rather than wait
	armed   time.Time // the read deadline that is set, if any
	limit   time.Time // the read deadline that applies, if any
	framer  Framer    // nil during the set-up
	sum     func(sum uint32, b []byte) uint32
	open    openTime

	// The same, of a caller in the reader's place (queuePair.Progress).
	turn   *turn       // the queue pair's
	done   func() bool // of Progress; else nil
	atHand bool        // read returns errLeave at once

	// Sending: used by the token's holder only (see sender).
	truncated bool // a frame was written in part and cannot be finished
	attempt   attempt

	probes deadpeer.Probes

	// Set by other goroutines.
	closing        atomic.Bool // stop was called
	interruptRead  atomic.Bool // release registered memory
	interruptWrite atomic.Bool

	// Set by each direction before it pins memory for longer than a copy takes, and
	// cleared after it has released it.
	placing atomic.Bool
	sending atomic.Bool
}

// past is a deadline that has passed: it interrupts a read or write.
var past = time.Unix(1, 0)

// Reasons for an interrupted read or write.
var (
	errClosing     = errors.New("the connection is closing")
	errInterrupted = errors.New("interrupted to release registered memory")
	errIdle        = errors.New("no further input at hand")
	errLeave       = errors.New("a caller leaves the input to the reader")
	errSlow        = errors.New("the peer is too slow")
)

func newConn(d *Device, conn net.Conn) *Conn {
	deadpeer.Watch(conn, d.cfg.PeerTimeout)
	c := &Conn{dev: d, conn: conn, input: inputBuffer{buf: make([]byte, HandshakeInput), readAhead: inputSize}}
	if tcp, ok := conn.(*net.TCPConn); ok {
		c.tcp = tcp
		if raw, err := tcp.SyscallConn(); err == nil && canTry {
			c.raw = raw
		}
	}
	return c
}

// interrupt makes both directions release registered memory that they hold while they
// wait for the peer. Invalidate has marked the region invalid before, so they cannot pin
// it again.
func (c *Conn) interrupt() {
	if c.placing.Load() {
		c.interruptRead.Store(true)
		c.conn.SetReadDeadline(past)
	}
	// Other streams send from a copy, and an interrupted TLS write cannot be continued.
	if c.sending.Load() && c.tcp != nil {
		c.interruptWrite.Store(true)
		c.conn.SetWriteDeadline(past)
	}
}

// stop ends both directions. A write in progress has lingerWrite to finish.
func (c *Conn) stop() {
	c.closing.Store(true)
	c.conn.SetReadDeadline(past)
	c.conn.SetWriteDeadline(time.Now().Add(lingerWrite))
}

// setLimit sets the time by which the bytes that are read from now on must have
// arrived. The zero time means no limit.
func (c *Conn) setLimit(limit time.Time) { c.limit = limit }

// read reads bytes into dst, and up to room further bytes into the input buffer, which
// is empty: always if dst is nil, otherwise where one system call can do both. It
// returns the number of bytes in dst, or of all bytes if dst is nil.
//
// holding says that dst is registered memory: then interrupt makes read return
// errInterrupted. If noWait is set, read returns errIdle rather than wait.
func (c *Conn) read(dst []byte, room int, holding bool) (n int, err error) {
	for {
		if !c.armed.Equal(c.limit) && (!c.limit.IsZero() || c.armed.Equal(past)) {
			c.conn.SetReadDeadline(c.limit)
			c.armed = c.limit
		}
		// Checked after SetReadDeadline, which may have undone the deadline that these set.
		if c.closing.Load() {
			return 0, errClosing
		}
		if c.interruptRead.Swap(false) {
			c.armed = past
			if holding {
				return 0, errInterrupted
			}
			continue
		}
		if c.atHand || c.done != nil && (c.done() || c.turn.recalled.Load()) {
			return 0, errLeave
		}
		if room > 0 && c.raw != nil && (dst == nil || holding && canScatter) {
			n, err = c.arrive(dst, room)
		} else if c.noWait {
			return 0, errIdle
		} else {
			n, err = c.conn.Read(dst)
		}
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			continue
		case errors.Is(err, tlsstream.ErrSlow):
			return 0, errSlow
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case !c.limit.IsZero() && !time.Now().Before(c.limit):
			return 0, errSlow
		}
		c.armed = past // set by interrupt or stop, or a limit that no longer applies
	}
}

// need returns the next n bytes without consuming them: skip does that. It reads ahead
// until they have arrived. At the end of the stream it returns io.EOF, or
// io.ErrUnexpectedEOF if some bytes are left.
func (c *Conn) need(n int) ([]byte, error) {
	in := &c.input
	if in.w-in.r >= n {
		return in.buf[in.r : in.r+n], nil
	}
	switch {
	case in.buf != nil && in.readAhead > len(in.buf):
		in.borrow()
	case in.r > 0 && in.r+n > len(in.buf) || in.r == in.w:
		in.w = copy(in.buf, in.buf[in.r:in.w])
		in.r = 0
	}
	for in.w-in.r < n {
		size := len(in.buf)
		if in.buf == nil {
			size = max(inputSize, in.readAhead) // the size of the buffer to be borrowed
		}
		room := min(size-in.w, max(n-(in.w-in.r), in.readAhead))
		var dst []byte
		if in.w > 0 || c.raw == nil {
			dst = in.buf[in.w:][:room]
		}
		k, err := c.read(dst, room, false)
		in.w += k
		in.filled = k == room
		if err == io.EOF && in.w > in.r {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return in.buf[in.r : in.r+n], nil
}

// send writes a batch and waits for the peer to take it. When it is interrupted, it
// copies what remains and calls release, which unpins the regions.
func (c *Conn) send(b *batch, release func()) error {
	secured, _ := c.conn.(*tlsConn)
	switch {
	case secured != nil:
		if err := encrypt(secured, b); err != nil {
			c.truncated = true
			return err
		}
		release()
	case c.tcp == nil && len(b.pay) > 0:
		b.copyRest()
		release()
	}
	limit := time.Now().Add(c.dev.cfg.SendTimeout)
	for {
		closing := c.closing.Load()
		if closing {
			limit = time.Now().Add(lingerWrite)
		}
		c.conn.SetWriteDeadline(limit)
		if c.closing.Load() != closing {
			continue // stop has set another deadline, which this one may have replaced
		}
		if c.interruptWrite.Swap(false) {
			b.copyRest()
			release()
			continue
		}
		var err error
		if secured != nil {
			err = secured.Flush()
		} else if c.tcp != nil {
			_, err = b.bufs.WriteTo(c.tcp)
		} else {
			err = b.writeEach(c.conn)
		}
		switch {
		case err == nil:
			c.conn.SetWriteDeadline(time.Time{}) // it would make a later try fail
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			c.truncated = true
			return err
		case closing:
			c.truncated = true
			return errClosing
		case !time.Now().Before(limit):
			c.truncated = true
			return errSlow
		}
		// The deadline of interrupt or stop: handled at the start of the loop.
	}
}

// hangup closes a connection, which Device.last counts: it sends last, closes the sending
// direction, and waits up to lingerTime for the peer to close its own.
func (c *Conn) hangup(last []byte) {
	defer c.dev.drop(c.conn)
	c.conn.SetDeadline(time.Now().Add(lingerTime))
	if !c.sendLast(last) {
		return
	}
	// Closing a connection with unread input would reset it, and the peer might lose
	// what it has not read yet.
	buf := make([]byte, HandshakeInput)
	for left := 64 << 20; left > 0; {
		n, err := c.conn.Read(buf)
		if left -= n; err != nil {
			return
		}
	}
}

// sendLast sends last and closes the sending direction. It returns false if it cannot.
func (c *Conn) sendLast(last []byte) bool {
	defer c.dev.last.Done()
	if len(last) > 0 {
		if _, err := c.conn.Write(last); err != nil {
			return false
		}
	}
	half, ok := c.conn.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}
