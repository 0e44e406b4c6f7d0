//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// tries are the ways in which programs lock a file. Those that wait would do so while another
// process has the lock.
var tries = []struct {
	name string
	lock func(f *os.File) error
}{
	{"flock -n", func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }},
	{"flock -s -n", func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) }},
	{"flock", func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }},
	{"F_SETLK", func(f *os.File) error { return record(f, syscall.F_SETLK, syscall.F_WRLCK) }},
	{"F_SETLK to read", func(f *os.File) error { return record(f, syscall.F_SETLK, syscall.F_RDLCK) }},
	{"F_SETLKW", func(f *os.File) error { return record(f, syscall.F_SETLKW, syscall.F_WRLCK) }},
	{"F_GETLK", func(f *os.File) error { return record(f, syscall.F_GETLK, syscall.F_WRLCK) }},
	{"F_UNLCK", func(f *os.File) error { return record(f, syscall.F_SETLK, syscall.F_UNLCK) }},
}

// record locks the first byte of a file, or asks for its lock.
func record(f *os.File, how int, kind int16) error {
	return syscall.FcntlFlock(f.Fd(), how, &syscall.Flock_t{Type: kind, Len: 1})
}

// locks tries to lock a new file in each way, and prints a line for each: the way, the error by its
// number or 0, and the time.
func locks(dir string, out io.Writer) error {
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer f.Close()
	for _, t := range tries {
		start := time.Now()
		err := t.lock(f)
		var errno syscall.Errno
		if err != nil && !errors.As(err, &errno) {
			return err
		}
		if err == nil { // over NFS, flock and fcntl exclude each other
			err = errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), record(f, syscall.F_SETLK, syscall.F_UNLCK))
			if err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "%s: %d in %v\n", t.name, int(errno), time.Since(start).Round(time.Millisecond))
	}
	return nil
}
