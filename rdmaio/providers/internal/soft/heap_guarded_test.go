//go:build memguard && linux

package soft

import (
	"runtime/debug"
	"strings"
	"testing"
)

// faults reports whether f accesses inaccessible memory.
func faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		err, ok := recover().(error)
		fault = ok && strings.Contains(err.Error(), "invalid memory address")
	}()
	f()
	return false
}

var sink byte

// Step 4: an access before or after a buffer, or after Free, faults at once, reads too.
func TestAccessOutsideABufferFaults(t *testing.T) {
	pd := newDomain(t)
	b := alloc(t, pd, 4096-align)
	block := pd.heap.blocks[&b[0]]
	at := func(off int) *byte { return &block.mapping[len(block.mapping)-page-len(block.slack)-len(b)+off] }
	if faults(func() { *at(0)++; *at(len(b) - 1)++ }) {
		t.Error("the buffer's own bytes fault")
	}
	if !faults(func() { sink = *at(len(b)) }) {
		t.Error("a read of the byte behind does not fault")
	}
	if !faults(func() { *at(-align - 1) = 1 }) {
		t.Error("a write before the page does not fault")
	}
	if err := pd.Free(b); err != nil {
		t.Fatal(err)
	}
	if !faults(func() { sink = b[0] }) {
		t.Error("a read after Free does not fault")
	}
	if err := pd.Close(); err != nil {
		t.Fatal(err)
	}

	// The bytes between buffer and page, because of alignment, are poisoned and checked.
	pd = newDomain(t)
	b = alloc(t, pd, 10)
	block = pd.heap.blocks[&b[0]]
	*at(10) = 1
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "byte 1 behind it was written") {
			t.Errorf("panic %q, want the byte behind", text)
		}
	}()
	pd.Free(b)
}
