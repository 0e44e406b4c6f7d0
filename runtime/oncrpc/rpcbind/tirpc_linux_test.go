package rpcbind

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// libtirpc registers at our server, over the socket in the file system, and finds and lists over
// TCP. It asks for the time over UDP.
func TestTirpcUsesOurServer(t *testing.T) {
	cc, headers := witness.Program(t, "cc"), witness.Libtirpc(t)
	if !isolated.Run(t) {
		return
	}
	program := filepath.Join(t.TempDir(), "binder")
	if out, err := exec.Command(cc, "-O1", "-w", "-I", headers, "-o", program, "testdata/binder.c", "-ltirpc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	binder := NewServer(nil)
	handler := rpc.NewHandler(nil, binder.Services()...)
	for _, addr := range []string{"127.0.0.1:111", "unix:/run/rpcbind.sock"} {
		server, err := tcp.Listen(ctx, addr, handler, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
	}
	overUDP, err := udp.Listen(ctx, "127.0.0.1:111", handler, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer overUDP.Close()
	const want = `set 1
set again 0
getaddr 1 127.0.0.1.3.232
getaddr of another program 0
dump 1
gettime over UDP 1 1
unset 1
unset again 0
pmap_set 1
pmap_unset 1
`
	out, err := exec.CommandContext(ctx, program).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
