package main

import (
	"archive/zip"
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// running calls f with a client of user 1000 and the root while a server runs.
func running(t *testing.T, o options, f func(c *nfs3rpc.Client, root nfs3.Handle)) {
	t.Helper()
	o.tcp, o.portmap, o.provider, o.Export = "127.0.0.1:0", "off", "rdmatcp", "/export"
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, o, write, io.Discard)
		write.Close()
	}()
	ready, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		stop()
		t.Fatal(err, <-done)
	}
	_, addr, _ := strings.Cut(strings.TrimSpace(ready), ": tcp ")
	conn, err := tcp.Dial(ctx, addr, nil)
	check(t, err)
	cred, err := (&oncrpc.AuthSysParms{UID: 1000, GID: 1000}).Auth()
	check(t, err)
	cfg := &rpc.ClientConfig{Cred: cred}
	root, err := mount3rpc.NewClient(conn, cfg).Mount(ctx, mount3.DirPath("/export"))
	check(t, err)
	f(nfs3rpc.NewClient(conn, cfg), nfs3.Handle{Data: root.OK.Handle})
	check(t, conn.Close())
	stop()
	check(t, <-done)
}

// -fs zip serves the files of a zip file, and takes no changes.
func TestZipFileIsServed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "files.zip")
	f, err := os.Create(name)
	check(t, err)
	w := zip.NewWriter(f)
	part, err := w.Create("dir/file")
	check(t, err)
	_, err = part.Write([]byte("zipped"))
	check(t, err)
	check(t, w.Close())
	check(t, f.Close())
	o := options{files: "zip"}
	o.Dir = name
	running(t, o, func(c *nfs3rpc.Client, at nfs3.Handle) {
		var dir nfs3.Handle
		for _, name := range []string{"dir", "file"} {
			dir = at
			res, err := c.Lookup(t.Context(), &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: at, Name: nfs3.Filename(name)}})
			check(t, err)
			if res.Status != nfs3.StatusOK {
				t.Fatalf("LOOKUP of %s: %v", name, res.Status)
			}
			at = res.OK.Object
		}
		res, err := c.Read(t.Context(), &nfs3.ReadArgs{File: at, Count: 100})
		check(t, err)
		if string(res.OK.Data) != "zipped" || !res.OK.EOF {
			t.Errorf("READ: %v, %q", res.Status, res.OK.Data)
		}
		gone, err := c.Remove(t.Context(), &nfs3.RemoveArgs{Object: nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename("file")}})
		check(t, err)
		if gone.Status != nfs3.StatusRofs {
			t.Errorf("REMOVE: %v, expected NFS3ERR_ROFS", gone.Status)
		}
	})
	o.Dir = filepath.Join(t.TempDir(), "none.zip")
	if err := serve(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "none.zip") {
		t.Errorf("a zip file that does not exist: %v", err)
	}
}

// -fs mem serves an empty directory, in which every user makes files.
func TestMemoryIsServed(t *testing.T) {
	running(t, options{files: "mem"}, func(c *nfs3rpc.Client, root nfs3.Handle) {
		made, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: nfs3.DirOpArgs{Dir: root, Name: nfs3.Filename("file")}})
		check(t, err)
		wrote, err := c.Write(t.Context(), &nfs3.WriteArgs{File: made.OK.Obj.Handle, Count: 4, Data: []byte("text"), Stable: nfs3.StableHowFileSync})
		check(t, err)
		if made.Status != nfs3.StatusOK || wrote.Status != nfs3.StatusOK {
			t.Errorf("CREATE %v, WRITE %v", made.Status, wrote.Status)
		}
	})
}
