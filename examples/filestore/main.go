// Command filestore shows the way from a .x file to data in the caller's memory. xdrgen generates
// package store from store.x and its sidecar; its encoders leave bulk data out of the RPC message.
// Package oncrpc/rpc makes and serves the calls. Package rdmaio sends the message inline, and the
// data by RDMA Read and Write.
//
//	go run ./examples/filestore                   # within this process
//	go run ./examples/filestore -provider rdmatcp # over TCP on this machine
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const usage = `usage: filestore [-provider NAME]

writes a file of a server and reads it back, by the types and stubs that xdrgen
has generated from store.x. The sidecar store.bind names the data that RDMA
moves: the server fetches the data of WRITE from the client's memory, and puts
the data of READ into it. Server and client run in this process.

To read next: store.x and store.bind, then server.go and client.go; and
docs/oncrpc.md for a server and a client in two processes.

flags:
`

func main() {
	provider := flag.String("provider", "mem", "verbs `provider`: mem, in memory, or rdmatcp, over TCP")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "filestore: found %q, expected no arguments after the flags\n", flag.Args())
		os.Exit(2)
	}
	if err := run(os.Stdout, *provider); err != nil {
		fmt.Fprintln(os.Stderr, "filestore:", err)
		os.Exit(1)
	}
}

// devices opens a device for the server and one for the client, and returns the address to listen
// on.
func devices(provider string) (server, client verbs.Device, addr string, err error) {
	switch provider {
	case "mem":
		fabric := mem.New(nil)
		s, serr := fabric.Open("server", nil)
		c, cerr := fabric.Open("client", nil)
		return s, c, "store", errors.Join(serr, cerr)
	case "rdmatcp":
		s, serr := rdmatcp.Open(nil)
		c, cerr := rdmatcp.Open(nil)
		return s, c, "127.0.0.1:0", errors.Join(serr, cerr)
	}
	return nil, nil, "", fmt.Errorf("found provider %q, expected mem or rdmatcp", provider)
}

func run(out io.Writer, provider string) (err error) {
	ctx := context.Background()
	serverDev, clientDev, addr, err := devices(provider)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clientDev.Close(), serverDev.Close()) }()
	server, err := rdmaio.Listen(ctx, serverDev, addr, newStore(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	conn, err := rdmaio.Dial(ctx, clientDev, server.Addr(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	files := &client{storerpc.NewClient(conn, nil)}
	text := bytes.Repeat([]byte("line upon line\n"), 50_000)
	n, err := files.write(ctx, "poem", 0, text)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %d bytes by RDMA Read\n", n)

	buf := make([]byte, len(text))
	got, err := files.read(ctx, "poem", 0, buf)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "read %d bytes by RDMA Write, as written: %v, into our own memory: %v\n",
		len(got), bytes.Equal(got, text), &got[0] == &buf[0])

	_, err = files.read(ctx, "prose", 0, buf)
	fmt.Fprintf(out, "reading another file: %v\n", err)
	return nil
}
