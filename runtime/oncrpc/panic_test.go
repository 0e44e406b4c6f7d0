package oncrpc_test

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

func innermost(list []int) int { return list[7] }

func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

func panicked(f func()) (err *oncrpc.PanicError) {
	defer func() { err = oncrpc.Panicked(recover()) }()
	f()
	return nil
}

// Frames begins with the function that panicked, has no more than eight functions, and fits a line.
func TestPanicFrames(t *testing.T) {
	got := panicked(func() { deep(100, func() { innermost(nil) }) }).Frames()
	frames := strings.Split(got, " < ")
	if len(frames) != 8 || !strings.HasPrefix(frames[0], "oncrpc_test.innermost panic_test.go:10") || !strings.HasPrefix(frames[7], "oncrpc_test.deep panic_test.go:") {
		t.Errorf("found %q", got)
	}
	if strings.ContainsAny(got, "\n\t\"") || len(got) > 600 {
		t.Errorf("not fit for a line: %q", got)
	}
	if got := panicked(func() { panic("said") }).Frames(); !strings.HasPrefix(got, "oncrpc_test.TestPanicFrames.func2 panic_test.go:") {
		t.Errorf("found %q", got)
	}
	if got := (&oncrpc.PanicError{}).Frames(); got != "" {
		t.Errorf("without a stack: %q", got)
	}
}
