package pcapng

import (
	"net"
	"time"
)

// Recording configures Record.
type Recording struct {
	File *File
	Name string // of the interface

	// Initiator reports whether this end opened the connection.
	Initiator bool

	// MaxSegment is the payload of the longest TCP segment in bytes. If zero, the default is the
	// constant MaxSegment.
	MaxSegment int

	// Now returns the time of a segment. If nil, segments have no time.
	Now func() time.Time
}

// Record returns a stream that writes all that passes through it to a file. Bytes are recorded
// before they are written and after they are read, so that an answer always follows its cause. Each
// Write and each Read is a TCP segment, or several if it is too long for one. The stream has the
// methods of net.Conn only.
func Record(conn net.Conn, r Recording) net.Conn {
	if r.MaxSegment <= 0 || r.MaxSegment > MaxSegment {
		r.MaxSegment = MaxSegment
	}
	return &recorded{Conn: conn, r: r, c: r.File.Connection(r.Name)}
}

type recorded struct {
	net.Conn
	r Recording
	c *Connection
}

// Write implements net.Conn.
func (c *recorded) Write(b []byte) (int, error) {
	c.record(c.r.Initiator, b)
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *recorded) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.record(!c.r.Initiator, b[:n])
	return n, err
}

func (c *recorded) record(fromInitiator bool, b []byte) {
	var at time.Time
	if c.r.Now != nil {
		at = c.r.Now()
	}
	for len(b) > 0 {
		n := min(len(b), c.r.MaxSegment)
		c.c.Segment(fromInitiator, at, b[:n])
		b = b[n:]
	}
}
