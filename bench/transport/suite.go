package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
)

// Names of the systems measured, besides those of package verbs.
const (
	RDMATCP       = "rdmatcp"
	RDMATCPAsync  = RDMATCP + "/async"
	RDMATCP2      = "rdmatcp/v2"
	Continued     = "rdmatcp/v2-continued"
	IWARP         = "iwarp"
	IWARPAsync    = IWARP + "/async"
	UDPAsync      = "udp/async"
	Several       = "rdmatcp/4-connections"
	Stubs         = "stubs"
	ONCRPC        = "oncrpc/tcp"
	ONCRPCAsync   = "oncrpc/tcp/async"
	TCPStubs      = "stubs/tcp"
	TCPStubsAsync = "stubs/tcp/async"
	TCPMarked     = "stubs/tcp/async/marked"
	TCPGoroutines = "stubs/tcp/async/goroutines"
	Mem           = "mem"
	MemAsync      = "mem/async"
	NetRPC        = "net/rpc"
	GRPC          = "grpc"
	GoNFS         = "go-nfs-client"
	Tirpc         = "libtirpc"
	Copy          = "copy"
)

// Result is one row of figures, medians of the rounds.
type Result struct {
	Name  string
	Op    string // bench.Call, Write or Read
	Shape bench.Shape
	Conns int // connections with that load each; 0: one, and the load is not about connections

	NS       float64   // wall time of the run per operation
	Low      float64   // in the fastest round
	Rounds   []float64 // of all rounds, sorted
	P50, P99 float64   // ns per operation; 0 if an operation has no answer of its own
	Tail     float64   // P99 / P50

	// Per operation, both ends.
	CPU      float64 // ns; 0: unknown
	Switches float64 // times that a thread went to sleep
	Reads    float64 // system calls
	Writes   float64
	Mallocs  float64

	// Resident is the resident memory of the server in bytes for each of Conns connections, while
	// there are calls. 0: not measured.
	Resident float64
}

// String returns the text that Options.Match matches.
func (r *Result) String() string {
	s := fmt.Sprintf("%s %s %v", r.Name, r.Op, r.Shape)
	if r.Conns > 0 {
		s += fmt.Sprintf(" x %d connections", r.Conns)
	}
	return s
}

// Options selects the measurements and their duration.
type Options struct {
	Rounds int
	Slice  time.Duration  // of each row in each round
	Match  *regexp.Regexp // rows to measure, by Result.String; nil: all
	Depths []int          // of small calls, up to 1,024, instead of the usual loads; nil: those
}

// small returns the loads of small calls.
func (o *Options) small() []bench.Shape {
	if o.Depths == nil {
		return calls
	}
	var shapes []bench.Shape
	for _, depth := range o.Depths {
		shapes = append(shapes, bench.Shape{Size: argumentBytes, Depth: depth})
	}
	return shapes
}

// suite holds all cases of a comparison.
type suite struct {
	Options
	server *process.Server
	ctx    context.Context
	cases  []*watched
	closes []func() error
}

// watched is a case whose resource use is recorded besides its time.
type watched struct {
	Result
	run   bench.Run
	load  timed // nil: no times of calls are known
	here  bool  // both ends run in this process
	least int   // calls of a run: fewer would not be in flight at a time

	// outside returns what the last run used, if both ends run in other processes.
	outside func() process.Usage

	notes []note // one a run
}

// timed has the times of calls in the last run, in ns.
type timed interface{ Percentiles() (p50, p99 float64) }

type note struct {
	p50, p99 float64
	used     process.Usage
	n        int
}

// Compare measures everything in the same rounds.
func Compare(o Options) ([]Result, error) {
	return compare(o, (*suite).openTCP, (*suite).openPeers, (*suite).openONCRPC, (*suite).openTirpc, (*suite).openNetworked, (*suite).openMem)
}

