package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A server that is killed between WRITE and COMMIT loses no handle and nothing that was promised:
// the client sees by the verifier that it has to send uncommitted data again (RFC 1813 §4.8).
func TestCrash(t *testing.T) {
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
	run := func(f func(m *mount3rpc.Client, c *nfs3rpc.Client)) {
		cmd := exec.Command(program, "-tcp", "127.0.0.1:0", "-rdma", "", "-portmap", "off", dir)
		ready := begin(t, cmd, os.Stderr)
		defer func() {
			check(t, cmd.Process.Kill())
			_ = cmd.Wait() // killed
		}()
		conn, err := tcp.Dial(t.Context(), "127.0.0.1:"+port(ready), nil)
		check(t, err)
		defer conn.Close()
		cred, err := (&oncrpc.AuthSysParms{UID: 1000, GID: 1000}).Auth()
		check(t, err)
		cfg := &rpc.ClientConfig{Cred: cred}
		f(mount3rpc.NewClient(conn, cfg), nfs3rpc.NewClient(conn, cfg))
	}
	var file nfs3.Handle
	var verf nfs3.WriteVerf
	stable, unstable := bytes.Repeat([]byte("a"), 10_000), bytes.Repeat([]byte("b"), 10_000)
	run(func(m *mount3rpc.Client, c *nfs3rpc.Client) {
		root, err := m.Mount(t.Context(), mount3.DirPath("/export"))
		check(t, err)
		where := nfs3.DirOpArgs{Dir: nfs3.Handle{Data: root.OK.Handle}, Name: nfs3.Filename("file")}
		created, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: where})
		check(t, err)
		file = created.OK.Obj.Handle
		_, err = c.Write(t.Context(), &nfs3.WriteArgs{File: file, Count: 10_000, Stable: nfs3.StableHowFileSync, Data: stable})
		check(t, err)
		res, err := c.Write(t.Context(), &nfs3.WriteArgs{File: file, Offset: 10_000, Count: 10_000, Data: unstable})
		check(t, err)
		verf = res.OK.Verf
	})
	run(func(_ *mount3rpc.Client, c *nfs3rpc.Client) {
		commit, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: file})
		check(t, err)
		if commit.Status != nfs3.StatusOK || commit.OK.Verf == verf {
			t.Fatalf("COMMIT after the crash: %v, verifier %x, before %x", commit.Status, commit.OK.Verf, verf)
		}
		_, err = c.Write(t.Context(), &nfs3.WriteArgs{File: file, Offset: 10_000, Count: 10_000, Data: unstable})
		check(t, err)
		got, err := c.Read(t.Context(), &nfs3.ReadArgs{File: file, Count: 1 << 20})
		check(t, err)
		if !bytes.Equal(got.OK.Data, append(stable, unstable...)) {
			t.Errorf("READ: %v, %d bytes", got.Status, len(got.OK.Data))
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
