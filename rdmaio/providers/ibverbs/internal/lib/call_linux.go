//go:build amd64 || arm64

package lib

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/ebitengine/purego"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// Sizes in bytes. A frame has room for the largest structure, and for two addresses.
const (
	frameSize = 512
	blockSize = 32 * frameSize
)

// frame holds the arguments of a call, and memory outside the Go heap for what the library reads or
// writes. A goroutine's stack moves, and the library knows nothing of the garbage collector.
type frame struct {
	args [6]uintptr
	mem  []byte // frameSize bytes, whose content is left over from earlier calls
	addr uintptr
}

// caller calls functions of C.
type caller struct {
	errnoLocation uintptr // __errno_location

	mu   sync.Mutex
	free []*frame // a stack: as many frames exist as calls have been in progress at once
}

// frame returns a frame, which release takes back.
func (c *caller) frame() (*frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		block, err := syscall.Mmap(-1, 0, blockSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return nil, os.NewSyscallError("mmap", err)
		}
		for at := 0; at < blockSize; at += frameSize {
			mem := block[at : at+frameSize : at+frameSize]
			c.free = append(c.free, &frame{mem: mem, addr: abi.Addr(mem)})
		}
	}
	f := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return f, nil
}

func (c *caller) release(f *frame) {
	c.mu.Lock()
	c.free = append(c.free, f)
	c.mu.Unlock()
}

// direct calls fn with the first n arguments of f. It allocates nothing.
func (f *frame) direct(fn uintptr, n int) uintptr {
	r, _, _ := purego.SyscallN(fn, f.args[:n]...)
	return r
}

// status calls a function that returns 0, or a positive errno, or -1 and sets errno.
func (c *caller) status(fn uintptr, f *frame, n int) syscall.Errno {
	r, errno := c.onThread(fn, f, n)
	switch r := int32(r); {
	case r == 0:
		return 0
	case r > 0:
		return syscall.Errno(r)
	}
	return errno
}

// object calls a function that returns an address, or 0 and sets errno.
func (c *caller) object(fn uintptr, f *frame, n int) (uintptr, syscall.Errno) {
	r, errno := c.onThread(fn, f, n)
	if r != 0 {
		return r, 0
	}
	return 0, errno
}

// onThread calls a function, and returns the errno that it left, EIO if it left none. purego
// returns no errno on Linux, so the function and the look at errno need the same thread.
func (c *caller) onThread(fn uintptr, f *frame, n int) (uintptr, syscall.Errno) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	at := f.direct(c.errnoLocation, 0)
	abi.SetInt(at, 0) // some functions fail without an errno
	r := f.direct(fn, n)
	if errno := abi.Int(at); errno > 0 {
		return r, syscall.Errno(errno)
	}
	return r, syscall.EIO
}

// named returns an error with the name of the function, or nil.
func named(name string, errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError(name, errno)
}

// plain returns the number itself as an error, without an allocation, or nil.
func plain(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// do calls a function with up to six arguments, whose result status explains.
func (c *caller) do(name string, fn uintptr, args ...uintptr) error {
	f, err := c.frame()
	if err != nil {
		return err
	}
	defer c.release(f)
	return named(name, c.status(fn, f, copy(f.args[:], args)))
}

// create calls a function with up to six arguments, whose result object explains.
func (c *caller) create(name string, fn uintptr, args ...uintptr) (uintptr, error) {
	f, err := c.frame()
	if err != nil {
		return 0, err
	}
	defer c.release(f)
	p, errno := c.object(fn, f, copy(f.args[:], args))
	return p, named(name, errno)
}

// discard calls a function without a result, which must not be left out: it acknowledges or
// destroys something.
func (c *caller) discard(fn uintptr, args ...uintptr) {
	f, done := c.anyFrame()
	f.direct(fn, copy(f.args[:], args))
	done()
}

// anyFrame returns a frame, and the function that ends its use. Where the system has no memory left
// for mapping, the frame is of the Go heap, whose objects stay in place: that is enough for a
// function that only reads during the call.
func (c *caller) anyFrame() (f *frame, done func()) {
	f, err := c.frame()
	if err == nil {
		return f, func() { c.release(f) }
	}
	f = &frame{mem: make([]byte, frameSize)}
	f.addr = abi.Addr(f.mem)
	return f, func() { runtime.KeepAlive(f) }
}
