//go:build amd64 || arm64

package lib

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// opened returns the real library, whose Debian packages the machine may lack.
func opened(t *testing.T) *library {
	t.Helper()
	witness.SharedLibrary(t, "libibverbs.so.1")
	witness.SharedLibrary(t, "librdmacm.so.1")
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return l.(*library)
}

// libcFunction returns the address of a function of the C library.
func libcFunction(t *testing.T, name string) uintptr {
	t.Helper()
	handle, err := purego.Dlopen(libc, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	fn, err := purego.Dlsym(handle, name)
	if err != nil {
		t.Fatal(err)
	}
	return fn
}

func TestOpenReturnsTheSameLibrary(t *testing.T) {
	l := opened(t)
	again, err := Open()
	if err != nil || again.(*library) != l {
		t.Errorf("the second Open returned %p, %v, the first %p", again, err, l)
	}
}

func TestMissingLibraryIsNamed(t *testing.T) {
	_, err := loadFrom("libibverbs-of-no-system.so.1", librdma)
	var e *LoadError
	if !errors.As(err, &e) || e.Library != "libibverbs-of-no-system.so.1" || e.Symbol != "" {
		t.Errorf("got %v", err)
	}
}

func TestMissingFunctionIsNamed(t *testing.T) {
	opened(t)
	_, err := loadFrom(libc, librdma)
	var e *LoadError
	if !errors.As(err, &e) || e.Library != libc || e.Symbol == "" {
		t.Errorf("got %v", err)
	}
}

// Without a device, the first call to the kernel fails, and the error has the function and errno.
func TestErrorsHaveTheFunctionAndErrno(t *testing.T) {
	l := opened(t)
	if _, err := os.Stat("/dev/infiniband/rdma_cm"); !errors.Is(err, fs.ErrNotExist) {
		t.Skip("this machine has /dev/infiniband/rdma_cm")
	}
	ch, err := l.CreateEventChannel()
	var e *os.SyscallError
	var errno syscall.Errno
	if ch != 0 || !errors.As(err, &e) || e.Syscall != "rdma_create_event_channel" || !errors.As(err, &errno) || errno != syscall.ENOENT && errno != syscall.ENODEV {
		t.Errorf("CreateEventChannel returned %v, %v", ch, err)
	}
	devices, err := l.Devices()
	if len(devices) != 0 || err != nil && !errors.As(err, &errno) {
		t.Errorf("Devices returned %v, %v", devices, err)
	}
	t.Logf("Devices: %v", err)
}

// The C library keeps an errno for each thread.
func TestErrnoIsFromTheCall(t *testing.T) {
	l := opened(t)
	c := l.verbsCalls.caller
	closeFile, access := libcFunction(t, "close"), libcFunction(t, "access")
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for range 200 {
				f, err := c.frame()
				if err != nil {
					t.Error(err)
					return
				}
				want := syscall.EBADF
				var got syscall.Errno
				if i%2 == 0 {
					f.args = [6]uintptr{^uintptr(0)} // close(-1)
					got = c.status(closeFile, f, 1)
				} else {
					want = syscall.ENOENT
					copy(f.mem, "/no such file\x00")
					f.args = [6]uintptr{f.addr}
					got = c.status(access, f, 2)
				}
				c.release(f)
				if got != want {
					t.Errorf("found %v, expected %v", got, want)
					return
				}
			}
		})
	}
	done.Wait()
}

// A function that fails without an errno does not get the one of an earlier call.
func TestMissingErrnoIsEIO(t *testing.T) {
	l := opened(t)
	c := l.verbsCalls.caller
	f, err := c.frame()
	if err != nil {
		t.Fatal(err)
	}
	defer c.release(f)
	f.args = [6]uintptr{^uintptr(0)}
	if errno := c.status(libcFunction(t, "close"), f, 1); errno != syscall.EBADF {
		t.Fatal(errno)
	}
	f.args = [6]uintptr{} // abs(-1) is 1; labs(0) is 0, as a null pointer
	if p, errno := c.object(libcFunction(t, "labs"), f, 1); p != 0 || errno != syscall.EIO {
		t.Errorf("found %d, %v, expected EIO", p, errno)
	}
}

// Functions that destroy something return the number itself, and may leave errno as it is.
func TestPositiveResultIsTheErrno(t *testing.T) {
	l := opened(t)
	c := l.verbsCalls.caller
	f, err := c.frame()
	if err != nil {
		t.Fatal(err)
	}
	defer c.release(f)
	f.args = [6]uintptr{f.addr + 1} // not the address of a page
	if errno := c.status(libcFunction(t, "posix_madvise"), f, 3); errno != syscall.EINVAL {
		t.Errorf("found %v, expected EINVAL", errno)
	}
}

// device makes a context, and an object of it, whose calls go to functions of the C library.
func device(t *testing.T, ops map[abi.Op]string) (object uintptr) {
	t.Helper()
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	ctx := abi.Addr(mem)
	for at, name := range ops {
		abi.SetPointer(ctx+uintptr(at), libcFunction(t, name))
	}
	object = ctx + 1024
	abi.SetPointer(object, ctx)
	return object
}

func TestPostReturnsTheBadRequest(t *testing.T) {
	l := opened(t)
	// posix_madvise returns EINVAL, as a positive number, for an address that begins no page.
	qp := QP(device(t, map[abi.Op]string{abi.OpPostSend: "posix_madvise", abi.OpPostRecv: "sched_yield"}))
	const first = 0x1234
	if bad, err := l.PostSend(qp, first); bad != first || err != error(syscall.EINVAL) {
		t.Errorf("PostSend returned %#x, %v", bad, err)
	}
	if bad, err := l.PostRecv(qp, first); bad != 0 || err != nil {
		t.Errorf("PostRecv returned %#x, %v", bad, err)
	}
}

func TestWindowsNeedTheDevicesFunction(t *testing.T) {
	l := opened(t)
	if mw, err := l.AllocMW(PD(device(t, nil))); mw != 0 || !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Errorf("AllocMW returned %v, %v", mw, err)
	}
}

func TestFramesAreReused(t *testing.T) {
	c := &caller{}
	a, err := c.frame()
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.frame()
	if err != nil {
		t.Fatal(err)
	}
	if a == b || a.addr == b.addr {
		t.Error("two calls have the same frame")
	}
	c.release(a)
	if again, _ := c.frame(); again != a {
		t.Error("a released frame was not used again")
	}
}