// compare measures what the functions open, in the same rounds.
func compare(o Options, opens ...func(*suite) error) (results []Result, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for the set-up
	defer cancel()
	srv, err := process.Start(serverEnv)
	if err != nil {
		return nil, err
	}
	s := &suite{Options: o, server: srv, ctx: ctx, closes: []func() error{srv.Close}}
	defer func() {
		for _, f := range slices.Backward(s.closes) {
			err = errors.Join(err, f())
		}
	}()
	for _, open := range opens {
		if err := open(s); err != nil {
			return nil, err
		}
	}
	var cases []measure.Case
	for _, w := range s.cases {
		cases = append(cases, measure.Case{Name: w.Result.String(), Run: w.noted(srv)})
	}
	figures, err := measure.Interleaved(cases, o.Rounds, o.Slice)
	if err != nil {
		return nil, err
	}
	for i, w := range s.cases {
		w.NS, w.Low, w.Rounds = figures[i].NS, figures[i].Low, figures[i].Rounds
		w.summarize(w.notes[len(w.notes)-o.Rounds:]) // earlier ones belong to the calibration
		results = append(results, w.Result)
	}
	return results, nil
}

// noted returns a Run that records its resource use.
func (w *watched) noted(srv *process.Server) bench.Run {
	if w.here {
		srv = nil // no server takes part
	}
	return func(asked int) (time.Duration, error) {
		n := max(asked, w.least)
		took, used, err := process.Watch(srv, w.run, n)
		if err != nil {
			return 0, err
		}
		if w.outside != nil {
			used = w.outside()
		}
		x := note{used: used, n: n}
		if w.load != nil {
			x.p50, x.p99 = w.load.Percentiles()
		}
		w.notes = append(w.notes, x)
		return took * time.Duration(asked) / time.Duration(n), nil
	}
}

// summarize sets the medians.
func (w *watched) summarize(notes []note) {
	median := func(of func(*note) float64) float64 {
		v := make([]float64, len(notes))
		for i := range notes {
			v[i] = of(&notes[i])
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	each := func(of func(*process.Usage) int64) float64 {
		return median(func(x *note) float64 { return float64(of(&x.used)) / float64(x.n) })
	}
	w.CPU = each(func(u *process.Usage) int64 { return u.CPU })
	w.Switches = each(func(u *process.Usage) int64 { return u.Switches })
	w.Reads = each(func(u *process.Usage) int64 { return u.Reads })
	w.Writes = each(func(u *process.Usage) int64 { return u.Writes })
	w.Mallocs = each(func(u *process.Usage) int64 { return u.Mallocs })
	switch {
	case w.load != nil:
		w.P50 = median(func(x *note) float64 { return x.p50 })
		w.P99 = median(func(x *note) float64 { return x.p99 })
		w.Tail = median(func(x *note) float64 { return x.p99 / x.p50 })
	case w.Op == bench.Call:
		w.P50 = w.NS // bench.DialTCP measures that
	}
}

// The loads.
var (
	single = bench.Shape{Size: argumentBytes, Depth: 1}
	calls  = []bench.Shape{single, {Size: argumentBytes, Depth: 32}, {Size: argumentBytes, Depth: deep}}
	many   = []bench.Shape{{Size: argumentBytes, Depth: 32}, {Size: argumentBytes, Depth: 32 * connections}}
	bulk   = []bench.Shape{{Size: 4 << 10, Depth: 32}, {Size: 64 << 10, Depth: 16}, {Size: 1 << 20, Depth: 1}, {Size: 1 << 20, Depth: 8}}
)

// add adds a case if Options.Match selects it. dial connects, and returns the Run.
func (s *suite) add(name, op string, shape bench.Shape, dial func() (*watched, io.Closer, error)) error {
	r := Result{Name: name, Op: op, Shape: shape}
	if s.Match != nil && !s.Match.MatchString(r.String()) || s.Depths != nil && !slices.Contains(s.small(), shape) {
		return nil
	}
	w, c, err := dial()
	if err != nil {
		return fmt.Errorf("%v: %w", &r, err)
	}
	if c != nil {
		s.closes = append(s.closes, c.Close)
	}
	w.Result, w.here = r, name == Mem || name == Copy
	s.cases = append(s.cases, w)
	return nil
}

// calling returns the Run of a load of calls.
func calling(depth int, call func(int) error) *watched {
	l := newLoad(depth, call)
	return &watched{run: l.run, load: l}
}

// submitting returns the Run for calls that need no goroutine each.
func submitting(depth int, start func(slot int, done func(error)) error) *watched {
	l := newChains(depth, start)
	return &watched{run: l.run, load: l}
}

// each adds a case for each operation and load.
func (s *suite) each(name string, ops []string, shapes []bench.Shape, dial func(op string, shape bench.Shape) (*watched, io.Closer, error)) error {
	for _, shape := range shapes {
		for _, op := range ops {
			if err := s.add(name, op, shape, func() (*watched, io.Closer, error) { return dial(op, shape) }); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	callOnly  = []string{bench.Call}
	writeOnly = []string{bench.Write}
	bothWays  = []string{bench.Write, bench.Read}
)

func (s *suite) openTCP() error {
	addr := s.server.Addrs[bench.TCP]
	plain := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		run, c, err := bench.DialTCP(addr, op, shape)
		return &watched{run: run}, c, err
	}
	framed := func(name string) func(string, bench.Shape) (*watched, io.Closer, error) {
		return func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
			c, err := bench.DialFramed(addr, name, shape)
			if err != nil {
				return nil, nil, err
			}
			return calling(shape.Depth, c.Call), c, nil
		}
	}
	floor := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := bench.DialFloor(s.server.Addrs[bench.Floor], op, shape)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.Call), c, nil
	}
	return errors.Join(
		s.each(bench.TCP, callOnly, calls[:1], plain),
		s.each(bench.TCP, writeOnly, bulk, plain),
		s.each(bench.Framed, callOnly, s.small(), framed(bench.Framed)),
		s.each(bench.FramedAsync, callOnly, s.small(), func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
			c, err := bench.DialFramedAsync(addr, shape)
			if err != nil {
				return nil, nil, err
			}
			return &watched{run: c.Run, load: c}, c, nil
		}),
		s.each(bench.FramedGo, callOnly, s.small(), framed(bench.FramedGo)),
		s.each(bench.Framed, writeOnly, bulk, framed(bench.Framed)),
		s.each(bench.Segments, writeOnly, bulk, framed(bench.Segments)),
		s.each(bench.FloorAsync, callOnly, s.small(), func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
			c, err := bench.DialFloorAsync(s.server.Addrs[bench.Floor], shape)
			if err != nil {
				return nil, nil, err
			}
			return &watched{run: c.Run, load: c}, c, nil
		}),
		s.each(bench.Floor, callOnly, s.small(), floor), s.each(bench.Floor, bothWays, bulk, floor),
	)
}

