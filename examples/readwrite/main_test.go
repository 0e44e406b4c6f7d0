package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// The output has one RDMA Read for the WRITE, one RDMA Write for the READ, a Send in each direction
// for both, the credits, and no copy.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		text string
		n    int
	}{
		{" post       read id", 1},
		{" post       write id", 1},
		{" post       send id", 4},
		{" invalidate key 0x", 3}, // two of the client, the server's local one
		{"credits: 0 in flight, 8 granted", 2},
		{"read 21000 bytes, as written: true; in the caller's own memory: true", 1},
	} {
		if n := strings.Count(out.String(), want.text); n != want.n {
			t.Errorf("found %q %d times, expected %d", want.text, n, want.n)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
