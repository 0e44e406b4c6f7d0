package rdmatcp

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
)

// StageLimit is the size in bytes of the largest payload of a segment that is staged:
// copied into one buffer with its neighbours to be sent, and out of a buffer after its
// CRC was checked when received. Larger payload is direct, except for bytes that were
// read ahead.
const StageLimit = 4096

const (
	inputSize      = 16 << 10               // bytes of the input buffer
	handshakeInput = 2 << 10                // the same during the handshake
	aheadInside    = 7 + segment.LongHeader // bytes read ahead inside a long message
	aheadBehind    = 1 << 10                // bytes read ahead behind a long message
	lingerTime     = time.Second            // for the peer to read why the connection ends
	lingerWrite    = 200 * time.Millisecond // for a write after the connection has ended
)

// wire is the byte stream of a connection, with the state of its two directions.
type wire struct {
	dev  *Device
	conn net.Conn
	tcp  *net.TCPConn    // conn, if it is plain TCP; else nil
	raw  syscall.RawConn // the same, if the system has calls that do not wait; else nil

	// Receiving: used by the reader only. If raw is not nil, buf is borrowed when bytes
	// have arrived and returned when it is empty; it is nil in between.
	arrival   arrival
	buf       []byte
	r, w      int       // buf[r:w] was read ahead
	readAhead int       // bytes to read ahead: few among long segments
	noWait    bool      // read returns errIdle rather than wait
	armed     time.Time // the read deadline that is set, if any
	limit     time.Time // the read deadline that applies, if any
	stream    segment.Stream
	openSince time.Time // start of the time in which there always was an open message
	openBytes int64     // payload that has arrived since then

	// Sending: used by the token's holder only (see queuePair.sending).
	number    uint32 // number of the next message
	truncated bool   // a segment was written in part and cannot be finished
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
	errSlow        = errors.New("the peer is too slow")
)

func newWire(d *Device, conn net.Conn, input int) (*wire, error) {
	n, err := d.random()
	if err != nil {
		return nil, err
	}
	d.watchPeer(conn)
	w := &wire{dev: d, conn: conn, buf: make([]byte, input), number: uint32(n), readAhead: inputSize}
	if tcp, ok := conn.(*net.TCPConn); ok {
		w.tcp = tcp
		if raw, err := tcp.SyscallConn(); err == nil && canTry {
			w.raw = raw
		}
	}
	return w, nil
}

// inputs are the input buffers that no connection has borrowed.
var inputs = sync.Pool{New: func() any { return new([inputSize]byte) }}

// borrowInput replaces the input buffer by one of full size.
func (w *wire) borrowInput() {
	buf := inputs.Get().(*[inputSize]byte)[:]
	w.w = copy(buf, w.buf[w.r:w.w])
	w.r, w.buf = 0, buf
}

// returnInput returns the input buffer, which is empty.
func (w *wire) returnInput() {
	if w.buf != nil {
		inputs.Put((*[inputSize]byte)(w.buf))
		w.buf, w.r, w.w = nil, 0, 0
	}
}

// interrupt makes both directions release registered memory that they hold while they
// wait for the peer. Invalidate has marked the region invalid before, so they cannot pin
// it again.
func (w *wire) interrupt() {
	if w.placing.Load() {
		w.interruptRead.Store(true)
		w.conn.SetReadDeadline(past)
	}
	// Other streams send from a copy, and an interrupted TLS write cannot be continued.
	if w.sending.Load() && w.tcp != nil {
		w.interruptWrite.Store(true)
		w.conn.SetWriteDeadline(past)
	}
}

// stop ends both directions. A write in progress has lingerWrite to finish.
func (w *wire) stop() {
	w.closing.Store(true)
	w.conn.SetReadDeadline(past)
	w.conn.SetWriteDeadline(time.Now().Add(lingerWrite))
}

// setLimit sets the time by which the bytes that are read from now on must have
// arrived. The zero time means no limit.
func (w *wire) setLimit(limit time.Time) { w.limit = limit }

