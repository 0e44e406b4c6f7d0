package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// connections carry the calls of a measurement: one connection, or with -P a Client with several.
type connections struct {
	first *rdmaio.Conn // its terms are reported; with -P it is closed before the measurement
	calls oncrpc.Carrier
	close func() error

	mu     sync.Mutex
	shared []*sharedConn // as the Client made them
}

// sharedConn is a connection of the Client.
type sharedConn struct {
	*rdmaio.Conn
	warmUp uint64 // calls before the clock started
}

// connect makes the first connection, and with -P the Client, which makes its connections when it
// has calls for them. It returns the address that answered.
func (c *perfCmd) connect(ctx context.Context, dev verbs.Device, addr string, cfg *rdmaio.Config) (*connections, string, error) {
	limit, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	conn, at, err := dial(limit, &c.deviceFlags, dev, addr, cfg)
	if err != nil {
		return nil, "", err
	}
	cs := &connections{first: conn, calls: conn, close: conn.Close}
	if c.Parallel == 1 {
		return cs, at, nil
	}
	client, err := rdmaio.NewClient(dev, at, &rdmaio.ClientConfig{
		Conn: cfg, Connections: c.Parallel, DialTimeout: c.Wait, Connected: cs.made,
		// A lost Call stops the measurement. The server may still have the first connection.
		Retransmits: -1, IdleTimeout: -1, DialFailures: 2, MinBackoff: 100 * time.Millisecond,
	})
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, "", explain("connection", at, err)
	}
	cs.calls, cs.close = client, client.Close
	return cs, at, nil
}

// made records a connection of the Client.
func (cs *connections) made(_ context.Context, conn *rdmaio.Conn) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.shared = append(cs.shared, &sharedConn{Conn: conn})
	return nil
}

// list returns the connections.
func (cs *connections) list() []*rdmaio.Conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var all []*rdmaio.Conn
	for _, conn := range cs.shared {
		if conn.Err() == nil {
			all = append(all, conn.Conn)
		}
	}
	if len(all) == 0 && cs.first.Err() == nil {
		all = append(all, cs.first)
	}
	return all
}

// begin makes counts leave out the calls so far.
func (cs *connections) begin() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, conn := range cs.shared {
		conn.warmUp = conn.Stats().Calls
	}
}

// counts returns how many calls each connection of the Client made.
func (cs *connections) counts() (calls []uint64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, conn := range cs.shared {
		calls = append(calls, conn.Stats().Calls-conn.warmUp)
	}
	return calls
}
