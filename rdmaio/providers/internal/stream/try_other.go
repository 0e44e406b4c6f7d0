//go:build !unix

package stream

const canTry = false

type attempt struct{}

// try is never called: Conn.raw is nil, and the writer does all writes.
func (c *Conn) try([]byte) (int, error) { return 0, nil }

type arrival struct{}

// arrive is never called: Conn.raw is nil, and the input buffer is never returned.
func (c *Conn) arrive([]byte, int) (int, error) { return 0, nil }
