package ibverbs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// The variables of TestCallsOnDevice, in addition to envDevice and envAddr.
const (
	// envCalls is "serve", or a number of calls and the bytes that each call reads: "1000 65536".
	// With 0 bytes the calls are to the null procedure.
	envCalls = "RPCRDMA_IBVERBS_CALLS"
	// envWindows, if not empty, makes the device use windows even if they do not protect the memory
	// around them.
	envWindows = "RPCRDMA_IBVERBS_WINDOWS"
)

// reader answers READ of NFS version 3, and no other procedure but the null one.
type reader struct{ nfs3rpc.Server }

// contents is the file. READ returns its first bytes.
var contents = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

func (reader) Read(_ *rpc.Request, args *nfs3.ReadArgs, res *nfs3.ReadRes) error {
	res.OK.Count, res.OK.Data = args.Count, contents[:args.Count]
	return nil
}

// Calls over a real device bring their results. Two processes run this test, so that the system
// calls of either can be counted by strace.
func TestCallsOnDevice(t *testing.T) {
	task, addr := os.Getenv(envCalls), os.Getenv(envAddr)
	if task == "" || addr == "" {
		t.Skipf("%s and %s do not say what to do", envCalls, envAddr)
	}
	before := pinned(t)
	dev, memory, err := ibverbs.OpenCounted(&ibverbs.Config{Device: os.Getenv(envDevice)}, os.Getenv(envWindows) != "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
		if after := pinned(t); after != before {
			t.Errorf("%d kB of pinned memory before the calls, %d kB after them", before, after)
		}
	}()
	if task == "serve" {
		serveReads(t, dev, addr)
		return
	}
	var n, size int
	if _, err := fmt.Sscan(task, &n, &size); err != nil || size > len(contents) {
		t.Fatalf("%s is %q: %v, expected a number of calls and a size up to %d bytes", envCalls, task, err, len(contents))
	}
	conn, err := rdmaio.Dial(t.Context(), dev, addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := nfs3rpc.NewClient(conn, &rpc.ClientConfig{})
	for range n {
		if err := readOnce(t.Context(), client, size); err != nil {
			t.Fatal(err)
		}
	}
	s := conn.Stats()
	fmt.Printf("%d calls of %d bytes: %d registrations with a key for the peer, %d revocations\n", n, size, s.RemoteRegistrations, s.Revocations)
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	for name, n := range map[string]int64{
		"ibv_reg_mr": memory.Registered.Load(), "ibv_dereg_mr": memory.Deregistered.Load(),
		"ibv_alloc_mw": memory.Allocated.Load(), "ibv_dealloc_mw": memory.Deallocated.Load(), "ibv_req_notify_cq": memory.Armed.Load(),
	} {
		fmt.Println("count", name, n)
	}
}

// readOnce makes a call and checks its result.
func readOnce(ctx context.Context, client *nfs3rpc.Client, size int) error {
	if size == 0 {
		return client.Null(ctx)
	}
	res, err := client.Read(ctx, &nfs3.ReadArgs{Count: nfs3.Count(size)})
	if err != nil {
		return err
	}
	if res.Status != nfs3.StatusOK || !bytes.Equal(res.OK.Data, contents[:size]) {
		return fmt.Errorf("a READ of %d bytes has another result", size)
	}
	return nil
}

// serveReads answers calls until the process gets SIGTERM.
func serveReads(t *testing.T, dev *ibverbs.Device, addr string) {
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	server, err := rdmaio.Listen(ctx, dev, addr, rpc.NewHandler(nil, nfs3rpc.NewService(reader{})), nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("serving at", server.Addr())
	<-ctx.Done()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
