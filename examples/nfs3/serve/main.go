// Command serve serves a directory by NFS version 3, over TCP and over RDMA at once.
// docs/nfs-server.md explains it; package nfsd lists what it leaves out.
//
//	go run ./examples/nfs3/serve -state /var/lib/nfs3 /srv/data &
//	mount -t nfs -o vers=3,nolock,port=2049,mountport=2049,tcp 127.0.0.1:/export /mnt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rpcrdma/rpcrdma/examples/nfs3/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// options are the flags.
type options struct {
	tcp, rdma, provider string
	nfsd.Config
}

func main() {
	var o options
	flag.StringVar(&o.tcp, "tcp", "localhost:2049", "`address` for NFS and MOUNT over TCP")
	flag.StringVar(&o.rdma, "rdma", "localhost:20049", "`address` for NFS over RDMA; empty for none")
	flag.StringVar(&o.provider, "provider", "iwarp", "verbs `provider`: iwarp or rdmatcp")
	flag.StringVar(&o.State, "state", "", "`directory` for the key and the table of handles; default DIR.nfs3, beside DIR")
	flag.StringVar(&o.Export, "export", "/export", "`path` that clients mount")
	flag.BoolVar(&o.ReadOnly, "ro", false, "refuse all changes")
	flag.BoolVar(&o.AllowRoot, "allow-root", false, "let user 0 of clients act as root, if the server runs as root")
	flag.BoolVar(&o.Async, "async", false, "reply before changes are on the disk")
	flag.BoolVar(&o.StrictCookies, "strict-cookies", false, "refuse to go on with the listing of a directory that has changed")
	flag.Parse()
	if o.Dir = flag.Arg(0); o.Dir == "" || flag.NArg() > 1 {
		fmt.Fprintln(os.Stderr, "usage: serve [flags] DIR")
		flag.PrintDefaults()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

// serve serves a directory until ctx is done.
func serve(ctx context.Context, o options, ready io.Writer) (err error) {
	if o.State == "" {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return err
		}
		o.State = dir + ".nfs3"
	}
	server, err := nfsd.New(o.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	handler := server.Handler() // one for both, so that the reply cache sees all calls

	byTCP, err := tcp.Listen(ctx, o.tcp, handler, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, byTCP.Close()) }()
	fmt.Fprintf(ready, "serving %s as %s: tcp %s", o.Dir, o.Export, byTCP.Addr())
	if o.rdma != "" {
		addr, closeRDMA, failure := serveRDMA(ctx, o, handler)
		if failure != nil {
			return failure
		}
		defer func() { err = errors.Join(err, closeRDMA()) }()
		fmt.Fprintf(ready, ", %s %s", o.provider, addr)
	}
	fmt.Fprintln(ready)
	<-ctx.Done()
	return nil
}

// serveRDMA serves over RDMA, and returns the address and the function that ends it.
func serveRDMA(ctx context.Context, o options, handler oncrpc.Handler) (addr string, end func() error, err error) {
	var dev verbs.Device
	switch o.provider {
	case "iwarp":
		dev, err = iwarp.Open(nil)
	case "rdmatcp":
		dev, err = rdmatcp.Open(nil)
	default:
		err = fmt.Errorf("found provider %q, expected iwarp or rdmatcp", o.provider)
	}
	if err != nil {
		return "", nil, err
	}
	server, err := rdmaio.Listen(ctx, dev, o.rdma, handler, nil)
	if err != nil {
		return "", nil, errors.Join(err, dev.Close())
	}
	return server.Addr(), func() error { return errors.Join(server.Close(), dev.Close()) }, nil
}
