//go:build linux || darwin || freebsd

package localfs

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens and locks a file. It fails if another process, or another file of this one, has
// the lock.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
