package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/hist"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/rpc"
)

type perfCmd struct {
	Time      time.Duration `short:"t" default:"10s"`
	Count     uint64        `short:"n"`
	Size      size          `default:"128"`
	Depth     int           `default:"1"`
	Parallel  int           `short:"P" default:"1"`
	Reverse   bool          `short:"R"`
	Bidir     bool
	Interval  time.Duration `short:"i" default:"1s"`
	Wait      time.Duration `short:"W" default:"5s"`
	Verify    bool
	Histogram bool
	Quiet     bool `short:"q"`
	JSON      bool `name:"json"`
	deviceFlags
	Host string `arg:"" optional:""`
}

// check refuses what cannot be measured.
func (c *perfCmd) check() error {
	for _, f := range []struct {
		name       string
		n, low, up int
	}{{"-size", int(c.Size), 1, perf.MaxData}, {"-depth", c.Depth, 1, 4096}, {"-P", c.Parallel, 1, 1024}} {
		if f.n < f.low || f.n > f.up {
			return fmt.Errorf("%s is %d, must be within %d and %d", f.name, f.n, f.low, f.up)
		}
	}
	if c.Time <= 0 || c.Wait <= 0 {
		return fmt.Errorf("-t is %v and -W %v, must be more than nothing", c.Time, c.Wait)
	}
	return c.deviceFlags.check()
}

// run measures.
func (c *perfCmd) run(ctx context.Context, env environment) (err error) {
	if err := c.check(); err != nil {
		return &failure{code: exitUsage, stage: "perf", err: err}
	}
	c.Credits = max(c.Credits, c.Depth)
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	m := &measurement{perfCmd: c, env: env, halt: make(chan struct{})}
	if c.Host == "" {
		s, err := c.local(ctx, f)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		m.addr = s.Addr()
	} else if m.addr, err = c.address(c.Host); err != nil {
		return &failure{code: exitUsage, stage: "perf", err: err}
	}
	dev, err := f.open("client")
	if err != nil {
		return err
	}
	for range c.Parallel {
		limit, cancel := context.WithTimeout(ctx, c.Wait)
		conn, at, err := dial(limit, dev, m.addr, c.config())
		cancel()
		if err != nil {
			return err
		}
		m.addr = at
		defer func() { err = errors.Join(err, conn.Close()) }()
		m.conns = append(m.conns, conn)
	}
	return m.run(ctx)
}

// local starts a server within this process.
func (c *perfCmd) local(ctx context.Context, f *fabric) (*rdmaio.Server, error) {
	dev, err := f.open("server")
	if err != nil {
		return nil, err
	}
	addr := "perf"
	if c.Provider != "mem" {
		addr = "127.0.0.1:0"
	}
	s, err := rdmaio.Listen(ctx, dev, addr, newService(), c.config())
	if err != nil {
		return nil, &failure{code: exitFailed, stage: "listen", err: err}
	}
	return s, nil
}

// measurement is a perf under way.
type measurement struct {
	*perfCmd
	env   environment
	addr  string
	conns []*rdmaio.Conn

	shards [16]shard
	counts atomic.Bool   // calls do: the warm-up is over
	begun  atomic.Uint64 // calls that count, with -n
	ending sync.Once
	halt   chan struct{} // closed when it is enough
	failed error         // the first
}

// worker makes one call after the other.
type worker struct {
	m     *measurement
	calls *rpc.Client
	seed  uint32
	read  bool
	opt   rpc.Options // of reads
	shard *shard
}

// shard has the counts of some of the workers, since they were taken last.
type shard struct {
	mu    sync.Mutex
	times hist.Histogram
	bytes uint64
}

// stop ends the measurement, with the first error.
func (m *measurement) stop(err error) {
	m.ending.Do(func() {
		m.failed = err
		close(m.halt)
	})
}

// run lets the workers work, and reports.
func (m *measurement) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	perf.Pattern(0, int(m.Size)) // made now, not while the clock runs
	var wg sync.WaitGroup
	for i, conn := range m.conns {
		calls := rpc.NewClient(conn, perfV1, nil)
		for k := range m.Depth {
			w := &worker{m: m, calls: calls, seed: uint32(i*m.Depth + k), read: m.Reverse != (m.Bidir && k%2 == 1)}
			if w.read || m.Bidir {
				w.offer(conn.Terms().InlineRecv)
			}
			w.shard = &m.shards[w.seed%uint32(len(m.shards))]
			wg.Add(1)
			go func() {
				defer wg.Done()
				w.run(ctx)
			}()
		}
	}
	r := newReport(m)
	go func() { // ends with ctx
		select {
		case <-ctx.Done():
			m.stop(nil)
		case <-m.halt:
		}
	}()
	m.pause(min(m.Time/10, time.Second))
	r.begin()
	m.counts.Store(true)
	limit := m.Time
	if m.Count > 0 {
		limit = 1 << 62
	}
	for end := time.Now().Add(limit); ; {
		left := time.Until(end)
		if m.Interval > 0 {
			left = min(left, m.Interval)
		}
		more := m.pause(left)
		if m.Interval > 0 {
			r.interval()
		}
		if !more || !time.Now().Before(end) {
			break
		}
	}
	m.counts.Store(false)
	m.stop(nil)
	r.stop()
	wg.Wait()
	r.end()
	switch {
	case m.failed != nil:
		return explain("call", m.addr, m.failed)
	case r.all.Count() == 0:
		return &failure{code: exitSilent, stage: "perf", err: errors.New("no call was answered in the time to measure"), help: "more -t, fewer -depth and -P; rpcrdma ping tells whether calls are answered at all"}
	}
	return nil
}

// pause waits, and reports whether the measurement goes on.
func (m *measurement) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-m.halt:
		return false
	}
}

// over reports whether it is enough.
func (m *measurement) over() bool {
	select {
	case <-m.halt:
		return true
	default:
		return false
	}
}

// run calls until it is enough.
func (w *worker) run(ctx context.Context) {
	for !w.m.over() {
		counts := w.m.counts.Load()
		if counts && w.m.Count > 0 && w.m.begun.Add(1) > w.m.Count {
			w.m.stop(nil)
			return
		}
		start := time.Now()
		if err := w.call(ctx); err != nil {
			if ctx.Err() != nil {
				err = nil // a signal: what there is counts
			}
			w.m.stop(err)
			return
		}
		if counts && (w.m.Count > 0 || w.m.counts.Load()) {
			w.shard.add(time.Since(start), int(w.m.Size))
		}
		w.seed += 7
		if w.m.Bidir {
			w.read = !w.read
		}
	}
}

func (s *shard) add(took time.Duration, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times.Add(took)
	s.bytes += uint64(bytes)
}

// take empties the counts into others.
func (s *shard) take(times *hist.Histogram) (bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times.Merge(&s.times)
	bytes = s.bytes
	s.times, s.bytes = hist.Histogram{}, 0
	return bytes
}
