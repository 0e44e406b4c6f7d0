//go:build unix

package stream

// keepsTarget reports whether c keeps the target of a read that has returned.
func keepsTarget(c *Conn) bool { return c.arrival.dst != nil }

// keepsBytes reports whether c keeps the bytes of a write that has returned.
func keepsBytes(c *Conn) bool { return c.attempt.b != nil }
