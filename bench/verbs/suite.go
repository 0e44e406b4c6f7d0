package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	rdma "github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Run does n operations and returns the time that they took.
type Run = func(n int) (time.Duration, error)

// Names of the systems measured, besides the networked providers.
const (
	TCP         = "tcp"
	Framed      = "framed"
	FramedGo    = "framed-go"
	FramedAsync = "framed-async"
	Segments    = "segments"
	Floor       = "floor"
	FloorAsync  = "rdmatcp-floor-async"
	Echo        = "echo"
	Mem         = "mem"
)

// Operations.
const (
	Call  = "call"  // round trip: p50 if there is one at a time, else the mean
	Write = "write" // from client to server
	Read  = "read"  // from server to client
)

// Result is one row of figures.
type Result struct {
	Name  string // a name above, or a provider's
	Op    string
	Shape Shape

	NS       float64 // per operation, median of the rounds
	Low      float64 // per operation in the fastest round
	CPU      float64 // ns per operation, both ends, median of the rounds; 0: unknown
	InMemory bool    // both ends in one process
}

// suite holds all cases of a comparison.
type suite struct {
	server *process.Server
	ctx    context.Context
	cases  []*timed
	closes []func() error
}

// timed is a case whose processor time is recorded besides its time.
type timed struct {
	Result
	run Run
	cpu []float64
}

// Compare measures everything in the same rounds, each case for about slice in
// every round.
func Compare(rounds int, slice time.Duration) (results []Result, err error) {
	ctx, cancel := setUp()
	defer cancel()
	srv, err := process.Start(serverEnv)
	if err != nil {
		return nil, err
	}
	s := &suite{server: srv, ctx: ctx, closes: []func() error{srv.Close}}
	defer func() {
		for _, f := range slices.Backward(s.closes) {
			err = errors.Join(err, f())
		}
	}()
	if err := s.open(); err != nil {
		return nil, err
	}
	var cases []measure.Case
	for _, t := range s.cases {
		cases = append(cases, measure.Case{Name: fmt.Sprintf("%s, %s, %v", t.Name, t.Op, t.Shape), Run: t.withCPU(srv)})
	}
	figures, err := measure.Interleaved(cases, rounds, slice)
	if err != nil {
		return nil, err
	}
	for i, t := range s.cases {
		t.NS, t.Low = figures[i].NS, figures[i].Low
		last := t.cpu[len(t.cpu)-rounds:] // earlier ones belong to the calibration
		slices.Sort(last)
		t.CPU = last[len(last)/2]
		results = append(results, t.Result)
	}
	return results, nil
}

// setUp is the time limit for the set-up of connections.
func setUp() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// withCPU returns a Run that records the processor time per operation.
func (t *timed) withCPU(srv *process.Server) Run {
	if t.InMemory {
		srv = nil // no server takes part
	}
	return func(n int) (time.Duration, error) {
		took, used, err := process.Watch(srv, t.run, n)
		if err != nil {
			return 0, err
		}
		t.cpu = append(t.cpu, float64(used.CPU)/float64(n))
		return took, nil
	}
}

func (s *suite) add(name, op string, shape Shape, run Run) {
	s.cases = append(s.cases, &timed{Result: Result{Name: name, Op: op, Shape: shape, InMemory: name == Mem}, run: run})
}

// The loads.
var (
	single = Shape{128, 1}
	calls  = []Shape{{128, 32}, {128, 256}}
	bulk   = []Shape{{64 << 10, 16}, {1 << 20, 1}, {1 << 20, 8}}
)

// open opens all connections and adds the cases over them.
func (s *suite) open() error {
	tcp := s.server.Addrs["tcp"]
	run, conn, err := DialTCP(tcp, Call, single)
	if err != nil {
		return err
	}
	s.closeLater(conn)
	s.add(TCP, Call, single, run)
	for _, shape := range bulk {
		run, conn, err := DialTCP(tcp, Write, shape)
		if err != nil {
			return err
		}
		s.closeLater(conn)
		s.add(TCP, Write, shape, run)
	}
	all := append([]Shape{single}, calls...)
	some := append([]Shape{{4 << 10, 32}}, bulk...)
	if err := errors.Join(
		s.openFramed(Framed, Call, all...),
		s.openFramed(FramedGo, Call, all...),
		s.openFramed(Framed, Write, some...),
		s.openFramed(Segments, Write, some...),
	); err != nil {
		return err
	}
	if err := s.openMem(); err != nil {
		return fmt.Errorf("%s: %w", Mem, err)
	}
	for _, p := range networked() {
		dev, err := p.open()
		if err == nil {
			s.closes = append(s.closes, dev.Close)
			err = s.openProvider(p.name, dev, s.server.Addrs[p.name])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (s *suite) closeLater(c io.Closer) { s.closes = append(s.closes, c.Close) }

func (s *suite) openFramed(name, op string, shapes ...Shape) error {
	for _, shape := range shapes {
		c, err := DialFramed(s.server.Addrs["tcp"], name, shape)
		if err != nil {
			return err
		}
		s.closeLater(c)
		s.add(name, op, shape, c.run)
	}
	return nil
}

// openMem opens both ends in this process. It does not close its devices: the process ends.
func (s *suite) openMem() error {
	net := mem.New(nil)
	there, err := net.Open("server", nil)
	if err != nil {
		return err
	}
	ln, err := there.Listen(s.ctx, "bench")
	if err != nil {
		return err
	}
	s.closeLater(ln)
	go acceptProvider(s.ctx, there, ln)
	here, err := net.Open("client", nil)
	if err != nil {
		return err
	}
	return s.openProvider(Mem, here, ln.Addr())
}

func (s *suite) openProvider(name string, dev rdma.Device, addr string) error {
	for _, shape := range slices.Concat([]Shape{single}, calls, bulk) {
		c, err := dialProvider(s.ctx, dev, addr, shape)
		if err != nil {
			return err
		}
		s.closes = append(s.closes, c.close)
		switch {
		case shape == single:
			s.add(name, Call, shape, Latencies(c.call))
			continue
		case shape.Size == messageSize:
			s.add(name, Call, shape, c.calls)
			continue
		}
		s.add(name, Write, shape, c.bulk(rdma.RDMAWrite))
		s.add(name, Read, shape, c.bulk(rdma.RDMARead))
	}
	return nil
}
