package verbs

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
)

// idleConnections is the number of idle connections. Each takes two descriptors, and some systems
// limit those.
const idleConnections = 400

// Idle is the memory of an idle connection that has answered a call: bytes of heap and stacks at
// each end, with the Receives and queues of the benchmark.
type Idle struct {
	Name           string
	Client, Server int64
}

// IdleMemory measures the idle connections of each networked provider.
func IdleMemory() (results []Idle, err error) {
	srv, err := process.Start(serverEnv)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	for _, p := range networked() {
		one, err := idleMemory(p, srv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		results = append(results, one)
	}
	return results, nil
}

func idleMemory(p provider, srv *process.Server) (r Idle, err error) {
	dev, err := p.open()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	ctx, cancel := setUp()
	defer cancel()
	var clients []*providerClient
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.close())
		}
	}()
	add := func() error {
		c, err := dialProvider(ctx, dev, srv.Addrs[p.name], single)
		if err != nil {
			return err
		}
		clients = append(clients, c)
		return c.call()
	}
	own, other, err := srv.Each(idleConnections, add)
	return Idle{Name: p.name, Client: own, Server: other}, err
}
