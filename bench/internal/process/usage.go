package process

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

// Usage is what a process has used since it started. What the system does not tell is 0.
type Usage struct {
	CPU      int64 // ns, in user space and in the kernel
	Switches int64 // times that a thread went to sleep: each ends with a wake-up
	Reads    int64 // system calls that read
	Writes   int64 // and that write
	Mallocs  int64 // heap objects made
}

// Minus is what was used since before.
func (u Usage) Minus(before Usage) Usage {
	return Usage{
		u.CPU - before.CPU, u.Switches - before.Switches,
		u.Reads - before.Reads, u.Writes - before.Writes, u.Mallocs - before.Mallocs,
	}
}

// Plus is the sum of two processes.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.CPU + v.CPU, u.Switches + v.Switches, u.Reads + v.Reads, u.Writes + v.Writes, u.Mallocs + v.Mallocs}
}

// Own is what this process has used. It stops all goroutines for a moment.
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

// field is a number in a file of lines "name: number".
func field(b []byte, name string) int64 {
	_, b, _ = bytes.Cut(b, []byte(name))
	b, _, _ = bytes.Cut(b, []byte("\n"))
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}

// Memory is what this process has in use, in bytes: heap and stacks.
func Memory() int64 {
	runtime.GC()
	runtime.GC() // the first one moves what pools hold to where the second finds it
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
