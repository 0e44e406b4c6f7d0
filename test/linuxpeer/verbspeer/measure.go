package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/perftest"
)

// latency sends messages back and forth between two ends on the device.
func latency(ctx context.Context, o *options, args []string) error {
	ln, err := listen(ctx, o, args, 0)
	if err != nil {
		return err
	}
	half, err := perftest.PingPong(ctx, o.dev, o.messages, o.size,
		func(ctx context.Context, qp verbs.QueuePair) error {
			_, err := o.dev.Dial(ctx, ln.Addr(), qp, nil)
			return err
		},
		func(ctx context.Context, qp verbs.QueuePair) error { return accept(ctx, ln, nil)(qp) })
	if err == nil {
		fmt.Printf("half a round trip of %d bytes: %.2f us\n", o.size, float64(half.Nanoseconds())/1e3)
	}
	return errors.Join(err, ln.Close())
}

// rest makes connections without Calls, one after the other, and prints how many it made in a
// second, and what the kernel has pinned for one end of each.
func rest(ctx context.Context, o *options, args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("found arguments %q, expected an address", args)
	}
	cfg := &rdmaio.Config{Credits: o.credits}
	server, err := rdmaio.Listen(ctx, o.dev, args[0], echo, cfg)
	if err != nil {
		return err
	}
	var conns []*rdmaio.Conn
	defer func() {
		for _, conn := range conns {
			err = errors.Join(err, conn.Close())
		}
		err = errors.Join(err, server.Close())
	}()
	before, err := pinned()
	if err != nil {
		return err
	}
	start := time.Now()
	for range o.messages {
		conn, err := rdmaio.Dial(ctx, o.dev, server.Addr(), cfg)
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(conns)+1, err)
		}
		conns = append(conns, conn)
	}
	rate := float64(o.messages) / time.Since(start).Seconds()
	after, err := pinned()
	if err != nil {
		return err
	}
	fmt.Printf("%d connections: %.1f kB pinned for each end, %.0f connections a second\n",
		o.messages, float64(after-before)/float64(2*o.messages), rate)
	return nil
}
