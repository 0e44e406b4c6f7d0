// Command nfs3 writes a file to an NFS version 3 server over RDMA, lists the folder, reads the file
// back, and removes it. Nothing is mounted: the program is the NFS client.
//
//	go run ./examples/nfs3 -export /export storage.example.net
//
// docs/nfs.md explains it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// options are the flags.
type options struct {
	server, mount, export, provider, name string
	size                                  int
}

func main() {
	var o options
	flag.StringVar(&o.mount, "mount", "", "`address` of the mount service; default port 20048 of the server")
	flag.StringVar(&o.export, "export", "/export", "exported `folder`")
	flag.StringVar(&o.provider, "provider", "iwarp", "verbs `provider`: iwarp or rdmatcp")
	flag.StringVar(&o.name, "name", "hello-rdma", "`name` of the file")
	flag.IntVar(&o.size, "size", 1<<20, "size of the file in `bytes`")
	flag.Parse()
	if o.server = flag.Arg(0); o.server == "" || flag.NArg() > 1 {
		fmt.Fprintln(os.Stderr, "usage: nfs3 [flags] HOST[:PORT]")
		flag.PrintDefaults()
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "nfs3:", err)
		os.Exit(1)
	}
}

// device opens a device of a provider.
func device(provider string) (verbs.Device, error) {
	switch provider {
	case "iwarp":
		return iwarp.Open(nil)
	case "rdmatcp":
		return rdmatcp.Open(nil)
	}
	return nil, fmt.Errorf("found provider %q, expected iwarp or rdmatcp", provider)
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	if _, _, err := net.SplitHostPort(o.server); err != nil {
		o.server = net.JoinHostPort(o.server, "20049") // NFS over RDMA
	}
	host, _, err := net.SplitHostPort(o.server)
	if err != nil {
		return err
	}
	// The server takes our word for the user: AUTH_SYS proves nothing.
	user := oncrpc.AuthSysParms{MachineName: []byte("example"), UID: 0, GID: 0}
	cred, err := user.Auth()
	if err != nil {
		return err
	}
	root, err := mount(ctx, cmp.Or(o.mount, net.JoinHostPort(host, "20048")), o.export, cred)
	if err != nil {
		return err
	}
	dev, err := device(o.provider)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	conn, err := rdmaio.NewClient(dev, o.server, nil) // connects when it is needed
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	program := oncrpc.Program{Number: nfs3.Program, Version: nfs3.Version, Bindings: nfs3.DDPBindings()}
	fs := &fs{rpc.NewClient(conn, program, &rpc.ClientConfig{Cred: cred})}
	return fs.tour(ctx, out, root, o.name, bytes.Repeat([]byte("remote "), o.size/7+1)[:o.size])
}

// mount returns the handle of an exported folder. The mount service speaks TCP, not RDMA.
func mount(ctx context.Context, addr, folder string, cred oncrpc.OpaqueAuth) (nfs3.Handle, error) {
	conn, err := tcp.Dial(ctx, addr, nil)
	if err != nil {
		return nfs3.Handle{}, err
	}
	defer conn.Close()
	path, res := mount3.DirPath(folder), mount3.MountRes{}
	mounts := rpc.NewClient(conn, oncrpc.Program{Number: mount3.Program, Version: mount3.Version}, &rpc.ClientConfig{Cred: cred})
	if err := mounts.Call(ctx, mount3.ProcMount, &path, &res, nil); err != nil {
		return nfs3.Handle{}, err
	}
	return nfs3.Handle{Data: res.OK.Handle}, check("mount of "+folder, res.Status, mount3.StatusOK)
}

// check returns an error if a status is not the one of success.
func check[T interface {
	comparable
	fmt.Stringer
}](what string, status, ok T) error {
	if status != ok {
		return fmt.Errorf("%s: %v", what, status)
	}
	return nil
}

// fs calls the procedures of an NFS server.
type fs struct{ rpc *rpc.Client }

