package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// crowd is the load of one system on many connections.
type crowd struct {
	slots  int // on all connections
	run    bench.Run
	load   timed
	closes []io.Closer
}

// Close closes the connections.
func (c *crowd) Close() error {
	var errs []error
	for _, one := range c.closes {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// calling is the load of calls that block a goroutine each, on connections that dial makes.
func (c *crowd) calling(conns, depth int, dial func() (func(int) error, io.Closer, error)) error {
	var calls []func(int) error
	for range conns {
		call, one, err := dial()
		if err != nil {
			return errors.Join(err, c.Close())
		}
		calls, c.closes = append(calls, call), append(c.closes, one)
	}
	l := newLoad(conns*depth, func(slot int) error { return calls[slot/depth](slot % depth) })
	c.run, c.load = l.run, l
	return nil
}

// submitting is the load of calls without a goroutine each.
func (c *crowd) submitting(conns, depth int, dial func() (func(int, func(error)) error, io.Closer, error)) error {
	l := new(lines)
	for range conns {
		start, one, err := dial()
		if err != nil {
			return errors.Join(err, c.Close())
		}
		chain := newChains(depth, start)
		chain.left = &l.left
		l.chains, c.closes = append(l.chains, chain), append(c.closes, one)
	}
	c.run, c.load = l.run, l
	return nil
}

// lines are the chains of several connections, which make a number of calls together.
type lines struct {
	chains []*chains
	left   atomic.Int64
}

func (l *lines) run(n int) (time.Duration, error) {
	l.left.Store(int64(n))
	began := time.Now()
	for _, c := range l.chains {
		c.Reset()
		c.begin()
	}
	var errs []error
	for _, c := range l.chains {
		<-c.over
		errs = append(errs, c.err)
	}
	return time.Since(began), errors.Join(errs...)
}

// Percentiles returns p50 and p99 of the last run, in ns.
func (l *lines) Percentiles() (p50, p99 float64) {
	var all []time.Duration
	for _, c := range l.chains {
		all = append(all, c.Times()...)
	}
	return bench.Percentiles(all)
}

// many reports whether there are rows of a provider with many connections.
func (p *provider) many() bool { return p.name == RDMATCP || p.name == IWARP }

// manyOf returns the name of the rows of a provider with many connections, and of their listener.
func manyOf(name string, marked bool) string {
	if marked {
		return Stubs + "/" + name + "/async"
	}
	return Stubs + "/" + name
}

// manySystems are the systems of the rows with many connections, in their order.
func manySystems() []string {
	all := []string{bench.Echo, NetRPC, GRPC, TCPStubs, TCPStubsAsync}
	for _, p := range networked() {
		if p.many() {
			all = append(all, manyOf(p.name, false), manyOf(p.name, true))
		}
	}
	return all
}

// openCrowd makes the connections of a system.
func (s *suite) openCrowd(name string, conns int, shape bench.Shape) (*crowd, error) {
	c := &crowd{slots: conns * shape.Depth}
	calling := func(dial func() (func(int) error, io.Closer, error)) (*crowd, error) {
		return c, c.calling(conns, shape.Depth, dial)
	}
	stubs := func(async bool, dial func() (*stubClient, error)) (*crowd, error) {
		if async {
			return c, c.submitting(conns, shape.Depth, func() (func(int, func(error)) error, io.Closer, error) {
				one, err := dial()
				if err != nil {
					return nil, nil, err
				}
				return one.starter(shape.Depth), one, one.call(0)
			})
		}
		return calling(func() (func(int) error, io.Closer, error) {
			one, err := dial()
			if err != nil {
				return nil, nil, err
			}
			return one.call, one, one.call(0)
		})
	}
	switch name {
	case bench.Echo:
		return calling(func() (func(int) error, io.Closer, error) {
			one, err := bench.DialEcho(s.server.Addrs[bench.TCP], shape)
			if err != nil {
				return nil, nil, err
			}
			return one.Call, one, nil
		})
	case NetRPC:
		return calling(func() (func(int) error, io.Closer, error) {
			return wrap(dialNetRPC(s.server.Addrs[NetRPC], bench.Call, shape))
		})
	case GRPC:
		return calling(func() (func(int) error, io.Closer, error) {
			return wrap(dialGRPC(s.server.Addrs[GRPC], bench.Call, shape))
		})
	case TCPStubs, TCPStubsAsync:
		async := name == TCPStubsAsync
		addr := s.server.Addrs[map[bool]string{false: TCPGoroutines, true: TCPMarked}[async]]
		return stubs(async, func() (*stubClient, error) {
			conn, err := tcp.Dial(s.ctx, addr, nil)
			if err != nil {
				return nil, err
			}
			return newStubClient(conn, shape), nil
		})
	}
	for _, p := range networked() {
		for _, async := range []bool{false, true} {
			if !p.many() || name != manyOf(p.name, async) {
				continue
			}
			dev, err := p.open()
			if err != nil {
				return nil, err
			}
			c, err := stubs(async, func() (*stubClient, error) {
				conn, err := rdmaio.Dial(s.ctx, dev, s.server.Addrs[name], nil)
				if err != nil {
					return nil, err
				}
				return newStubClient(conn, shape), nil
			})
			if err != nil {
				return nil, errors.Join(err, dev.Close())
			}
			c.closes = append(c.closes, dev)
			return c, nil
		}
	}
	return nil, fmt.Errorf("found the system %q, expected one of %q", name, manySystems())
}

// wrap returns the results of a function that dials, with the connection as an io.Closer.
func wrap[C io.Closer](call func(int) error, c C, err error) (func(int) error, io.Closer, error) {
	return call, c, err
}

// turns is the least number of calls that each slot makes in a run. With fewer, most of the run
// would be its beginning and its end.
const turns = 4

// Connections measures small calls over a number of connections, depth at a time on each, with the
// default Configs on both ends. No other connections are open at either end.
func Connections(o Options, conns, depth int) ([]Result, error) {
	shape := bench.Shape{Size: argumentBytes, Depth: depth}
	all, err := compare(o, func(s *suite) error { return s.addCrowds(conns, shape) })
	for i := range all {
		if all[i].Resident, err = resident(all[i].Name, conns, shape, o.Slice); err != nil {
			return nil, err
		}
	}
	return all, err
}

// addCrowds adds a case for each system.
func (s *suite) addCrowds(conns int, shape bench.Shape) error {
	for _, name := range manySystems() {
		r := Result{Name: name, Op: bench.Call, Shape: shape, Conns: conns}
		if s.Match != nil && !s.Match.MatchString(r.String()) {
			continue
		}
		c, err := s.openCrowd(name, conns, shape)
		if err != nil {
			return fmt.Errorf("%v: %w", &r, err)
		}
		s.closes = append(s.closes, c.Close)
		s.cases = append(s.cases, &watched{Result: r, run: c.run, load: c.load, least: turns * c.slots})
	}
	return nil
}

// resident returns the resident memory of a server in bytes for each connection while there are
// calls, with nothing else in it, or 0 if the system does not say.
func resident(name string, conns int, shape bench.Shape, slice time.Duration) (most float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := process.Start(serverEnv)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	s := &suite{server: srv, ctx: ctx}
	one, err := s.openCrowd(name, 1, shape) // the memory that all connections share
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	if _, err := one.run(turns * one.slots); err != nil {
		return 0, err
	}
	before, err := srv.Resident()
	if err != nil {
		return 0, err
	}
	c, err := s.openCrowd(name, conns, shape)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	over := make(chan error, 1)
	go func() {
		began := time.Now()
		for time.Since(began) < residentSlices*slice {
			if _, err := c.run(turns * c.slots); err != nil {
				over <- err
				return
			}
		}
		over <- nil
	}()
	for tick := time.NewTicker(slice); ; {
		now, err := srv.Resident()
		if err != nil {
			return 0, errors.Join(err, <-over)
		}
		most = max(most, float64(now-before)/float64(conns))
		select {
		case err := <-over:
			return most, err
		case <-tick.C:
		}
	}
}

// residentSlices is the number of slices in which the memory is measured, once each.
const residentSlices = 10
