package tcp

import (
	"net"
	"syscall"
)

// direct writes to a socket without a wait. Its zero value does not.
type direct struct {
	socket syscall.RawConn
	run    func(fd uintptr) bool // bound once
	bytes  []byte
	n      int
}

// open makes direct write to a connection, if it has a socket of the system.
func (d *direct) open(nc net.Conn) {
	s, ok := nc.(syscall.Conn)
	if !ok || !socketWrites {
		return
	}
	socket, err := s.SyscallConn()
	if err != nil {
		return
	}
	d.socket = socket
}

// ok reports whether there is a socket to write to.
func (d *direct) ok() bool { return d.socket != nil }

// write returns the number of bytes that the system has taken. It takes none after an error, which
// the next write that waits meets, too.
func (d *direct) write(b []byte) int {
	if d.run == nil {
		d.run = func(fd uintptr) bool {
			d.n = writeSocket(fd, d.bytes)
			return true
		}
	}
	d.bytes, d.n = b, 0
	_ = d.socket.Write(d.run) // d.n is 0
	d.bytes = nil
	return d.n
}