// tour writes a file, lists its folder, reads the file back, and removes it.
func (f *fs) tour(ctx context.Context, out io.Writer, root nfs3.Handle, name string, data []byte) error {
	var info nfs3.FSInfoRes
	err := f.rpc.Call(ctx, nfs3.ProcFSInfo, &nfs3.FSInfoArgs{FSRoot: root}, &info, nil)
	if err = errors.Join(err, check("FSINFO", info.Status, nfs3.StatusOK)); err != nil {
		return err
	}
	where := nfs3.DirOpArgs{Dir: root, Name: nfs3.Filename(name)}
	how := nfs3.CreateHow{Mode: nfs3.CreateModeUnchecked, ObjAttributes: nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o644}}}
	var created nfs3.CreateRes
	err = f.rpc.Call(ctx, nfs3.ProcCreate, &nfs3.CreateArgs{Where: where, How: how}, &created, nil)
	if err = errors.Join(err, check("CREATE "+name, created.Status, nfs3.StatusOK)); err != nil {
		return err
	}
	file := created.OK.Obj.Handle

	if err := f.write(ctx, file, data, int(info.OK.Wtmax)); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %d bytes: the server fetched them by RDMA Read\n", len(data))

	// Memory for the reply decides how much the server may send; it comes by reply chunk.
	var dir nfs3.ReadDirRes
	err = f.rpc.Call(ctx, nfs3.ProcReadDir, &nfs3.ReadDirArgs{Dir: root, Count: 8192}, &dir, &rpc.Options{ReplyBuf: make([]byte, 9000)})
	if err = errors.Join(err, check("READDIR", dir.Status, nfs3.StatusOK)); err != nil {
		return err
	}
	for _, e := range dir.OK.Reply.Entries {
		if string(e.Name) == name {
			fmt.Fprintf(out, "the folder has the file %s\n", e.Name)
		}
	}

	got := make([]byte, len(data))
	if err := f.read(ctx, file, got, int(info.OK.Rtmax)); err != nil {
		return err
	}
	fmt.Fprintf(out, "read %d bytes: the server placed them by RDMA Write, as written: %v\n", len(got), bytes.Equal(got, data))

	var removed nfs3.RemoveRes
	err = f.rpc.Call(ctx, nfs3.ProcRemove, &nfs3.RemoveArgs{Object: where}, &removed, nil)
	return errors.Join(err, check("REMOVE "+name, removed.Status, nfs3.StatusOK))
}

// write writes data to a file in calls of at most most bytes, and commits them.
func (f *fs) write(ctx context.Context, file nfs3.Handle, data []byte, most int) error {
	for done := 0; done < len(data); {
		part := data[done:min(done+most, len(data))]
		args := nfs3.WriteArgs{File: file, Offset: nfs3.Offset(done), Count: nfs3.Count(len(part)), Stable: nfs3.StableHowUnstable, Data: part}
		var res nfs3.WriteRes
		err := f.rpc.Call(ctx, nfs3.ProcWrite, &args, &res, nil)
		if err = errors.Join(err, check("WRITE", res.Status, nfs3.StatusOK)); err != nil {
			return err
		}
		done += int(res.OK.Count)
	}
	var res nfs3.CommitRes
	err := f.rpc.Call(ctx, nfs3.ProcCommit, &nfs3.CommitArgs{File: file}, &res, nil)
	return errors.Join(err, check("COMMIT", res.Status, nfs3.StatusOK))
}

// read fills buf from a file in calls of at most most bytes.
func (f *fs) read(ctx context.Context, file nfs3.Handle, buf []byte, most int) error {
	for done := 0; done < len(buf); {
		part := buf[done:min(done+most, len(buf))]
		args := nfs3.ReadArgs{File: file, Offset: nfs3.Offset(done), Count: nfs3.Count(len(part))}
		var res nfs3.ReadRes
		err := f.rpc.Call(ctx, nfs3.ProcRead, &args, &res, &rpc.Options{Results: [][]byte{part}})
		if err = errors.Join(err, check("READ", res.Status, nfs3.StatusOK)); err != nil {
			return err
		}
		if done += int(res.OK.Count); res.OK.Count == 0 {
			return fmt.Errorf("READ: the file ends at byte %d of %d", done, len(buf))
		}
	}
	return nil
}
