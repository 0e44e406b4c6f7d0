package deadpeer

import (
	"syscall"
	"time"
)

// unackedOption returns TCP_MAXRT, which limits how long data is retransmitted, and its
// unit.
func unackedOption() (option int, unit time.Duration) { return 5, time.Second }

func setTCPOption(fd uintptr, option, value int) {
	_ = syscall.SetsockoptInt(syscall.Handle(fd), syscall.IPPROTO_TCP, option, value)
}
