// Package machine reports the resources of the machine that the process may use.
package machine

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
)

// Memory returns the number of bytes of memory that the process may use in all. It is the least of
// the memory of the machine, the limits of the process's control groups (Linux), the limit of its
// address space (Linux), and the limit of the Go runtime (GOMEMLIMIT). If none of them is known, it
// is math.MaxInt64.
var Memory = sync.OnceValue(func() int64 {
	return min(ofSystem(os.DirFS("/")), addressSpace(), debug.SetMemoryLimit(-1)) // -1 reads it
})

// unknown is the value of an unknown limit.
const unknown = math.MaxInt64
