//go:build race || asan || memcheck || (memguard && linux)

package soft

import (
	"fmt"
	"runtime"
	"strings"
)

// poison fills zones and freed memory.
const poison = 0xa5

func fill(b []byte) {
	for i := range b {
		b[i] = poison
	}
}

// damage gives the first byte that is no poison any more; -1 if all are.
func damage(b []byte) int {
	for i, v := range b {
		if v != poison {
			return i
		}
	}
	return -1
}

// origin is the stack of an Alloc.
type origin [12]uintptr

func here() (o origin) {
	runtime.Callers(3, o[:])
	return o
}

func (o origin) String() string {
	var b strings.Builder
	for frames := runtime.CallersFrames(o[:]); ; {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&b, "\n\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
