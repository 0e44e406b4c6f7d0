//go:build (race || asan || memcheck) && !(memguard && linux)

package soft

import (
	"fmt"
	"strings"
	"testing"
)

// panics runs f and returns the text of its panic.
func panics(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// Step 3 finds a write before or after a buffer, and one to it after Free. It reports the stack
// that allocated the buffer.
func TestWritesOutsideABufferAreFound(t *testing.T) {
	const size = 100
	for _, tc := range []struct {
		name string
		off  int
		late bool
		want string // "" for no panic
	}{
		{"inside", 0, false, ""},
		{"last", size - 1, false, ""},
		{"one before", -1, false, "buffer of 100 bytes: byte 1 before it was written"},
		{"a zone before", -zone, false, "byte 64 before it was written"},
		{"one behind", size, false, "byte 1 behind it was written"},
		{"a zone behind", size + zone - 1, false, "byte 64 behind it was written"},
		{"late", 42, true, "byte 42 of it was written after Free"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pd := newDomain(t)
			b := alloc(t, pd, size)
			block := pd.heap.blocks[&b[0]]
			write := func() { // although step 5 would report it
				allow(block.whole)
				block.whole[block.at+tc.off]++
			}
			text := panics(func() {
				if !tc.late {
					write()
				}
				if err := pd.Free(b); err != nil {
					t.Fatal(err)
				}
				if tc.late {
					write()
				}
				if err := pd.Close(); err != nil {
					t.Fatal(err)
				}
			})
			if tc.want == "" && text != "" || !strings.Contains(text, tc.want) || text != "" && !strings.Contains(text, "heap_test.go") {
				t.Errorf("panic %q, want one with %q and the stack of the Alloc", text, tc.want)
			}
		})
	}
}

// The freed memory that is kept is bounded, and is checked when it is dropped.
func TestStep3Bound(t *testing.T) {
	pd := newDomain(t)
	first := alloc(t, pd, 1000)
	for i := range 3000 {
		b := alloc(t, pd, 1000)
		if err := pd.Free(b); err != nil {
			t.Fatal(err)
		}
		if pd.heap.bytes > freedBytes {
			t.Fatalf("%d bytes set aside after %d frees, want at most %d", pd.heap.bytes, i, freedBytes)
		}
	}
	if err := pd.Free(first); err != nil {
		t.Fatal(err)
	}
	allow(first)
	first[0] = 1
	text := panics(func() {
		for range 3000 {
			if err := pd.Free(alloc(t, pd, 1000)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !strings.Contains(text, "after Free") {
		t.Errorf("panic %q, want the late write to be found", text)
	}
}
