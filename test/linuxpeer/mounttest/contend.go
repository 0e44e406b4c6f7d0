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

// lockOFD is F_OFD_SETLK of fcntl: the lock belongs to the open file, not to the process.
const lockOFD = 37

// pollTime is the time after which Linux's client asks again for a lock that it waits for, though
// the server has not called it.
const pollTime = 30 * time.Second

// contend locks a file by one mount while another mount has it locked, with flock and with fcntl:
// at once, which fails, and waiting, which succeeds when the other unlocks. The server has to call:
// the client would ask again only after pollTime.
func contend(one, two string, out io.Writer) error {
	for _, way := range []struct {
		name                string
		lock, unlock, block func(f *os.File) error
	}{
		{
			"flock",
			func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) },
			func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) },
			func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) },
		},
		{
			"fcntl",
			func(f *os.File) error { return record(f, lockOFD, syscall.F_WRLCK) },
			func(f *os.File) error { return record(f, lockOFD, syscall.F_UNLCK) },
			func(f *os.File) error { return record(f, lockOFD+1, syscall.F_WRLCK) },
		},
	} {
		a, b, err := openTwo(one, two, way.name)
		if err != nil {
			return err
		}
		defer a.Close()
		defer b.Close()
		if err := way.lock(a); err != nil {
			return fmt.Errorf("%s: the first lock: %w", way.name, err)
		}
		if err := way.lock(b); !errors.Is(err, syscall.EAGAIN) {
			return fmt.Errorf("%s: the lock of a file that another mount has locked: %v, expected EAGAIN", way.name, err)
		}
		done := make(chan error)
		go func() { done <- way.block(b) }()
		select {
		case err := <-done:
			return fmt.Errorf("%s: the lock that waits returned %v while another mount has it", way.name, err)
		case <-time.After(2 * time.Second):
		}
		start := time.Now()
		if err := way.unlock(a); err != nil {
			return fmt.Errorf("%s: unlock: %w", way.name, err)
		}
		select {
		case err = <-done:
		case <-time.After(2 * pollTime):
			err = errors.New("it was never granted")
		}
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("%s: the lock that waits: %w", way.name, err)
		}
		if took > pollTime/2 {
			return fmt.Errorf("%s: the lock was granted after %v: the client asked again, and was not called", way.name, took)
		}
		if err := way.lock(a); !errors.Is(err, syscall.EAGAIN) {
			return fmt.Errorf("%s: the lock of a file that was granted to another mount: %v, expected EAGAIN", way.name, err)
		}
		fmt.Fprintf(out, "%s: granted\n", way.name)
	}
	return nil
}

// openTwo opens a new file by two mounts.
func openTwo(one, two, name string) (a, b *os.File, err error) {
	if a, err = os.Create(filepath.Join(one, name)); err != nil {
		return nil, nil, err
	}
	if b, err = os.OpenFile(filepath.Join(two, name), os.O_RDWR, 0); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return a, b, nil
}

// hold locks a file until it is killed.
func hold(dir string, out io.Writer) error {
	f, err := os.Create(filepath.Join(dir, "held"))
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	fmt.Fprintln(out, "held")
	for {
		time.Sleep(time.Hour)
	}
}

// isHeld checks that the lock of hold is in the way, by another mount.
func isHeld(dir string, out io.Writer) error {
	f, err := os.OpenFile(filepath.Join(dir, "held"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("the lock of the file: %v, expected EAGAIN", err)
	}
	fmt.Fprintln(out, "is held")
	return nil
}

// waitHeld waits for the lock of hold. The server has to call: the client would ask again only
// after pollTime.
func waitHeld(dir string, out io.Writer) error {
	f, err := os.OpenFile(filepath.Join(dir, "held"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("the lock of the file: %v, expected EAGAIN", err)
	}
	fmt.Fprintln(out, "waits")
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	fmt.Fprintln(out, "granted")
	return nil
}
