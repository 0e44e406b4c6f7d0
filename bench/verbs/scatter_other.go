//go:build !linux || race

package verbs

import "net"

// scatter reads into one slice at a time. The race detector would not see a system call.
type scatter struct{}

// read reads into a, or into b if a is empty. It calls idle before.
func (s *scatter) read(conn net.Conn, a, b []byte, idle func() error) (int, error) {
	return readOne(conn, a, b, idle)
}
