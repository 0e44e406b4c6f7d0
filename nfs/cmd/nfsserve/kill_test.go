package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/fsx"
	"github.com/rpcrdma/rpcrdma/nfs/fsx/fsxtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// counted calls reached after a number of calls of a carrier.
type counted struct {
	oncrpc.Carrier
	left    atomic.Int64
	reached func()
}

func (c *counted) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if c.left.Add(-1) == 0 {
		go c.reached() // while this call and others are in flight
	}
	return c.Carrier.Call(ctx, call)
}

// Random WRITEs to a server that is killed again and again, with calls in flight, end with the
// files that the client has written: it sends all data again that a changed verifier reports lost.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	base := t.TempDir()
	program, dir := filepath.Join(base, "nfsserve"), filepath.Join(base, "dir")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check(t, os.Mkdir(dir, 0o777))
	check(t, os.Chmod(dir, 0o777))
	var addr atomic.Value // the client finds the server at another port each time
	run := func() *exec.Cmd {
		cmd := exec.Command(program, "-tcp", "127.0.0.1:0", "-rdma", "", "-portmap", "off", dir)
		ready := begin(t, cmd, os.Stderr)
		_, at, _ := strings.Cut(ready, ": tcp ")
		at, _, _ = strings.Cut(at, ",")
		addr.Store(at)
		return cmd
	}
	cmd := run()
	end := func() {
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
	}
	defer func() { end() }()

	conn, err := tcp.NewClient(addr.Load().(string), &tcp.ClientConfig{
		Retransmits: 1000, MinBackoff: time.Millisecond,
		Dial: func(ctx context.Context, _ string, cfg *tcp.Config) (*tcp.Conn, error) {
			return tcp.Dial(ctx, addr.Load().(string), cfg)
		},
	})
	check(t, err)
	defer conn.Close()
	cred := &oncrpc.AuthSysParms{UID: 1000, GID: 1000}
	auth, err := cred.Auth()
	check(t, err)
	root, err := mount3rpc.NewClient(conn, &rpc.ClientConfig{Cred: auth}).Mount(t.Context(), mount3.DirPath("/export"))
	check(t, err)

	crash := make(chan struct{}, 1)
	over := &counted{Carrier: conn, reached: func() { crash <- struct{}{} }}
	c, err := client.New(t.Context(), over, nfs3.Handle{Data: root.OK.Handle}, &client.Config{Cred: cred, MaxIO: 8192})
	check(t, err)
	tester := fsx.New(fsxtest.FS(t.Context(), c), fsx.Config{
		Seed: 1, Steps: 400, Files: 4, Only: []fsx.Op{fsx.Write, fsx.Sync},
	})
	done := make(chan error, 1)
	rnd := rand.New(rand.NewPCG(1, 0))
	over.left.Store(200)
	go func() { done <- tester.Run(t.Context()) }()
	kills := 0
	for running := true; running; {
		select {
		case <-crash:
			end()
			cmd = run()
			kills++
			over.left.Store(100 + rnd.Int64N(200))
		case err := <-done:
			check(t, err)
			running = false
		}
	}
	check(t, tester.Compare(fsx.OS(dir)))
	if st := conn.Stats(); kills < 3 || st.Retransmissions == 0 {
		t.Errorf("%d kills, %d calls sent again", kills, st.Retransmissions)
	}
}
