//go:build unix && !solaris && !aix

package tcp

import (
	"context"
	"os"
	"syscall"
	"time"
)

// lockTime is the longest time that lockFolder waits for another process.
const lockTime = time.Second

// lockFolder keeps other servers from replacing a socket in a folder until unlock is called, so
// that none takes the new socket of another one for an old one. Without the permission to read the
// folder, and after lockTime, there is no lock.
func lockFolder(ctx context.Context, folder string) (unlock func()) {
	f, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockTime); ; time.Sleep(time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || ctx.Err() != nil || time.Now().After(end) {
			return func() { _ = f.Close() }
		}
	}
}
