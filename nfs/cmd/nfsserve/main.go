// Command nfsserve serves a directory, a zip file or memory by NFS version 3, over TCP and over
// RDMA at once. MOUNT, the lock manager and the port mapper are served over TCP and UDP.
// docs/nfs-server.md explains it; package nfsd lists what it leaves out.
//
//	go run ./nfs/cmd/nfsserve -state /var/lib/nfs3 /srv/data &
//	mount -t nfs -o nolock 127.0.0.1:/export /mnt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/internal/nlm"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/activation"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// options are the flags.
type options struct {
	tcp, rdma, provider, portmap string
	files                        string // the flag -fs
	calls, json, version         bool
	locks                        string
	shell                        string // the flag -completion
	tls                          tlsFlags
	nfsd.Config
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that the second signal kills the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command line, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	set := flag.NewFlagSet("nfsserve", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	o.define(set)
	if _, help := cli.WantsHelp(args); help && len(args) > 0 {
		fmt.Fprint(stdout, cli.Fold(helpText, cli.Width(stdout)))
		return 0
	}
	err := spelling.Flag(set, set.Parse(args))
	if err == nil && o.version || len(args) == 1 && args[0] == "version" {
		fmt.Fprintln(stdout, cli.Version("nfsserve"))
		return 0
	}
	if err == nil && o.shell != "" {
		var text string
		if text, err = script(set, o.shell); err == nil {
			fmt.Fprint(stdout, text)
			return 0
		}
	} else if err == nil {
		err = o.check(set.Args())
	}
	if err != nil {
		fmt.Fprintf(stderr, "nfsserve: %v\nnfsserve -h lists the flags\n", err)
		return 2
	}
	o.Dir, o.NoLocks = set.Arg(0), o.locks == "off"
	if err := serve(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "nfsserve:", err)
		return 1
	}
	return 0
}

// check checks the values of the flags and the arguments after them.
func (o *options) check(args []string) error {
	late := spelling.Late(args)
	switch {
	case len(args) > 1 && late != nil:
		return late
	case !slices.Contains([]string{"auto", "own", "system", "off"}, o.portmap):
		return fmt.Errorf("found -portmap %.64q, expected auto, own, system or off", o.portmap)
	}
	if err := errors.Join(o.checkFiles(args), provider.Check(o.provider), o.tls.check(o.rdma)); err != nil {
		return err
	}
	switch {
	case o.locks != "on" && o.locks != "off":
		return fmt.Errorf("found -locks %.64q, expected on or off", o.locks)
	case o.LockGrace <= 0:
		return fmt.Errorf("found -grace %v, expected a time above zero", o.LockGrace)
	}
	return nil
}

// serve serves files until ctx is done.
func serve(ctx context.Context, o options, ready, warn io.Writer) (err error) {
	stream, endTLS, err := o.tls.open()
	if err != nil {
		return err
	}
	defer endTLS()
	name, closeFiles, err := o.openFiles()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()
	server, err := nfsd.New(o.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	handler := o.log(server.Handler()) // one for both, so that the reply cache sees all calls

	byTCP, err := listen(ctx, o.tcp, handler, stream)
	if err != nil {
		return listening("-tcp", o.tcp, err)
	}
	defer func() { err = errors.Join(err, byTCP.Close()) }()
	o.tcp = byTCP.Addr()
	all := slices.Concat(
		at(nfs3.Program, nfs3.Version, oncrpc.NetIDTCP, byTCP.Addr()),
		at(mount3.Program, mount3.Version, oncrpc.NetIDTCP, byTCP.Addr()),
		o.lockServices(oncrpc.NetIDTCP, byTCP.Addr()))
	if o.tls.mode != "required" {
		switch byUDP, failure := udp.Listen(ctx, o.tcp, o.log(server.UDPHandler()), nil); {
		case failure == nil:
			defer func() { err = errors.Join(err, byUDP.Close()) }()
			all = append(all, at(mount3.Program, mount3.Version, oncrpc.NetIDUDP, byUDP.Addr())...)
			all = append(all, o.lockServices(oncrpc.NetIDUDP, byUDP.Addr())...)
		case !errors.Is(failure, errors.ErrUnsupported): // a wildcard address on this system
			return listening("-tcp", o.tcp, failure)
		}
	}
	byRDMA := ""
	line := fmt.Sprintf("serving %s as %s: tcp %s", name, o.Export, byTCP.Addr())
	if o.rdma != "" {
		addr, closeRDMA, failure := serveRDMA(ctx, o, handler)
		if failure != nil {
			return failure
		}
		defer func() { err = errors.Join(err, closeRDMA()) }()
		byRDMA = addr
		line += fmt.Sprintf(", %s %s", o.provider, addr)
		all = append(all, at(nfs3.Program, nfs3.Version, oncrpc.NetIDRDMA, addr)...)
	}
	where, end, err := portmap(ctx, &o, byTCP.Addr(), all, warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if where != "" {
		line += ", port mapper " + where
	}
	// One write, so that a program that reads the first line and closes the pipe does no harm.
	fmt.Fprint(ready, line+"\n"+o.advice(byTCP.Addr(), byRDMA, where != ""))
	notify(warn, "READY=1")
	<-ctx.Done()
	notify(warn, "STOPPING=1")
	return nil
}

// lockServices returns the registrations of the lock manager, with the program that clients call
// when they have started again.
func (o *options) lockServices(transport, addr string) []service {
	all := at(nlm4.Program, nlm4.Version, transport, addr)
	if !o.NoLocks {
		all = append(all, at(nlm.MonitorProgram, nlm.MonitorVersion, transport, addr)...)
	}
	return all
}

// listening returns the error of a listener with what to do about it.
func listening(name, addr string, err error) error {
	_, _, form := net.SplitHostPort(addr)
	todo := "an address of this machine, as HOST:PORT"
	switch {
	case errors.Is(err, activation.ErrNone):
		todo = "a socket unit of systemd, which passes the socket"
	case errors.Is(err, syscall.EADDRINUSE):
		todo = "another port, or stop the server that uses this one"
	case errors.Is(err, syscall.EACCES):
		todo = "a port above 1023, which needs no privilege"
	case form != nil:
		err, todo = errors.New("the port is missing"), "HOST:PORT, such as "+addr+":2049"
	}
	return fmt.Errorf("%s %q: %w: try %s", name, addr, err, todo)
}

// log returns a handler that logs the calls of h, with the flag -log, or else h.
func (o *options) log(h oncrpc.Handler) oncrpc.Handler {
	if !o.calls {
		return h
	}
	return &callLog{next: h, json: o.json, out: os.Stderr}
}

// serveRDMA serves over RDMA, and returns the address and the function that ends it.
func serveRDMA(ctx context.Context, o options, handler oncrpc.Handler) (addr string, end func() error, err error) {
	dev, err := provider.Open(o.provider)
	if err != nil {
		return "", nil, err
	}
	server, err := rdmaio.Listen(ctx, dev, o.rdma, handler, nil)
	if err != nil {
		return "", nil, errors.Join(listening("-rdma", o.rdma, err), dev.Close())
	}
	return server.Addr(), func() error { return errors.Join(server.Close(), dev.Close()) }, nil
}
