package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// both has the two ends when the device is connected to itself.
type both struct {
	server     *rdmaio.Server
	near, far  *rdmaio.Conn
	serverSide chan *rdmaio.Conn
}

// connectBoth connects the device with itself, and makes enough Calls to use every entry of the
// queues more than once.
func connectBoth(ctx context.Context, dev verbs.Device, addr string) (_ *both, err error) {
	b := &both{serverSide: make(chan *rdmaio.Conn, 1)}
	handler := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if conn, ok := r.Conn().(*rdmaio.Conn); ok {
			select {
			case b.serverSide <- conn:
			default:
			}
		}
		echo(r)
	})
	if b.server, err = rdmaio.Listen(ctx, dev, addr, handler, nil); err != nil {
		return nil, err
	}
	if b.near, err = rdmaio.Dial(ctx, dev, b.server.Addr(), nil); err != nil {
		return nil, errors.Join(err, b.server.Close())
	}
	const calls = 300
	for n := range calls {
		if err := ask(ctx, b.near, n%64*400); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	b.far = <-b.serverSide
	return b, nil
}

func (b *both) close() error { return errors.Join(b.near.Close(), b.server.Close()) }

// ended returns the reason if the connection is closed at one of the ends.
func (b *both) ended() error {
	select {
	case <-b.near.Done():
		return fmt.Errorf("the client's end: %w", b.near.Err())
	case <-b.far.Done():
		return fmt.Errorf("the server's end: %w", b.far.Err())
	default:
		return nil
	}
}

// idle keeps a connection without Calls for a time that is much longer than the device's
// PeerTimeout. The same connection must work afterwards.
func idle(ctx context.Context, o *options, args []string) (err error) {
	if len(args) != 2 {
		return fmt.Errorf("found arguments %q, expected an address and a time", args)
	}
	quiet, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	b, err := connectBoth(ctx, o.dev, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	start := time.Now()
	select {
	case <-time.After(quiet):
	case <-b.near.Done():
	case <-b.far.Done():
	}
	if err := b.ended(); err != nil {
		return fmt.Errorf("the connection ended after %v without Calls: %w", time.Since(start).Round(time.Millisecond), err)
	}
	if err := ask(ctx, b.near, 5000); err != nil {
		return fmt.Errorf("after %v without Calls: %w", quiet, err)
	}
	fmt.Printf("a connection without Calls for %v, with a PeerTimeout of %v\n", quiet, o.peerTimeout)
	return nil
}

// vanish runs a command that cuts the network between both ends. Each must notice within twice the
// device's PeerTimeout: on a busy machine the command and the processes wait for seconds. TCP alone
// would take a quarter of an hour.
func vanish(ctx context.Context, o *options, args []string) (err error) {
	if len(args) < 2 {
		return fmt.Errorf("found arguments %q, expected an address and a command", args)
	}
	b, err := connectBoth(ctx, o.dev, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	time.Sleep(o.peerTimeout) // so that pings have begun
	if err := b.ended(); err != nil {
		return fmt.Errorf("before the network was cut: %w", err)
	}
	if out, err := exec.CommandContext(ctx, args[1], args[2:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w: %s", args[1:], err, out)
	}
	start, limit := time.Now(), 2*o.peerTimeout
	late := time.After(limit)
	for name, end := range map[string]*rdmaio.Conn{"client": b.near, "server": b.far} {
		select {
		case <-end.Done():
			fmt.Printf("%s: %v after the cut: %v\n", name, time.Since(start).Round(time.Millisecond), end.Err())
		case <-late:
			return fmt.Errorf("the %s has not noticed within %v that its peer is gone", name, limit)
		}
	}
	return nil
}
