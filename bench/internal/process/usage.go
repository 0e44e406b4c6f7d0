package process

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

// Usage is the resources that a process has used since it started. Numbers that the system does not
// report are 0.
type Usage struct {
	CPU      int64 // ns, in user space and in the kernel
	Switches int64 // times that a thread went to sleep: each ends with a wake-up
	Reads    int64 // system calls that read
	Writes   int64 // system calls that write
	Mallocs  int64 // heap objects allocated
}

// Minus returns the difference to an earlier Usage.
func (u Usage) Minus(before Usage) Usage {
	return Usage{
		u.CPU - before.CPU, u.Switches - before.Switches,
		u.Reads - before.Reads, u.Writes - before.Writes, u.Mallocs - before.Mallocs,
	}
}

// Plus returns the sum of the Usage of two processes.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.CPU + v.CPU, u.Switches + v.Switches, u.Reads + v.Reads, u.Writes + v.Writes, u.Mallocs + v.Mallocs}
}

// Own returns the Usage of this process. It stops all goroutines for a moment.
func Own() Usage {
	var u Usage
	u.CPU, u.Switches = resources()
	if b, err := os.ReadFile("/proc/self/io"); err == nil {
		u.Reads, u.Writes = field(b, "syscr: "), field(b, "syscw: ")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Mallocs = int64(m.Mallocs)
	return u
}

// field returns a number from a text of lines "name: number".
func field(b []byte, name string) int64 {
	_, b, _ = bytes.Cut(b, []byte(name))
	b, _, _ = bytes.Cut(b, []byte("\n"))
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}

// Memory returns the memory that this process has in use, in bytes: heap and stacks.
func Memory() int64 {
	runtime.GC()
	runtime.GC() // the first collection moves pooled objects to where the second frees them
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// Resident returns the resident memory of this process in bytes, or 0 if the system does not report
// it.
func Resident() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, b, _ = bytes.Cut(b, []byte("VmRSS:"))
	b, _, _ = bytes.Cut(b, []byte(" kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n << 10
}
