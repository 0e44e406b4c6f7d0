package stream

import (
	"fmt"
	"net"
)

// Conn is the byte stream of a connection.
type Conn struct {
	conn net.Conn
	buf  []byte
	r, w int // buf[r:w] was read ahead
}

// Need returns the next n bytes of the peer's part of the set-up without consuming them. It waits
// for them for as long as the connection's deadline allows. It fails if n is more than
// HandshakeInput.
func (c *Conn) Need(n int) ([]byte, error) {
	if n > len(c.buf) {
		return nil, fmt.Errorf("the peer's first message has %d bytes, want at most %d", n, len(c.buf))
	}
	for c.w-c.r < n {
		k, err := c.conn.Read(c.buf[c.w:])
		c.w += k
		if err != nil && c.w-c.r < n {
			return nil, fmt.Errorf("after %d bytes of the peer's first message: %w", c.w-c.r, err)
		}
	}
	return c.buf[c.r : c.r+n], nil
}

// Skip consumes n bytes that Need returned.
func (c *Conn) Skip(n int) { c.r += n }

// Buffered returns the bytes that were read and not consumed.
func (c *Conn) Buffered() []byte { return c.buf[c.r:c.w] }

// Write writes a part of the set-up.
func (c *Conn) Write(b []byte) (int, error) { return c.conn.Write(b) }
