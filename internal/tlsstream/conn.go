package tlsstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Conn is a stream over TLS. Settings.Client and Server return it, and Handshake must be called
// first. One goroutine reads, and one writes.
//
// Closing it closes the socket at once, without the close_notify of TLS: that is the concern of
// CloseWrite. So no goroutine that closes connections waits for a peer that does not read.
type Conn struct {
	settings *Settings
	config   *tls.Config
	isServer bool
	sock     socket
	tls      *tls.Conn // nil until the handshake has begun
}

// ErrTruncated is the error for a stream that ended without close_notify. Anybody on the path can
// end a TCP connection, and crypto/tls does not report it between two records.
var ErrTruncated = fmt.Errorf("the peer or an attacker closed the TCP connection without the end of TLS (close_notify): data may be missing (RFC 8446 §6.1): %w", io.ErrUnexpectedEOF)

// Read implements net.Conn. The end of the stream is an error unless the peer has announced it.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.tls.Read(b)
	if err == io.EOF && c.sock.ended {
		err = ErrTruncated
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) { return c.tls.Write(b) }

// Close implements net.Conn.
func (c *Conn) Close() error { return c.sock.Conn.Close() }

// CloseWrite announces the end of the stream.
func (c *Conn) CloseWrite() error {
	if err := c.tls.CloseWrite(); err != nil {
		return err
	}
	if half, ok := c.sock.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Goodbye announces the end of the stream and closes it. It takes at most the time limit. Nothing
// must be written at the same time.
func (c *Conn) Goodbye(limit time.Duration) {
	at := time.Now().Add(limit)
	_ = c.sock.Conn.SetWriteDeadline(at) // an answer of the reader may hold crypto/tls
	c.sock.hold()
	if c.tls.CloseWrite() == nil { // it has set another deadline
		_ = c.sock.Conn.SetWriteDeadline(at)
		_ = c.Flush()
	}
	_ = c.Close()
}

// ConnectionState returns the state of the session, after the handshake.
func (c *Conn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// NetConn returns the connection below TLS.
func (c *Conn) NetConn() net.Conn { return c.sock.Conn }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.sock.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.sock.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.sock.SetDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.sock.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.sock.SetWriteDeadline(t) }

// socket is the connection below TLS. One goroutine at a time reads from it.
type socket struct {
	net.Conn
	held
	deadline deadline
	records  records
	limit    time.Duration // Options.RecordTimeout

	settled  bool   // the handshake is complete
	ahead    []byte // read, and not yet returned by Read
	whole    int    // bytes of ahead that Read may return during the handshake
	received int64  // bytes from the peer
	ended    bool   // the peer has closed the connection
}

// Read implements net.Conn. During the handshake it returns nothing of a record before all of it
// has arrived: crypto/tls allocates what the header of a record announces.
func (s *socket) Read(b []byte) (int, error) {
	if s.settled {
		s.whole = len(s.ahead)
		if s.whole == 0 {
			return s.read(b)
		}
	} else if s.whole == 0 {
		if err := s.readRecord(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.ahead[:s.whole])
	s.whole -= n
	if s.ahead = s.ahead[n:]; len(s.ahead) == 0 {
		s.ahead = nil
	}
	return n, nil
}

func (s *socket) read(b []byte) (n int, err error) {
	if s.limit > 0 && s.settled && s.records.within() {
		n, err = s.readRest(b)
	} else {
		n, err = s.Conn.Read(b)
	}
	s.records.pass(b[:n])
	s.received += int64(n)
	s.ended = s.ended || err == io.EOF
	return n, err
}

// TLS records (RFC 8446 §5.1).
const (
	recordHeader    = 5
	recordMost      = 1<<14 + 256 // bytes of a record
	recordAlert     = 21
	recordHandshake = 22
	recordMajor     = 3 // first byte of the version
)

// IsRecord reports whether b can be the beginning of a stream over TLS.
func IsRecord(b []byte) bool {
	return len(b) > 0 && (b[0] == recordHandshake || b[0] == recordAlert) && (len(b) == 1 || b[1] == recordMajor)
}

// readRecord reads ahead until whole bytes of it are a record. It keeps no more memory than twice
// the bytes that have arrived.
func (s *socket) readRecord() error {
	first := s.received == 0
	for want := recordHeader; ; {
		b := s.ahead
		if len(b) > 0 && first && !IsRecord(b) {
			return &notTLSError{b}
		}
		if len(b) >= recordHeader {
			if want = recordHeader + int(b[3])<<8 + int(b[4]); want > recordHeader+recordMost {
				return &notTLSError{b[:recordHeader]}
			}
		}
		if len(b) >= want {
			s.whole = want
			return nil
		}
		if cap(b) == len(b) {
			b = append(make([]byte, 0, max(512, 2*len(b))), b...)
		}
		n, err := s.read(b[len(b):cap(b)])
		if s.ahead = b[:len(b)+n]; n == 0 && err != nil {
			return err
		}
	}
}

// notTLSError is the error for a peer without TLS.
type notTLSError struct{ found []byte }

func (e *notTLSError) Error() string {
	return fmt.Sprintf("the peer speaks no TLS: its first bytes are %q, must be a TLS record", e.found[:min(len(e.found), 16)])
}

// lingerTime is the time that a peer has to read why its handshake failed.
const lingerTime = time.Second

// turnAway reports to a client that its handshake has failed, and gives it time to read that until
// limit: closing a connection with unread input would reset it, and the client might lose the
// alert.
func (c *Conn) turnAway(err error, limit time.Time) {
	linger := time.Now().Add(lingerTime)
	if linger.After(limit) {
		linger = limit
	}
	c.SetDeadline(linger)
	if plain := (*notTLSError)(nil); errors.As(err, &plain) {
		if c.settings.Quiet {
			return
		}
		// A peer that expects no TLS can recognize the record: see speaksTLS.
		const fatal, unexpectedMessage = 2, 10
		if _, err := c.sock.Conn.Write([]byte{recordAlert, recordMajor, 3, 0, 2, fatal, unexpectedMessage}); err != nil {
			return
		}
	}
	if c.tls != nil {
		_ = c.tls.CloseWrite() // fails after most errors of the handshake, which have sent an alert
	}
	if half, ok := c.sock.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	buf := make([]byte, 2<<10)
	for left := 64 << 10; left > 0; {
		n, err := c.sock.Conn.Read(buf)
		if left -= n; err != nil {
			return
		}
	}
}
