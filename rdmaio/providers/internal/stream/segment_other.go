//go:build !unix

package stream

// SegmentSize returns 0: the system does not say the size of its TCP segments.
func (c *Conn) SegmentSize() int { return 0 }