// read reads bytes into dst, and up to room further bytes into the input buffer, which
// is empty: always if dst is nil, otherwise where one system call can do both. It
// returns the number of bytes in dst, or of all bytes if dst is nil.
//
// holding says that dst is registered memory: then interrupt makes read return
// errInterrupted. If noWait is set, read returns errIdle rather than wait.
func (w *wire) read(dst []byte, room int, holding bool) (n int, err error) {
	for {
		if !w.armed.Equal(w.limit) && (!w.limit.IsZero() || w.armed.Equal(past)) {
			w.conn.SetReadDeadline(w.limit)
			w.armed = w.limit
		}
		// Checked after SetReadDeadline, which may have undone the deadline that these set.
		if w.closing.Load() {
			return 0, errClosing
		}
		if w.interruptRead.Swap(false) {
			w.armed = past
			if holding {
				return 0, errInterrupted
			}
			continue
		}
		if room > 0 && w.raw != nil && (dst == nil || holding && canScatter) {
			n, err = w.arrive(dst, room)
		} else if w.noWait {
			return 0, errIdle
		} else {
			n, err = w.conn.Read(dst)
		}
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case !w.limit.IsZero() && !time.Now().Before(w.limit):
			return 0, errSlow
		}
		w.armed = past // set by interrupt or stop, or a limit that no longer applies
	}
}

// need returns the next n bytes without consuming them: skip does that. It reads ahead
// until they have arrived. At the end of the stream it returns io.EOF, or
// io.ErrUnexpectedEOF if some bytes are left.
func (w *wire) need(n int) ([]byte, error) {
	if w.w-w.r >= n {
		return w.buf[w.r : w.r+n], nil
	}
	if w.r > 0 && w.r+n > len(w.buf) || w.r == w.w {
		w.w = copy(w.buf, w.buf[w.r:w.w])
		w.r = 0
	}
	for w.w-w.r < n {
		room := min(inputSize-w.w, max(n-(w.w-w.r), w.readAhead))
		var dst []byte
		if w.w > 0 || w.raw == nil {
			dst = w.buf[w.w:][:room]
		}
		k, err := w.read(dst, room, false)
		w.w += k
		if err == io.EOF && w.w > w.r {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return w.buf[w.r : w.r+n], nil
}

// skip consumes n bytes that need returned.
func (w *wire) skip(n int) { w.r += n }

// copyAhead consumes bytes that were read ahead and copies them to dst. It returns their
// number.
func (w *wire) copyAhead(dst []byte) int {
	n := copy(dst, w.buf[w.r:w.w])
	w.r += n
	return n
}

// send writes a batch and waits for the peer to take it. When it is interrupted, it
// copies what remains and calls release, which unpins the regions.
func (w *wire) send(b *batch, release func()) error {
	if w.tcp == nil && len(b.pay) > 0 {
		b.copyRest()
		release()
	}
	limit := time.Now().Add(w.dev.cfg.SendTimeout)
	for {
		closing := w.closing.Load()
		if closing {
			limit = time.Now().Add(lingerWrite)
		}
		w.conn.SetWriteDeadline(limit)
		if w.closing.Load() != closing {
			continue // stop has set another deadline, which this one may have replaced
		}
		if w.interruptWrite.Swap(false) {
			b.copyRest()
			release()
			continue
		}
		var err error
		if w.tcp != nil {
			_, err = b.bufs.WriteTo(w.tcp)
		} else {
			err = b.writeEach(w.conn)
		}
		switch {
		case err == nil:
			w.conn.SetWriteDeadline(time.Time{}) // it would make a later try fail
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			w.truncated = true
			return err
		case closing:
			w.truncated = true
			return errClosing
		case !time.Now().Before(limit):
			w.truncated = true
			return errSlow
		}
		// The deadline of interrupt or stop: handled at the start of the loop.
	}
}

// hangup closes the stream: it sends last, closes the sending direction, and waits up to
// lingerTime for the peer to close its own.
func (w *wire) hangup(last []byte) {
	defer w.dev.drop(w.conn)
	w.conn.SetDeadline(time.Now().Add(lingerTime))
	if len(last) > 0 {
		if _, err := w.conn.Write(last); err != nil {
			return
		}
	}
	half, ok := w.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	// Closing a connection with unread input would reset it, and the peer might lose
	// what it has not read yet.
	buf := make([]byte, handshakeInput)
	for left := 64 << 20; left > 0; {
		n, err := w.conn.Read(buf)
		if left -= n; err != nil {
			return
		}
	}
}
