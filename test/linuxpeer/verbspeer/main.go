// Command verbspeer runs in the guest of test/linuxpeer and uses the guest's RDMA devices through
// the provider ibverbs. It is linked to the system's C library, which the provider loads the
// libraries of rdma-core with.
//
//	verbspeer -device siw0 rping-server 10.0.2.15:7174
//	verbspeer -device siw0 rping-client 10.0.2.15:7174
//	verbspeer -device siw0 perftest-server send 10.0.2.15:18515
//	verbspeer -device siw0 perftest-client send 10.0.2.15:18515
//	verbspeer -device rxe0 -n 1000 -size 64 latency 192.168.77.1:0
//	verbspeer -device rxe0 -n 100 -credits 32 rest 192.168.77.1:0
//	verbspeer -device rxe0 calls 2 192.168.77.1:0
//	verbspeer -device rxe0 -n 20 dials 2 192.168.77.1:0
//	verbspeer -device rxe0 -peer-timeout 2s idle 192.168.77.1:0 20s
//	verbspeer -device siw0 -peer-timeout 2s vanish 10.0.2.15:0 ip link set lo down
//	verbspeer silent 10.0.2.15:0 10.0.2.15:7000 'ip link set lo down' 'ip link set lo up' tcp
//	verbspeer -device rxe0 removed 192.168.77.1:0
//	verbspeer -device rxe0 fsx 20049 20048 192.168.77.1:/export/fsx /export/fsx
//	verbspeer -device siw0 nfs4 cut 1 10.0.2.15 'a command that cuts connections'
//	verbspeer -device rxe0 nfs4 cut 2 192.168.77.1 ''
//
// The commands fsx and nfs4 need the build tag ibverbs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/perftest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/rping"
)

// options are the flags, with the device that they name.
type options struct {
	device   string
	messages int // of rping or perftest, or operations of fsx
	size     int // of a message of perftest
	credits  int // of connections that rest
	noCredit bool

	peerTimeout time.Duration // ibverbs.Config.PeerTimeout
	dev         verbs.Device
}

// commands are the commands by name. Each gets the arguments behind its name.
var commands = map[string]func(ctx context.Context, o *options, args []string) error{
	"rping-server":    rpingServer,
	"rping-client":    rpingClient,
	"perftest-server": perftestServer,
	"perftest-client": perftestClient,
	"latency":         latency,
	"rest":            rest,
	"calls":           calls,
	"dials":           dials,
	"idle":            idle,
	"vanish":          vanish,
	"silent":          silent,
	"removed":         removed,
	"fsx":             random,
	"nfs4":            files4,
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "", "`name` of the device; by default the only one")
	flag.IntVar(&o.messages, "n", 5, "`number` of messages of perftest, pings of rping, connections, or operations of fsx")
	flag.IntVar(&o.size, "size", 4096, "`bytes` of a message of perftest")
	flag.IntVar(&o.credits, "credits", 32, "`number` of calls at a time of a connection that rests")
	flag.BoolVar(&o.noCredit, "no-credit", false, "perftest over RoCE or InfiniBand")
	flag.DurationVar(&o.peerTimeout, "peer-timeout", 0, "`time` after which a peer that does not respond is given up; by default 30 s")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "verbspeer:", err)
		os.Exit(1)
	}
}

// run opens the device and runs a command on it. An object that the command leaves open is an
// error, and so is pinned memory.
func run(ctx context.Context, o *options, args []string) (err error) {
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("found arguments %q, expected a command: see its documentation", args)
	}
	before, err := pinned()
	if err != nil {
		return err
	}
	if o.dev, err = ibverbs.Open(&ibverbs.Config{Device: o.device, PeerTimeout: o.peerTimeout, Logger: slog.Default()}); err != nil {
		return err
	}
	failure := commands[args[0]](ctx, o, args[1:])
	left := o.dev.Resources()
	if left != (verbs.Resources{}) {
		err = fmt.Errorf("objects left open: %+v", left)
	}
	if err := errors.Join(failure, err, o.dev.Close()); err != nil {
		return err
	}
	after, err := pinned()
	if err == nil && after != before {
		err = fmt.Errorf("pinned memory: %d kB before, %d kB after", before, after)
	}
	return err
}

