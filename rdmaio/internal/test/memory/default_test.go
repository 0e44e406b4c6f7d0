package memory

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Config.MaxMemory is by default a quarter of the memory that the process may use: a Call that
// needs more than a sixth of that is refused, and one that needs less is not. The limit is read
// once, so the test runs another process.
func TestMaxMemoryIsAQuarterByDefault(t *testing.T) {
	const limit = "GOMEMLIMIT=64MiB"
	if os.Getenv("RDMAIO_MEMORY_TEST") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestMaxMemoryIsAQuarterByDefault$", "-test.v")
		cmd.Env = append(os.Environ(), "RDMAIO_MEMORY_TEST=1", limit)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Config.MaxMemory is 16777216") {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	w := rdmaiotest.New(t)
	refused := make(chan error, 2)
	w.Serve(&rpctest.File{T: t}, &rdmaio.Config{MaxReadBytes: -1, MaxConnMemory: -1, Events: func(e rdmaio.Event) {
		if e, ok := e.(*rdmaio.Refusal); ok {
			refused <- e.Reason
		}
	}})
	c := w.Dial(nil)
	if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, make([]byte, 2<<20))); err != nil {
		t.Error(err)
	}
	if _, err := c.Call(context.Background(), rpctest.WriteCall(2, 0, make([]byte, 3<<20))); err == nil {
		t.Error("3 MiB were taken")
	}
	fmt.Println(<-refused)
}
