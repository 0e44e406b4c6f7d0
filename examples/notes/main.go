// Command notes serves short texts by ONC RPC, over TCP and over RDMA at once, and calls that
// server over either. docs/oncrpc.md explains it.
//
//	go run ./examples/notes serve &
//	go run ./examples/notes put greeting 'good morning'
//	go run ./examples/notes -over rdma get greeting
//	go run ./examples/notes list
//	kill %1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func main() {
	over := flag.String("over", "tcp", "`carrier` of the calls: tcp or rdma")
	tcpAddr := flag.String("tcp", "localhost:20200", "`address` of the server over TCP")
	rdmaAddr := flag.String("rdma", "localhost:20201", "`address` of the server over RDMA")
	announced := flag.Bool("announce", false, "register the server with the rpcbind of this host")
	host := flag.String("find", "", "ask the rpcbind of this `host` for the address of the server")
	flag.Usage = usage
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *host != "" {
		*tcpAddr, err = find(ctx, *host, *over)
		*rdmaAddr = *tcpAddr
	}
	switch {
	case err != nil:
	case *over != "tcp" && *over != "rdma":
		err = fmt.Errorf("found -over %q, expected tcp or rdma", *over)
	case flag.Arg(0) == "serve":
		err = serve(ctx, *tcpAddr, *rdmaAddr, *announced, os.Stdout)
	case *over == "rdma":
		err = overRDMA(*rdmaAddr, func(c oncrpc.Carrier) error { return call(ctx, c, flag.Args(), os.Stdout) })
	default:
		err = overTCP(*tcpAddr, func(c oncrpc.Carrier) error { return call(ctx, c, flag.Args(), os.Stdout) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

// usage prints the commands and the flags.
func usage() {
	fmt.Fprint(flag.CommandLine.Output(), `usage: notes [flags] serve            serves notes until it is interrupted
       notes [flags] put NAME TEXT    stores a note
       notes [flags] get NAME         prints the text of a note
       notes [flags] list             prints the names

serves short texts by ONC RPC, over TCP and over RDMA at once, and calls that
server over either. docs/oncrpc.md builds this program step by step. Start a
server in one shell, and call it in another:

       notes serve
       notes put greeting 'good morning'
       notes -over rdma get greeting

flags:
`)
	flag.PrintDefaults()
}

// serve serves one board over both carriers until ctx is done. A call that a client sends again is
// not executed again, even if it comes over the other carrier.
func serve(ctx context.Context, tcpAddr, rdmaAddr string, announced bool, ready io.Writer) (err error) {
	service := notesrpc.NewService(&board{texts: map[string][]byte{}})
	handler := replycache.New(rpc.NewHandler(nil, service), nil)

	byTCP, err := tcp.Listen(ctx, tcpAddr, handler, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, byTCP.Close()) }()

	device, err := rdmatcp.Open(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	byRDMA, err := rdmaio.Listen(ctx, device, rdmaAddr, handler, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, byRDMA.Close()) }()

	if announced {
		if err := announce(ctx, byTCP.Addr(), byRDMA.Addr()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, withdraw(context.Background())) }()
	}
	fmt.Fprintln(ready, "serving", byTCP.Addr(), byRDMA.Addr())
	<-ctx.Done()
	// Calls in progress are answered before the connections close.
	ending, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	return errors.Join(byTCP.Shutdown(ending), byRDMA.Shutdown(ending))
}

// overTCP calls use with a client over TCP, which connects when it is needed. A first call fails if
// there is no server. ClientConfig.WaitForServer would make it wait for one.
func overTCP(addr string, use func(oncrpc.Carrier) error) (err error) {
	client, err := tcp.NewClient(addr, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return use(client)
}

// overRDMA calls use with a client over RDMA.
func overRDMA(addr string, use func(oncrpc.Carrier) error) (err error) {
	device, err := rdmatcp.Open(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	client, err := rdmaio.NewClient(device, addr, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return use(client)
}

// call makes the call that the words ask for: put NAME TEXT, get NAME or list.
func call(ctx context.Context, over oncrpc.Carrier, words []string, out io.Writer) error {
	board := notesrpc.NewClient(over, nil)
	switch {
	case len(words) == 3 && words[0] == "put":
		return board.Put(ctx, &notes.Note{Name: notes.NoteName(words[1]), Text: []byte(words[2])})
	case len(words) == 2 && words[0] == "get":
		res, err := board.Get(ctx, notes.NoteName(words[1]))
		if err != nil {
			return err
		}
		if res.Status != notes.NoteStatusOK {
			return fmt.Errorf("%s: %v", words[1], res.Status)
		}
		fmt.Fprintf(out, "%s\n", res.Found.Text)
		return nil
	case len(words) == 1 && words[0] == "list":
		names, err := board.List(ctx)
		for _, name := range names {
			fmt.Fprintln(out, name)
		}
		return err
	}
	return fmt.Errorf("found %q, expected serve, put NAME TEXT, get NAME or list; -h shows the flags, which come first", words)
}
