package nfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
	"github.com/rpcrdma/rpcrdma/bench/internal/process"
)

// Names of the systems measured.
const (
	TCP            = "nfsd/tcp"
	RDMATCP        = "nfsd/rdmatcp"
	IWARP          = "nfsd/iwarp"
	GoNFS          = "go-nfs"
	ForeignToNFSD  = "go-nfs-client>nfsd"
	ForeignToGoNFS = "go-nfs-client>go-nfs"
	Framed         = "framed"
	OS             = "os"
)

// Op is a load.
type Op struct {
	Name  string // GetAttr, Lookup, Read, Write or List
	Size  int    // bytes of data, or entries
	Depth int    // calls at a time
}

// Names of operations.
const (
	GetAttr = "getattr"
	Lookup  = "lookup"
	Read    = "read"
	Write   = "write"
	List    = "list"
)

// String returns the operation in the form "read 1 MiB x 8".
func (o Op) String() string {
	switch {
	case o.Name == List:
		return fmt.Sprintf("%s of %d", o.Name, o.Size)
	case o.Size >= 1<<20:
		return fmt.Sprintf("%s %d MiB x %d", o.Name, o.Size>>20, o.Depth)
	case o.Size > 0:
		return fmt.Sprintf("%s %d KiB x %d", o.Name, o.Size>>10, o.Depth)
	}
	return fmt.Sprintf("%s x %d", o.Name, o.Depth)
}

// Result is one row of figures, medians of the rounds.
type Result struct {
	Name string
	Op   Op

	NS      float64 // wall time per operation
	Low     float64 // in the fastest round
	CPU     float64 // ns per operation, both ends
	Mallocs float64 // per operation, both ends
}

// String returns the text that Options.Match matches.
func (r *Result) String() string { return r.Name + " " + r.Op.String() }

// Options selects the measurements and their duration.
type Options struct {
	Rounds  int
	Slice   time.Duration  // of each row in each round
	Entries int            // of the directory that is listed
	Dir     string         // in which the served directory is made; if empty, that of os.MkdirTemp
	Match   *regexp.Regexp // rows to measure, by Result.String; nil: all
}

// peer makes the calls of a client, a slot one at a time.
type peer interface {
	io.Closer
	getattr(slot int) error
	lookup(slot int) error
	read(slot, size int) error
	write(slot, size int) error
	list() (int, error)
}

// suite holds all cases of a comparison.
type suite struct {
	Options
	dir     string
	servers map[string]*process.Server
	cases   []*watched
	closes  []func() error
}

// watched is a case whose resource use is recorded besides its time.
type watched struct {
	Result
	run    func(n int) (time.Duration, error)
	server *process.Server // nil: none takes part
	used   []process.Usage // per operation, one a run
}

