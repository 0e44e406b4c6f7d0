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
	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

type perfCmd struct {
	Time      time.Duration `short:"t" default:"10s"`
	Count     uint64        `short:"n"`
	Size      size          `default:"128"`
	Depth     int           `default:"1"`
	Parallel  int           `short:"P" default:"1"`
	Reverse   bool          `short:"R"`
	Bidir     bool
	Async     bool
	Interval  time.Duration `short:"i" default:"1s"`
	Wait      time.Duration `short:"W" default:"5s"`
	Verify    bool
	Histogram bool
	Quiet     bool   `short:"q"`
	JSON      bool   `name:"json"`
	Addr      string `name:"addr"`
	webFlags
	deviceFlags
	Host string `arg:"" optional:""`
}

// check refuses flags that are out of range.
func (c *perfCmd) check() error {
	if c.Size < 1 || c.Size > perf.MaxData {
		return fmt.Errorf("-size is %v, must be between 1 and %v", c.Size, size(perf.MaxData))
	}
	for _, f := range []struct {
		name       string
		n, low, up int
	}{{"-depth", c.Depth, 1, 4096}, {"-P", c.Parallel, 1, 1024}} {
		if f.n < f.low || f.n > f.up {
			return fmt.Errorf("%s is %d, must be between %d and %d", f.name, f.n, f.low, f.up)
		}
	}
	if c.Time <= 0 || c.Wait <= 0 {
		return fmt.Errorf("-t is %v and -W is %v: both must be positive", c.Time, c.Wait)
	}
	return c.deviceFlags.check()
}

// run connects and measures.
func (c *perfCmd) run(ctx context.Context, env environment) (err error) {
	if err := c.check(); err != nil {
		return &failure{code: exitUsage, stage: "perf", err: err}
	}
	c.Credits = max(c.Credits, c.Depth)
	m := &measurement{perfCmd: c, env: env, halt: make(chan struct{})}
	if c.Host != "" {
		if m.addr, err = c.address(c.Host, "leave out the address, or use -provider rdmatcp"); err != nil {
			return &failure{code: exitUsage, stage: "perf", err: err}
		}
	}
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	page, err := c.webFlags.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.close()) }()
	if c.Host == "" {
		s, err := c.local(ctx, f, page)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		m.addr = s.Addr()
	}
	dev, err := f.open("client")
	if err != nil {
		return err
	}
	m.conns, m.addr, err = c.connect(ctx, dev, m.addr, f.dialConfig(c.Wait))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.conns.close()) }()
	m.conns.calls = page.carrier(m.conns.calls)
	page.watch("client", monitor.Conns(m.conns.list))
	return m.run(ctx)
}

// local starts a server in this process.
func (c *perfCmd) local(ctx context.Context, f *fabric, page *web) (*rdmaio.Server, error) {
	if c.TLS && c.Cert == "" {
		if err := temporary(f.secure); err != nil {
			return nil, &failure{code: exitFailed, stage: "certificate", err: err}
		}
	}
	dev, err := f.open("server")
	if err != nil {
		return nil, err
	}
	addr := "perf"
	switch {
	case c.Provider == "mem":
	case c.Addr != "":
		addr = joinAddress(c.Addr, 0)
	case c.Provider.name() == "ibverbs":
		if addr, err = localAddress(rdmadev.System(), c.Provider); err != nil {
			return nil, explainDevice("listen", err)
		}
	default:
		addr = "127.0.0.1:0"
	}
	s, err := rdmaio.Listen(ctx, dev, addr, page.handler(newService()), f.config())
	if err != nil {
		return nil, &failure{code: exitFailed, stage: "listen", err: err}
	}
	page.watch("server", monitor.Server(s))
	return s, nil
}

// measurement is the state of one perf command.
type measurement struct {
	*perfCmd
	env   environment
	addr  string
	conns *connections

	shards   [16]shard
	counts   atomic.Bool   // the warm-up is over: calls are counted
	begun    atomic.Uint64 // with -n: calls begun since the warm-up
	answered atomic.Uint64 // with -n: calls that had a reply
	ending   sync.Once
	halt     chan struct{} // closed when the measurement ends
	failed   error         // the first error
}

// shard collects the times and bytes of some of the workers between two reports.
type shard struct {
	mu    sync.Mutex
	times hist.Histogram
	bytes uint64
}

// stop stops the measurement, with the first error.
func (m *measurement) stop(err error) {
	m.ending.Do(func() {
		m.failed = err
		close(m.halt)
	})
}

// run starts the workers, and reports until the measurement ends.
func (m *measurement) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	perf.Pattern(0, int(m.Size)) // generated before the clock runs
	var wg sync.WaitGroup
	calls := rpc.NewClient(m.conns.calls, perfV1, nil)
	inline := m.conns.first.Terms().InlineRecv
	for i := range m.Parallel {
		for k := range m.Depth {
			w := &worker{m: m, calls: calls, seed: uint32(i*m.Depth + k), read: m.Reverse != (m.Bidir && k%2 == 1)}
			if w.read || m.Bidir {
				w.offer(inline)
			}
			w.shard = &m.shards[w.seed%uint32(len(m.shards))]
			if m.Async {
				wg.Add(1)
				w.submit(ctx, wg.Done)
			} else {
				wg.Go(func() { w.run(ctx) })
			}
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
		go m.watch()
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
	var silent atomic.Bool
	unanswered := time.AfterFunc(m.Wait, func() {
		silent.Store(true)
		cancel()
	})
	wg.Wait()
	unanswered.Stop()
	r.end()
	switch {
	case silent.Load() && m.failed == nil:
		return &failure{code: exitSilent, stage: "perf", err: fmt.Errorf("calls had no answer %v after the end of the measurement (-W)", m.Wait), help: "the figures are of the calls that had one; rpcrdma ping checks whether the server still answers"}
	case m.failed != nil:
		return explain("call", m.addr, m.failed)
	case r.all.Count() == 0 && ctx.Err() != nil:
		return &failure{code: exitFailed, stage: "perf", err: errors.New("interrupted before the first call was measured")}
	case r.all.Count() == 0:
		return &failure{code: exitSilent, stage: "perf", err: errors.New("no call was answered during the measurement"), help: "a longer -t, or a smaller -depth or -P; rpcrdma ping checks whether the server answers at all"}
	}
	return nil
}

// watch stops a measurement that has a number of calls when no call was answered for m.Wait. It
// returns when the measurement ends.
func (m *measurement) watch() {
	for before := m.answered.Load(); m.pause(m.Wait); {
		now := m.answered.Load()
		if now == before {
			m.stop(nil)
			return
		}
		before = now
	}
}

// pause waits for d, and reports whether the measurement is still running.
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

// halted reports whether the measurement was stopped.
func (m *measurement) halted() bool {
	select {
	case <-m.halt:
		return true
	default:
		return false
	}
}

func (s *shard) add(took time.Duration, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times.Add(took)
	s.bytes += uint64(bytes)
}

// drain moves the collected times into times, and returns the bytes.
func (s *shard) drain(times *hist.Histogram) (bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times.Merge(&s.times)
	bytes = s.bytes
	s.times, s.bytes = hist.Histogram{}, 0
	return bytes
}
