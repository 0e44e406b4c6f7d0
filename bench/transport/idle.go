package transport

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
)

// idleConnections is the number of idle connections.
const idleConnections = 200

// Idle is the memory of an idle connection with the default Config that has answered a call: bytes
// of heap and stacks.
type Idle struct {
	Client, Server int64
}

// IdleMemory measures rdmaio over rdmatcp.
func IdleMemory() (r Idle, err error) {
	srv, err := process.Start(serverEnv)
	if err != nil {
		return r, err
	}
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		return r, errors.Join(err, srv.Close())
	}
	var clients []*client
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
		err = errors.Join(err, dev.Close(), srv.Close())
	}()
	add := func() error {
		c, err := dialRDMA(context.Background(), dev, srv.Addrs[RDMATCP], bench.Call, single, config(single.Depth), false)
		if err == nil {
			clients = append(clients, c)
		}
		return err
	}
	own, other, err := srv.Each(idleConnections, add)
	if err != nil {
		return r, err
	}
	return Idle{Client: own, Server: other}, nil
}
