package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/hist"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

type pingCmd struct {
	Count    uint64        `short:"c"`
	Interval time.Duration `short:"i" default:"1s"`
	Wait     time.Duration `short:"W" default:"5s"`
	Program  uint32        `name:"prog" default:"100003"`
	Version  uint32        `name:"vers" default:"3"`
	Verbose  bool          `short:"v"`
	Quiet    bool          `short:"q"`
	JSON     bool          `name:"json"`
	deviceFlags
	Host string `arg:""`
}

// run pings until the count is reached or the context is done.
func (c *pingCmd) run(ctx context.Context, env environment) (err error) {
	if c.Wait <= 0 || c.Interval < 0 {
		return &failure{code: exitUsage, stage: "ping", err: fmt.Errorf("-W is %v and -i is %v: -W must be positive, -i must not be negative", c.Wait, c.Interval)}
	}
	if err := c.deviceFlags.check(); err != nil {
		return &failure{code: exitUsage, stage: "ping", err: err}
	}
	p := &pinger{pingCmd: c, env: env}
	if p.addr, err = c.address(c.Host, "use -provider rdmatcp, or rpcrdma perf -provider mem"); err != nil {
		return &failure{code: exitUsage, stage: "ping", err: err}
	}
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	conn, err := p.connect(ctx, f)
	if err != nil {
		return p.report(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	first := p.ping(ctx, conn)
	p.summary()
	switch {
	case first != nil:
		return first
	case p.sent == 0 || p.times.Count() < p.sent:
		return &failure{code: exitSilent, err: errReported}
	}
	return nil
}

// pinger is the state of one ping command.
type pinger struct {
	*pingCmd
	env   environment
	addr  string
	sent  uint64
	times hist.Histogram
}

// connect opens a device, connects, and prints the negotiated terms.
func (p *pinger) connect(ctx context.Context, f *fabric) (*rdmaio.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	dev, err := f.open("client")
	if err != nil {
		return nil, err
	}
	start := time.Now()
	conn, ip, err := dial(ctx, f.flags, dev, p.addr, f.dialConfig(p.Wait))
	if err != nil {
		return nil, err
	}
	t, took := conn.Terms(), time.Since(start)
	if p.JSON {
		fields := map[string]any{
			"address": ip, "provider": p.Provider, "program": p.Program, "version": p.Version, "connect_ns": took,
		}
		termsJSON(fields, &t)
		tlsJSON(fields, conn)
		p.json("start", fields)
	} else if !p.Quiet {
		fmt.Fprintf(p.env.stdout, "PING %s (%s) over %s, connected in %v: procedure 0 of program %d version %d\n",
			p.Host, ip, p.Provider, took.Round(time.Microsecond), p.Program, p.Version)
		fmt.Fprintf(p.env.stdout, "RPC-over-RDMA version %d, inline thresholds: %d bytes to the server, %d bytes from it\n", t.Version, t.InlineSend, t.InlineRecv)
		printTLS(p.env, conn)
		if p.Verbose {
			fmt.Fprintf(p.env.stdout, "terms: %s\n", terms(&t))
		}
	}
	p.addr = ip
	return conn, nil
}

// ping makes calls up to the count, or until ctx ends. It returns the first error after which
// further calls are pointless.
func (p *pinger) ping(ctx context.Context, conn *rdmaio.Conn) error {
	calls := rpc.NewClient(conn, oncrpc.Program{Number: p.Program, Version: p.Version}, nil)
	tick := time.NewTicker(max(p.Interval, time.Nanosecond))
	defer tick.Stop()
	for p.Count == 0 || p.sent < p.Count {
		if p.sent > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		p.sent++
		limit, cancel := context.WithTimeout(ctx, p.Wait)
		start := time.Now()
		err := calls.Call(limit, 0, nil, nil, nil)
		took := time.Since(start)
		cancel()
		switch {
		case err == nil:
			p.times.Add(took)
			p.reply(conn, took)
		case ctx.Err() != nil:
			p.sent-- // interrupted: neither answered nor lost
			return nil
		case conn.Err() != nil:
			return p.report(explain("call", p.addr, err))
		default:
			f := explain("call", p.addr, err)
			reported := p.report(f)
			if f.code == exitPeer {
				return reported // the server would answer the same again
			}
		}
	}
	return nil
}

// reply prints a reply.
func (p *pinger) reply(conn *rdmaio.Conn, took time.Duration) {
	if p.Quiet {
		return
	}
	credits := conn.Stats().Granted
	if p.JSON {
		p.json("reply", map[string]any{"seq": p.sent, "time_ns": took, "credits": credits})
		return
	}
	fmt.Fprintf(p.env.stdout, "reply from %s: seq=%d credits=%d time=%v\n", p.addr, p.sent, credits, rounded(took))
}

// report reports a failure before the summary, and returns it as one that has been reported.
func (p *pinger) report(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	report(p.env, f)
	return &failure{code: f.code, err: errReported}
}

func (p *pinger) summary() {
	n := p.times.Count()
	if p.JSON {
		p.json("end", map[string]any{
			"sent": p.sent, "received": n,
			"min_ns": p.times.Min(), "mean_ns": p.times.Mean(), "max_ns": p.times.Max(), "mdev_ns": p.times.Deviation(), "p99_ns": p.times.Quantile(0.99),
		})
		return
	}
	loss := 0.
	if p.sent > 0 {
		loss = 100 * float64(p.sent-n) / float64(p.sent)
	}
	fmt.Fprintf(p.env.stdout, "--- %s ping statistics ---\n%s, %s, %.4g%% lost\n",
		p.Host, count(p.sent, "call", "calls"), count(n, "reply", "replies"), loss)
	if n > 0 {
		fmt.Fprintf(p.env.stdout, "rtt min/avg/max/mdev = %v/%v/%v/%v\n",
			rounded(p.times.Min()), rounded(p.times.Mean()), rounded(p.times.Max()), rounded(p.times.Deviation()))
	}
}

// json prints an object.
func (p *pinger) json(typ string, fields map[string]any) { printJSON(p.env, typ, fields) }