func (s *suite) openPeers() error {
	netrpc := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		call, c, err := dialNetRPC(s.server.Addrs[NetRPC], op, shape)
		return calling(shape.Depth, call), c, err
	}
	grpc := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		call, c, err := dialGRPC(s.server.Addrs[GRPC], op, shape)
		return calling(shape.Depth, call), c, err
	}
	return errors.Join(
		s.each(NetRPC, callOnly, s.small(), netrpc), s.each(NetRPC, writeOnly, bulk, netrpc),
		s.each(GRPC, callOnly, s.small(), grpc), s.each(GRPC, writeOnly, bulk, grpc),
	)
}

func (s *suite) openONCRPC() error {
	addr := s.server.Addrs[ONCRPC]
	dial := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialTCP(s.ctx, addr, op, shape)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.call), c, nil
	}
	stubs := func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialTCPStubs(s.ctx, addr, shape)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.call), c, nil
	}
	submitStubs := func(server string) func(string, bench.Shape) (*watched, io.Closer, error) {
		return func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
			c, err := dialTCPStubs(s.ctx, s.server.Addrs[server], shape)
			if err != nil {
				return nil, nil, err
			}
			return submitting(shape.Depth, c.starter(shape.Depth)), c, nil
		}
	}
	submitUDP := func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialUDPStubs(s.ctx, s.server.Addrs[UDPAsync], shape)
		if err != nil {
			return nil, nil, err
		}
		return submitting(shape.Depth, c.starter(shape.Depth)), c, nil
	}
	gonfs := func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
		call, c, err := dialGoNFS(addr, shape)
		return calling(shape.Depth, call), c, err
	}
	return errors.Join(
		s.each(ONCRPC, callOnly, s.small(), dial), s.each(ONCRPC, bothWays, bulk, dial),
		s.each(ONCRPCAsync, callOnly, s.small(), func(op string, shape bench.Shape) (*watched, io.Closer, error) {
			c, err := dialTCP(s.ctx, addr, op, shape)
			if err != nil {
				return nil, nil, err
			}
			return submitting(shape.Depth, c.starter()), c, nil
		}),
		s.each(TCPStubs, callOnly, s.small(), stubs),
		s.each(TCPStubsAsync, callOnly, s.small(), submitStubs(ONCRPC)),
		s.each(TCPMarked, callOnly, s.small(), submitStubs(TCPMarked)),
		s.each(TCPGoroutines, callOnly, s.small(), submitStubs(TCPGoroutines)),
		// More would not fit in the socket's buffer.
		s.each(UDPAsync, callOnly, calls[:2], submitUDP),
		s.each(GoNFS, callOnly, s.small(), gonfs),
	)
}

