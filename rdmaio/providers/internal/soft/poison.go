//go:build race || asan || memcheck || (memguard && linux)

package soft

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
)

// poison fills zones and freed memory.
const poison = 0xa5

func fill(b []byte) {
	for len(b) > 0 { // in blocks: the race detector is slow by the access, not by the byte
		b = b[copy(b, poisoned[:]):]
	}
}

var poisoned = [4096]byte(bytes.Repeat([]byte{poison}, 4096))

// spoil makes a later use of memory that was given back visible.
func spoil(b []byte) { fill(b) }

// damage returns the index of the first byte that is not poison, or -1.
func damage(b []byte) int {
	for at := 0; at < len(b); at += len(poisoned) {
		block := b[at:min(at+len(poisoned), len(b))]
		if bytes.Equal(block, poisoned[:len(block)]) {
			continue
		}
		for i, v := range block {
			if v != poison {
				return at + i
			}
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
