package isolated_test

import (
	"net"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
)

// A test has a port that is taken outside, an empty /run, and the variables that it asked for.
func TestRun(t *testing.T) {
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	if !isolated.Run(t, "ISOLATED_TAKEN="+outside.Addr().String()) {
		return
	}
	inside, err := net.Listen("tcp", os.Getenv("ISOLATED_TAKEN"))
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	if list, err := os.ReadDir("/run"); err != nil || len(list) != 0 {
		t.Errorf("/run has %v, %v", list, err)
	}
	isolated.Rpcbind(t)
	if _, err := os.Stat("/run/rpcbind.sock"); err != nil {
		t.Error(err)
	}
}
