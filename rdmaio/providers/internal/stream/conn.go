package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
)

// HandshakeInput is the most that Conn.Need can return during the set-up, in bytes.
const HandshakeInput = 2 << 10

const (
	inputSize   = 16 << 10               // bytes of the input buffer, after the set-up
	longInput   = 64 << 10               // bytes of it in a stream of staged frames
	trailerSize = 4                      // bytes of the checksum
	padding     = 3                      // the most bytes of padding
	aheadBehind = 1 << 10                // bytes read ahead behind a long message
	lingerTime  = time.Second            // for the peer to read why the connection ends
	lingerWrite = 200 * time.Millisecond // for a write after the connection has ended
)

// Conn is the byte stream of a connection, with the state of its two directions.
type Conn struct {
	dev  *Device
	conn net.Conn
	tcp  *net.TCPConn    // conn, if it is plain TCP; else nil
	raw  syscall.RawConn // the same, if the system has calls that do not wait; else nil

	// Receiving: used by the reader only, which is the goroutine with the turn. If raw is not
	// nil, buf is borrowed when bytes have arrived and returned when it is empty; it is nil in
	// between.
	arrival   arrival
	buf       []byte
	r, w      int       // buf[r:w] was read ahead
	next      int       // size of the frame that begins at r, if known: see frameBuffered
	readAhead int       // bytes to read ahead: few among long frames
	filled    bool      // the last read ahead got as much as it could
	noWait    bool      // read returns errIdle rather than wait
	armed     time.Time // the read deadline that is set, if any
	limit     time.Time // the read deadline that applies, if any
	framer    Framer    // nil during the set-up
	sum       func(sum uint32, b []byte) uint32
	openSince time.Time // start of the time in which there always was an open message
	openBytes int64     // payload that has arrived since then

	// The same, of a caller in the reader's place (queuePair.Progress).
	turn   *turn       // the queue pair's
	done   func() bool // of Progress; else nil
	atHand bool        // read returns errLeave at once

	// Sending: used by the token's holder only (see queuePair.sending).
	truncated bool // a frame was written in part and cannot be finished
	attempt   attempt

	// Set by other goroutines.
	closing        atomic.Bool // the connection ends
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
	c := &Conn{dev: d, conn: conn, buf: make([]byte, HandshakeInput), readAhead: inputSize}
	if tcp, ok := conn.(*net.TCPConn); ok {
		c.tcp = tcp
		if raw, err := tcp.SyscallConn(); err == nil && canTry {
			c.raw = raw
		}
	}
	return c
}

// inputs and longInputs are the input buffers that no connection has borrowed.
var (
	inputs     = sync.Pool{New: func() any { return new([inputSize]byte) }}
	longInputs = sync.Pool{New: func() any { return new([longInput]byte) }}
)

// borrowInput replaces the input buffer by one of the size that the read-ahead needs.
func (c *Conn) borrowInput() {
	var buf []byte
	if c.readAhead > inputSize {
		buf = longInputs.Get().(*[longInput]byte)[:]
	} else {
		buf = inputs.Get().(*[inputSize]byte)[:]
	}
	w := copy(buf, c.buf[c.r:c.w])
	c.returnInput()
	c.buf, c.w = buf, w
}

// returnInput returns the input buffer. What it has is lost.
func (c *Conn) returnInput() {
	switch len(c.buf) {
	case inputSize:
		inputs.Put((*[inputSize]byte)(c.buf))
	case longInput:
		longInputs.Put((*[longInput]byte)(c.buf))
	}
	c.buf, c.r, c.w = nil, 0, 0
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
	if c.w-c.r >= n {
		return c.buf[c.r : c.r+n], nil
	}
	switch {
	case c.buf != nil && c.readAhead > len(c.buf):
		c.borrowInput()
	case c.r > 0 && c.r+n > len(c.buf) || c.r == c.w:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	for c.w-c.r < n {
		size := len(c.buf)
		if c.buf == nil {
			size = max(inputSize, c.readAhead) // that of the buffer to be borrowed
		}
		room := min(size-c.w, max(n-(c.w-c.r), c.readAhead))
		var dst []byte
		if c.w > 0 || c.raw == nil {
			dst = c.buf[c.w:][:room]
		}
		k, err := c.read(dst, room, false)
		c.w += k
		c.filled = k == room
		if err == io.EOF && c.w > c.r {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return c.buf[c.r : c.r+n], nil
}

// skip consumes n bytes that need returned.
func (c *Conn) skip(n int) {
	c.r += n
	c.next = 0
}

// copyAhead consumes bytes that were read ahead and copies them to dst. It returns their
// number.
func (c *Conn) copyAhead(dst []byte) int {
	n := copy(dst, c.buf[c.r:c.w])
	c.r += n
	return n
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
