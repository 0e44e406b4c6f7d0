// Package machine finds out what the process may use of the machine it runs on.
package machine

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
)

// Memory returns the number of bytes of memory that the process may have in all: the least of what the machine has, its control groups
// allow (Linux), its address space is limited to (Linux), and the Go runtime is told to keep to (GOMEMLIMIT). It is
// math.MaxInt64 where nothing of that is known.
var Memory = sync.OnceValue(func() int64 {
	return min(ofSystem(os.DirFS("/")), addressSpace(), debug.SetMemoryLimit(-1)) // which reads it only
})

const unknown = math.MaxInt64
