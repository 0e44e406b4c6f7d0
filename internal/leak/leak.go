// Package leak fails a test binary that leaves goroutines of this module behind.
//
//	func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }
package leak

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// modulePath is in the stacks of goroutines of this module.
const modulePath = "github.com/rpcrdma/rpcrdma/"

// patience is the time that goroutines have to end after the tests.
const patience = time.Second

// Run runs the tests and returns their exit code. If they passed, but a goroutine that runs code of
// this module, or was started by it, has not ended a second later, Run returns 1 and writes its
// stack to standard error.
func Run(m interface{ Run() int }) int {
	return run(m, modulePath, patience, os.Stderr)
}

func run(m interface{ Run() int }, path string, wait time.Duration, out io.Writer) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	left := Wait(path, wait)
	if len(left) == 0 {
		return 0
	}
	fmt.Fprintf(out, "leak: %d goroutines of %s left %v after the tests; give each an owner that stops and joins it:\n\n%s\n",
		len(left), path, wait, strings.Join(left, "\n\n"))
	return 1
}

// Wait waits until there is no goroutine, other than the caller's, whose stack names a function
// below the import path, or until atMost has passed. It returns the stacks of the goroutines that
// are left.
func Wait(path string, atMost time.Duration) []string {
	deadline := time.Now().Add(atMost)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := Goroutines(path)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// Goroutines returns the stacks that name a function below the import path, of all goroutines but
// the caller's.
func Goroutines(path string) []string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := strings.Split(strings.TrimSpace(string(buf)), "\n\n")
	var ours []string
	for _, g := range all[1:] { // the first one is the caller
		if strings.Contains(g, path) {
			ours = append(ours, g)
		}
	}
	return ours
}