func (s *suite) openNetworked() error {
	for _, p := range networked() {
		if err := s.openProvider(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) openProvider(p provider) error {
	dev, err := p.open()
	if err != nil {
		return err
	}
	s.closes = append(s.closes, dev.Close)
	dial := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialRDMA(s.ctx, dev, s.server.Addrs[listener(p.name, shape.Depth)], op, shape, p.config(shape.Depth), p.whole)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.call), c, nil
	}
	if p.whole {
		return s.each(p.name, bothWays, bulk[1:2], dial)
	}
	async := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialRDMA(s.ctx, dev, s.server.Addrs[listener(p.name, shape.Depth)], op, shape, p.config(shape.Depth), false)
		if err != nil {
			return nil, nil, err
		}
		return submitting(shape.Depth, c.starter()), c, nil
	}
	err = errors.Join(s.each(p.name, callOnly, s.small(), dial), s.each(p.name, bothWays, bulk, dial))
	if p.name == RDMATCP || p.name == IWARP {
		err = errors.Join(err, s.each(map[string]string{RDMATCP: RDMATCPAsync, IWARP: IWARPAsync}[p.name], callOnly, s.small(), async))
	}
	if p.name != RDMATCP || err != nil {
		return err
	}
	stubs := func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialStubs(s.ctx, dev, s.server.Addrs[listener(p.name, shape.Depth)], shape)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.call), c, nil
	}
	several := func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialSeveral(s.ctx, dev, s.server.Addrs[listener(p.name, 1)], shape)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.call), c, nil
	}
	return errors.Join(
		s.each(Stubs, callOnly, s.small(), stubs),
		s.each(RDMATCP, callOnly, many[1:], dial), s.each(Several, callOnly, many, several),
	)
}

// openMem opens both ends in this process.
func (s *suite) openMem() error {
	net := mem.New(nil)
	there, err := net.Open("server", nil)
	if err != nil {
		return err
	}
	here, err := net.Open("client", nil)
	if err != nil {
		return err
	}
	s.closes = append(s.closes, there.Close, here.Close)
	h := newHandler()
	for _, depth := range []int{1, deep, deepest} {
		srv, err := rdmaio.Listen(s.ctx, there, listener(Mem, depth), h, config(depth))
		if err != nil {
			return err
		}
		s.closes = append(s.closes, srv.Close)
	}
	dial := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialRDMA(s.ctx, here, listener(Mem, shape.Depth), op, shape, config(shape.Depth), false)
		if err != nil {
			return nil, nil, err
		}
		return calling(shape.Depth, c.call), c, nil
	}
	async := func(op string, shape bench.Shape) (*watched, io.Closer, error) {
		c, err := dialRDMA(s.ctx, here, listener(Mem, shape.Depth), op, shape, config(shape.Depth), false)
		if err != nil {
			return nil, nil, err
		}
		return submitting(shape.Depth, c.starter()), c, nil
	}
	once := func(_ string, shape bench.Shape) (*watched, io.Closer, error) {
		from, to := bench.Pattern(shape.Size), make([]byte, shape.Size)
		return calling(shape.Depth, func(int) error { copy(to, from); return nil }), nil, nil
	}
	return errors.Join(
		s.each(Mem, callOnly, s.small(), dial), s.each(MemAsync, callOnly, s.small(), async),
		s.each(Mem, bothWays, bulk, dial),
		s.each(Copy, writeOnly, []bench.Shape{bulk[2]}, once),
	)
}
