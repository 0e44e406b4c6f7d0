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

// StageLimit is the payload, in bytes, up to which a segment is copied: into
// one buffer with its neighbours on the way out, and on the way in out of a
// buffer in which its CRC was checked first. Longer payload goes directly, but
// for what was read ahead of it.
const StageLimit = 4096

const (
	inputSize      = 16 << 10               // of the buffer for what is read ahead
	handshakeInput = 2 << 10                // the same before a queue pair is there
	aheadInside    = 7 + segment.LongHeader // inside a long message: padding, CRC and the next header
	aheadBehind    = 1 << 10                // behind it: small messages too, and little of a long one
	lingerTime     = time.Second            // for the peer to see why the connection ends
	lingerWrite    = 200 * time.Millisecond
)

// wire is one byte stream with what its two directions need to know.
type wire struct {
	dev  *Device
	conn net.Conn
	tcp  *net.TCPConn    // conn, if it is plain TCP
	raw  syscall.RawConn // the same, if it can be tried without waiting

	// Receiving; the reader's own. Where raw is there, buf is borrowed when bytes
	// have come and given back when there are none: nil in between.
	arrival   arrival
	buf       []byte
	r, w      int       // buf[r:w] was read ahead
	readAhead int       // bytes to read ahead: few before long segments, to copy little of them
	noWait    bool      // others wait for what came: do not wait for more (errIdle)
	armed     time.Time // the deadline that the connection has, if any
	limit     time.Time // the one that holds now, if any
	stream    segment.Stream
	openSince time.Time // since when there always was an open message
	openBytes int64     // payload since then

	// Sending; the token holder's own (see queuePair.sending).
	number    uint32 // of the next message
	truncated bool   // a segment was begun and cannot be finished
	attempt   attempt

	// What others tell the two.
	closing        atomic.Bool // the connection ends
	interruptRead  atomic.Bool // let go of registered memory for a moment
	interruptWrite atomic.Bool

	// What the two tell others: set before memory is pinned for longer than a
	// copy, and after it was let go of not set.
	placing atomic.Bool
	sending atomic.Bool
}

var past = time.Unix(1, 0)

// Reasons for an interrupted read or write.
var (
	errClosing     = errors.New("connection is ending")
	errInterrupted = errors.New("memory is wanted back")
	errIdle        = errors.New("nothing more has come")
	errSlow        = errors.New("peer is too slow")
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

// inputs are the buffers that no connection has bytes in.
var inputs = sync.Pool{New: func() any { return new([inputSize]byte) }}

// borrowInput gives the input its full size.
func (w *wire) borrowInput() {
	buf := inputs.Get().(*[inputSize]byte)[:]
	w.w = copy(buf, w.buf[w.r:w.w])
	w.r, w.buf = 0, buf
}

// returnInput gives an empty input back.
func (w *wire) returnInput() {
	if w.buf != nil {
		inputs.Put((*[inputSize]byte)(w.buf))
		w.buf, w.r, w.w = nil, 0, 0
	}
}

// interrupt makes both directions let go of registered memory, if they hold any
// while they wait for the peer. Who pins after it finds the region invalid.
func (w *wire) interrupt() {
	if w.placing.Load() {
		w.interruptRead.Store(true)
		w.conn.SetReadDeadline(past)
	}
	if w.sending.Load() && w.tcp != nil { // others send from private memory, and TLS does not survive this
		w.interruptWrite.Store(true)
		w.conn.SetWriteDeadline(past)
	}
}

// stop ends both directions, that of sending after a moment in which it may
// finish its segments.
func (w *wire) stop() {
	w.closing.Store(true)
	w.conn.SetReadDeadline(past)
	w.conn.SetWriteDeadline(time.Now().Add(lingerWrite))
}

// setLimit sets the time by which the bytes read from now on must have come; the
// zero time is no limit.
func (w *wire) setLimit(limit time.Time) { w.limit = limit }

// read reads some bytes to dst, and if there are more at most room of them to the
// empty input: always if dst is nil, otherwise where one system call can do both.
// The answer counts those in dst, or all if it is nil. holding says that dst is
// registered memory, to be let go of (errInterrupted) when somebody wants it back. If
// noWait is set it does not wait: errIdle.
func (w *wire) read(dst []byte, room int, holding bool) (n int, err error) {
	for {
		if !w.armed.Equal(w.limit) && (!w.limit.IsZero() || w.armed.Equal(past)) {
			w.conn.SetReadDeadline(w.limit)
			w.armed = w.limit
		}
		// After arming, so that what these set is not undone unseen.
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
		w.armed = past // by interrupt or stop, or a limit that holds no longer
	}
}

// need reads ahead until n bytes are there, and gives them; the next need gives
// them again, unless skip was called. The error is io.EOF at once, and
// io.ErrUnexpectedEOF after some bytes.
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

// skip is done with n bytes that need gave.
func (w *wire) skip(n int) { w.r += n }

// copyAhead copies what was read ahead.
func (w *wire) copyAhead(dst []byte) int {
	n := copy(dst, w.buf[w.r:w.w])
	w.r += n
	return n
}

// send writes a batch, waiting for the peer. When it has to let go of registered
// memory it keeps a copy of the rest and calls release.
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
			continue // stop has set another one, which this may have undone
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
			w.conn.SetWriteDeadline(time.Time{}) // or try would fail at it later
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
		// By interrupt or stop: seen above.
	}
}

// hangup ends the stream: says why, if it can be said, then that nothing more
// comes, and waits for the peer to have seen it.
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
	// Closing a connection with unread bytes would reset it, and the peer might
	// lose what it has not read yet.
	buf := make([]byte, handshakeInput)
	for left := 64 << 20; left > 0; {
		n, err := w.conn.Read(buf)
		if left -= n; err != nil {
			return
		}
	}
}