// accept returns a function that connects a queue pair to the next client of a listener.
func accept(ctx context.Context, ln verbs.Listener, params *verbs.ConnParams) func(verbs.QueuePair) error {
	return func(qp verbs.QueuePair) error {
		req, err := ln.Accept(ctx)
		if err != nil {
			return err
		}
		_, err = req.Accept(ctx, qp, params)
		return err
	}
}

// listen listens at the address args[at], and says so.
func listen(ctx context.Context, o *options, args []string, at int) (verbs.Listener, error) {
	if len(args) != at+1 {
		return nil, fmt.Errorf("found arguments %q, expected %d", args, at+1)
	}
	ln, err := o.dev.Listen(ctx, args[at])
	if err == nil {
		fmt.Println("listening at", ln.Addr())
	}
	return ln, err
}

// dial returns a function that connects a queue pair to the address args[at], as soon as a program
// of this machine listens there.
func dial(ctx context.Context, o *options, args []string, at int, params *verbs.ConnParams) (func(verbs.QueuePair) error, error) {
	if len(args) != at+1 {
		return nil, fmt.Errorf("found arguments %q, expected %d", args, at+1)
	}
	return func(qp verbs.QueuePair) error {
		if err := awaitListener(ctx, args[at]); err != nil {
			return err
		}
		_, err := o.dev.Dial(ctx, args[at], qp, params)
		return err
	}, nil
}

// oneRead are the depths of rping, which has one Read at a time.
func oneRead() *verbs.ConnParams {
	return &verbs.ConnParams{InitiatorDepth: 1, ResponderResources: 1}
}

func rpingServer(ctx context.Context, o *options, args []string) error {
	ln, err := listen(ctx, o, args, 0)
	if err != nil {
		return err
	}
	err = rping.Run(ctx, o.dev, rping.Config{Server: true, Pings: o.messages, Connect: accept(ctx, ln, oneRead())})
	return errors.Join(err, ln.Close())
}

func rpingClient(ctx context.Context, o *options, args []string) error {
	connect, err := dial(ctx, o, args, 0, oneRead())
	if err != nil {
		return err
	}
	return rping.Run(ctx, o.dev, rping.Config{Pings: o.messages, Connect: connect})
}

// operations are the names of perftest's programs, less ib_ and _bw.
var operations = map[string]verbs.Opcode{"send": verbs.Send, "write": verbs.RDMAWrite, "read": verbs.RDMARead}

// perftestConfig returns the settings of a run of which args[0] is the operation.
func perftestConfig(o *options, args []string) (perftest.Config, error) {
	cfg := perftest.Config{Messages: o.messages, Size: o.size, NoCredit: o.noCredit}
	if len(args) == 0 {
		return cfg, errors.New("found no operation, expected send, write or read")
	}
	op, ok := operations[args[0]]
	if !ok {
		return cfg, fmt.Errorf("found operation %q, expected send, write or read", args[0])
	}
	cfg.Op = op
	return cfg, nil
}

func perftestServer(ctx context.Context, o *options, args []string) error {
	cfg, err := perftestConfig(o, args)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, o, args, 1)
	if err != nil {
		return err
	}
	cfg.Server, cfg.Connect = true, accept(ctx, ln, nil)
	_, err = perftest.Run(ctx, o.dev, cfg)
	return errors.Join(err, ln.Close())
}

func perftestClient(ctx context.Context, o *options, args []string) error {
	cfg, err := perftestConfig(o, args)
	if err != nil {
		return err
	}
	if cfg.Connect, err = dial(ctx, o, args, 1, nil); err != nil {
		return err
	}
	res, err := perftest.Run(ctx, o.dev, cfg)
	if err == nil {
		fmt.Printf("%d messages of %d bytes: %.2f MB/s\n", o.messages, o.size, float64(o.messages*o.size)/res.Time.Seconds()/1e6)
	}
	return err
}
