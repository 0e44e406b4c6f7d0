package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// wire is a connection that sends and receives messages as they are.
type wire interface {
	// send sends one RPC message, and write bytes as they are on the carrier.
	send(b []byte, until time.Time) error
	write(b []byte, until time.Time) error
	// receive returns the next message. The error is errSilent if none came in time; with every
	// other error the connection is lost.
	receive(until time.Time) ([]byte, error)
	// outcome returns the XID of a message, and the message in words.
	outcome(b []byte) (xid uint32, text string)
	endOfStream()
	close()
}

// errSilent reports that no message came in time.
var errSilent = errors.New("no message in time")

// Bounds on what a peer may send as one message.
const (
	maxMessage   = 1 << 20
	maxFragments = 1 << 16
)

// dial connects to the server.
func (t *Target) dial(ctx context.Context) (wire, error) {
	if t.Carrier == RDMA {
		return t.dialRDMA(ctx)
	}
	name := "tcp"
	if t.Carrier == UDP {
		name = "udp"
	}
	nc, err := new(net.Dialer).DialContext(ctx, name, t.Addr)
	if err != nil {
		return nil, err
	}
	if t.Carrier == UDP {
		return &datagrams{nc: nc}, nil
	}
	return &stream{nc: nc}, nil
}

// stream is a wire over TCP: record marking (RFC 5531 §11).
type stream struct {
	nc        net.Conn
	buf       []byte // bytes of the next record that have come
	fragments int    // of the last record
}

// mark returns a fragment's header.
func mark(n int, last bool) []byte {
	w := uint32(n)
	if last {
		w |= 1 << 31
	}
	return words(nil, w)
}

// record returns a message as one fragment.
func record(b []byte) []byte { return append(mark(len(b), true), b...) }

func (s *stream) send(b []byte, until time.Time) error { return s.write(record(b), until) }

func (s *stream) write(b []byte, until time.Time) error {
	if err := s.nc.SetWriteDeadline(until); err != nil {
		return err
	}
	_, err := s.nc.Write(b)
	return err
}

// receive implements wire. The first part of a record stays for the next call.
func (s *stream) receive(until time.Time) ([]byte, error) {
	if err := s.nc.SetReadDeadline(until); err != nil {
		return nil, err
	}
	for {
		msg, n, err := s.take()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.buf = s.buf[n:]
			return msg, nil
		}
		part := make([]byte, 16<<10)
		k, err := s.nc.Read(part)
		s.buf = append(s.buf, part[:k]...)
		var late net.Error
		switch {
		case k > 0 || err == nil:
		case errors.As(err, &late) && late.Timeout():
			return nil, errSilent
		default:
			return nil, err
		}
	}
}

// take returns the first record, and its length with its marks, or 0 if it is not complete.
func (s *stream) take() (msg []byte, n int, err error) {
	s.fragments = 0
	for at := 0; len(s.buf)-at >= 4; {
		w := binary.BigEndian.Uint32(s.buf[at:])
		size := int(w &^ (1 << 31))
		if s.fragments++; len(msg)+size > maxMessage || s.fragments > maxFragments {
			return nil, 0, fmt.Errorf("a record of more than %d bytes, or of more than %d fragments", maxMessage, maxFragments)
		}
		if len(s.buf)-at-4 < size {
			return nil, 0, nil
		}
		msg = append(msg, s.buf[at+4:][:size]...)
		at += 4 + size
		if w>>31 == 1 {
			return msg, at, nil
		}
	}
	return nil, 0, nil
}

func (s *stream) outcome(b []byte) (uint32, string) { return rpcOutcome(b) }

// rpcOutcome returns the XID of a message that is as long as the RPC message, and the message in
// words.
func rpcOutcome(b []byte) (uint32, string) {
	xid, _ := xidOf(b)
	return xid, outcome(b)
}

func (s *stream) endOfStream() {
	if c, ok := s.nc.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // if the connection is lost, the next receive says so
	}
}

func (s *stream) close() { _ = s.nc.Close() } // it is not used any more

// datagrams is a wire over UDP (RFC 5531 §10).
type datagrams struct{ nc net.Conn }

func (d *datagrams) send(b []byte, until time.Time) error { return d.write(b, until) }

func (d *datagrams) write(b []byte, until time.Time) error {
	if err := d.nc.SetWriteDeadline(until); err != nil {
		return err
	}
	_, err := d.nc.Write(b)
	return err
}

func (d *datagrams) receive(until time.Time) ([]byte, error) {
	if err := d.nc.SetReadDeadline(until); err != nil {
		return nil, err
	}
	b := make([]byte, 64<<10)
	n, err := d.nc.Read(b)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return nil, errSilent
	}
	return b[:n], err
}

func (d *datagrams) outcome(b []byte) (uint32, string) { return rpcOutcome(b) }

func (d *datagrams) endOfStream() {}

func (d *datagrams) close() { _ = d.nc.Close() } // it is not used any more