// Compare measures everything in the same rounds.
func Compare(o Options) (results []Result, err error) {
	base, err := os.MkdirTemp(o.Dir, "nfsbench")
	if err != nil {
		return nil, err
	}
	s := &suite{Options: o, dir: filepath.Join(base, "export"), servers: map[string]*process.Server{}}
	s.closes = append(s.closes, func() error { return os.RemoveAll(base) })
	defer func() {
		for _, f := range slices.Backward(s.closes) {
			err = errors.Join(err, f())
		}
	}()
	if err := makeTree(s.dir, o.Entries); err != nil {
		return nil, err
	}
	for _, kind := range []string{kindNFSD, kindGoNFS} {
		if s.servers[kind], err = start(kind, s.dir); err != nil {
			return nil, err
		}
		s.closes = append(s.closes, s.servers[kind].Close)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for the set-up
	defer cancel()
	for _, op := range s.ops() {
		if err := s.add(ctx, op); err != nil {
			return nil, err
		}
	}
	return s.measure()
}

// ops returns the loads.
func (s *suite) ops() []Op {
	return []Op{
		{GetAttr, 0, 1},
		{GetAttr, 0, 32},
		{Lookup, 0, 1},
		{Read, 4 << 10, 1},
		{Read, 1 << 20, 1},
		{Read, 1 << 20, 8},
		{Write, 1 << 20, 1},
		{List, s.Entries, 1},
	}
}

// add adds the cases of an operation that Options.Match selects.
func (s *suite) add(ctx context.Context, op Op) error {
	ours, other := s.servers[kindNFSD], s.servers[kindGoNFS]
	generated := func(server *process.Server, carrier, export string) func() (peer, error) {
		return func() (peer, error) {
			return dial(ctx, carrier, server.Addrs[carrier], server.Addrs[listenTCP], export, op.Depth)
		}
	}
	for _, c := range []struct {
		name   string
		server *process.Server
		open   func() (peer, error)
	}{
		{TCP, ours, generated(ours, listenTCP, "/export")},
		{RDMATCP, ours, generated(ours, listenRDMATCP, "/export")},
		{IWARP, ours, generated(ours, listenIWARP, "/export")},
		{GoNFS, other, generated(other, listenTCP, "/")},
		{ForeignToNFSD, ours, func() (peer, error) { return dialForeign(ours.Addrs[listenTCP], "/export", op.Depth) }},
		{ForeignToGoNFS, other, func() (peer, error) { return dialForeign(other.Addrs[listenTCP], "/", op.Depth) }},
		{OS, nil, func() (peer, error) { return openLocal(s.dir, op.Depth) }},
	} {
		foreign := c.name == ForeignToNFSD || c.name == ForeignToGoNFS
		r := Result{Name: c.name, Op: op}
		if foreign && op.Name == Write || !s.selects(&r) {
			continue
		}
		p, err := c.open()
		if err != nil {
			return fmt.Errorf("%v: %w", &r, err)
		}
		s.closes = append(s.closes, p.Close)
		s.cases = append(s.cases, &watched{Result: r, server: c.server, run: load(op.Depth, calls(p, op))})
	}
	r := Result{Name: Framed, Op: op}
	if op.Name == List || op.Name == Lookup || !s.selects(&r) {
		return nil
	}
	c, err := dialFramed(ours.Addrs[listenFramed], op)
	if err != nil {
		return fmt.Errorf("%v: %w", &r, err)
	}
	s.closes = append(s.closes, c.Close)
	s.cases = append(s.cases, &watched{Result: r, server: ours, run: load(op.Depth, c.Call)})
	return nil
}

// selects reports whether Options.Match selects a row.
func (s *suite) selects(r *Result) bool { return s.Match == nil || s.Match.MatchString(r.String()) }

// calls returns the call of an operation.
func calls(p peer, op Op) func(slot int) error {
	switch op.Name {
	case GetAttr:
		return p.getattr
	case Lookup:
		return p.lookup
	case Read:
		return func(slot int) error { return p.read(slot, op.Size) }
	case Write:
		return func(slot int) error { return p.write(slot, op.Size) }
	}
	return func(int) error {
		n, err := p.list()
		if err == nil && (n < op.Size || n > op.Size+2) { // with "." and ".."
			err = fmt.Errorf("found %d entries, expected %d", n, op.Size)
		}
		return err
	}
}

// load returns a function that makes n calls, depth at a time.
func load(depth int, call func(slot int) error) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		var left atomic.Int64
		left.Store(int64(n))
		errs := make([]error, depth)
		var wg sync.WaitGroup
		begin := time.Now()
		for slot := range depth {
			wg.Go(func() {
				for left.Add(-1) >= 0 && errs[slot] == nil {
					errs[slot] = call(slot)
				}
			})
		}
		wg.Wait()
		return time.Since(begin), errors.Join(errs...)
	}
}

// measure runs all cases in interleaved rounds.
func (s *suite) measure() (results []Result, err error) {
	var cases []measure.Case
	for _, w := range s.cases {
		cases = append(cases, measure.Case{Name: w.Result.String(), Run: w.noted})
	}
	figures, err := measure.Interleaved(cases, s.Rounds, s.Slice)
	if err != nil {
		return nil, err
	}
	for i, w := range s.cases {
		w.NS, w.Low = figures[i].NS, figures[i].Low
		used := w.used[len(w.used)-s.Rounds:] // earlier ones belong to the calibration
		w.CPU = median(used, func(u *process.Usage) int64 { return u.CPU })
		w.Mallocs = median(used, func(u *process.Usage) int64 { return u.Mallocs })
		results = append(results, w.Result)
	}
	return results, nil
}

// noted makes n calls and records the resources that they use.
func (w *watched) noted(n int) (time.Duration, error) {
	took, used, err := process.Watch(w.server, w.run, n)
	if err == nil {
		w.used = append(w.used, process.Usage{CPU: used.CPU / int64(n), Mallocs: used.Mallocs / int64(n)})
	}
	return took, err
}

func median(all []process.Usage, of func(*process.Usage) int64) float64 {
	v := make([]int64, len(all))
	for i := range all {
		v[i] = of(&all[i])
	}
	slices.Sort(v)
	return float64(v[len(v)/2])
}
