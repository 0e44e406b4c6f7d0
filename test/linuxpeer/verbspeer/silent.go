package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// errGivenUp is the cause of a Dial's context.
var errGivenUp = errors.New("given up by the caller")

// silentLimit is far shorter than the times after which the kernel gives up.
const silentLimit = 8 * time.Second

// silent dials peers that do not answer: a listener of the device that accepts nothing; over iWARP,
// with the word tcp as the last argument, a TCP listener; and an address to which no packets get
// between two commands of the shell. Each Dial must return when its context is canceled, although
// the call of the library may last for minutes. Then the device must work.
func silent(ctx context.Context, o *options, args []string) error {
	if len(args) != 4 && (len(args) != 5 || args[4] != "tcp") {
		return fmt.Errorf("found arguments %q, expected an address, another one, the command that cuts it off, the reverse, and tcp over iWARP", args)
	}
	ln, err := o.dev.Listen(ctx, args[0])
	if err != nil {
		return err
	}
	if err := errors.Join(giveUp(ctx, o.dev, "a listener that accepts nothing", ln.Addr()), ln.Close()); err != nil {
		return err
	}
	if len(args) > 4 {
		tcp, err := net.Listen("tcp", args[0])
		if err != nil {
			return err
		}
		if err := errors.Join(giveUp(ctx, o.dev, "a TCP listener", tcp.Addr().String()), tcp.Close()); err != nil {
			return err
		}
	}
	if err := shell(ctx, args[2]); err != nil {
		return err
	}
	if err := errors.Join(giveUp(ctx, o.dev, "an address without packets", args[1]), shell(ctx, args[3])); err != nil {
		return err
	}
	b, err := connectBoth(ctx, o.dev, args[0])
	if err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	return b.close()
}

// shell runs a command of the shell.
func shell(ctx context.Context, command string) error {
	out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// giveUp dials an address, and cancels the context after a second.
func giveUp(ctx context.Context, dev verbs.Device, what, addr string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(time.Second, func() { cancel(errGivenUp) })
	defer late.Stop()
	start := time.Now()
	conn, err := rdmaio.Dial(ctx, dev, addr, nil)
	took := time.Since(start).Round(time.Millisecond)
	if err == nil {
		return errors.Join(fmt.Errorf("%s: Dial has connected to %s", what, addr), conn.Close())
	}
	if !errors.Is(err, errGivenUp) {
		return fmt.Errorf("%s: Dial failed after %v with %w, expected the cause of its context", what, took, err)
	}
	if took > silentLimit {
		return fmt.Errorf("%s: Dial returned after %v, expected a second, when its context was canceled", what, took)
	}
	fmt.Printf("%s: Dial returned after %v\n", what, took)
	return nil
}
