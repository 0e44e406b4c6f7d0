package perftest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// connector connects a queue pair, by Dial or by Accept.
type connector = func(context.Context, verbs.QueuePair) error

// PingPong sends messages of size bytes back and forth between two queue pairs of a device. Both
// ends poll, as ib_send_lat does between two processes. It returns the median half of a round trip.
func PingPong(ctx context.Context, dev verbs.Device, messages, size int, dial, accept connector) (_ time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const depth = 8
	client, err := newConn(dev, 2*size, depth)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.close()) }()
	server, err := newConn(dev, 2*size, depth)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	answered := make(chan error, 1)
	go func() {
		err := server.receive(1, server.part(size, size))
		if err == nil {
			err = accept(ctx, server.qp)
		}
		for n := 0; n < messages && err == nil; n++ {
			_, err = server.turn(ctx, size, false)
		}
		if err != nil {
			cancel()
		}
		answered <- err
	}()
	trips := make([]time.Duration, messages)
	if err = client.receive(1, client.part(size, size)); err == nil {
		err = dial(ctx, client.qp)
	}
	for n := 0; n < messages && err == nil; n++ {
		trips[n], err = client.turn(ctx, size, true)
	}
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, <-answered); err != nil {
		return 0, fmt.Errorf("perftest: ping-pong of %d bytes: %w", size, err)
	}
	slices.Sort(trips)
	return trips[messages/2] / 2, nil
}

// turn sends a message and receives one, in this order or the other, and returns the time of both.
func (c *conn) turn(ctx context.Context, size int, first bool) (time.Duration, error) {
	start := time.Now()
	send := func() error {
		_, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: c.part(0, size)}})
		return err
	}
	if first {
		if err := send(); err != nil {
			return 0, err
		}
	}
	wc, err := c.spin(ctx, &c.received)
	if err != nil {
		return 0, err
	}
	trip := time.Since(start)
	if int(wc.ByteLen) != size {
		return 0, fmt.Errorf("a message of %d bytes, expected %d", wc.ByteLen, size)
	}
	if err := c.receive(1, c.part(size, size)); err != nil {
		return 0, err
	}
	if !first {
		if err := send(); err != nil {
			return 0, err
		}
	}
	_, err = c.spin(ctx, &c.sent)
	return trip, err
}

// spin polls for a completion. Progress may return before it has called the function, again and
// again, so spin also polls between its calls.
func (c *conn) spin(ctx context.Context, q *queue) (verbs.WC, error) {
	var wc [1]verbs.WC
	n, err := 0, error(nil)
	poll := func() bool {
		n, err = q.cq.Poll(wc[:])
		return n > 0 || err != nil
	}
	for p := verbs.ProgresserOf(c.qp); !poll(); runtime.Gosched() {
		if p.Progress(poll); n > 0 || err != nil {
			break
		}
		if err := ctx.Err(); err != nil {
			return verbs.WC{}, err
		}
	}
	if err != nil {
		return verbs.WC{}, err
	}
	return wc[0], wc[0].Err()
}
