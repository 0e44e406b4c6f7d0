//go:build unix

package stream

import "syscall"

// SegmentSize returns the size of the largest TCP segment that the system sends on the stream now,
// or 0 if it is not plain TCP, or the system does not say.
func (c *Conn) SegmentSize() (size int) {
	if c.tcp == nil {
		return 0
	}
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Control(func(fd uintptr) {
		if n, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG); err == nil {
			size = n
		}
	})
	if err != nil {
		return 0
	}
	return size
}
