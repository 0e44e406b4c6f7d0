package stream

import "fmt"

// Need returns the next n bytes of the peer's part of the set-up without consuming them. It waits
// for them for as long as the connection's deadline allows. It fails if n is more than
// HandshakeInput.
func (c *Conn) Need(n int) ([]byte, error) {
	in := &c.input
	if n > len(in.buf) {
		return nil, fmt.Errorf("the peer's first message needs %d bytes, want at most %d", n, len(in.buf))
	}
	if in.r+n > len(in.buf) {
		in.w = copy(in.buf, in.buf[in.r:in.w])
		in.r = 0
	}
	for in.w-in.r < n {
		k, err := c.conn.Read(in.buf[in.w:])
		in.w += k
		if err != nil && in.w-in.r < n {
			return nil, fmt.Errorf("after %d bytes of the peer's first message: %w", in.w-in.r, err)
		}
	}
	return in.buf[in.r : in.r+n], nil
}

// Skip consumes n bytes that Need returned.
func (c *Conn) Skip(n int) { c.input.skip(n) }

// Write writes a part of the set-up.
func (c *Conn) Write(b []byte) (int, error) { return c.conn.Write(b) }

// Random returns a number that a peer cannot guess.
func (c *Conn) Random() (uint64, error) { return c.dev.random() }

// SpareKey returns a key that names no region, for the sinks of Reads: see the package
// documentation.
func (c *Conn) SpareKey() uint32 { return c.dev.soft.SpareKey() }
