package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/hist"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

type nfspingCmd struct {
	Count          uint64        `short:"c"`
	Interval       time.Duration `short:"i" default:"1s"`
	Wait           time.Duration `short:"W" default:"5s"`
	Program        uint32        `name:"prog" default:"100003"`
	ProgramVersion numbers       `name:"vers" default:"3,4"`
	Quiet          bool          `short:"q"`
	JSON           bool          `name:"json"`
	deviceFlags
	Host string `arg:""`
}

// numbers is a list of numbers in a flag: 3,4.
type numbers []uint32

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *numbers) UnmarshalText(b []byte) error {
	var list numbers
	for text := range strings.SplitSeq(string(b), ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		switch {
		case err != nil:
			return fmt.Errorf("found %q, expected numbers with commas between them, such as 3,4", b)
		case slices.Contains(list, uint32(n)):
			return fmt.Errorf("found %q, expected each number once", b)
		}
		list = append(list, uint32(n))
	}
	*v = list
	return nil
}

// run pings each version of the program until the count is reached or the context is done.
func (c *nfspingCmd) run(ctx context.Context, env environment) (err error) {
	if c.Wait <= 0 || c.Interval < 0 {
		return &failure{code: exitUsage, stage: "nfsping", err: fmt.Errorf("-W is %v and -i is %v: -W must be positive, -i must not be negative", c.Wait, c.Interval)}
	}
	if err := c.deviceFlags.check(); err != nil {
		return &failure{code: exitUsage, stage: "nfsping", err: err}
	}
	p := &nfspinger{nfspingCmd: c, env: env}
	if p.addr, err = c.address(c.Host, "use another -provider"); err != nil {
		return &failure{code: exitUsage, stage: "nfsping", err: err}
	}
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	conn, err := p.connect(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, vers := range c.ProgramVersion {
		program := oncrpc.Program{Number: c.Program, Version: vers}
		p.versions = append(p.versions, &probe{version: vers, calls: rpc.NewClient(conn, program, nil)})
	}
	first := p.rounds(ctx, conn)
	p.summary()
	if first != nil {
		return first
	}
	return p.result()
}

// nfspinger is the state of one nfsping command.
type nfspinger struct {
	*nfspingCmd
	env      environment
	addr     string
	versions []*probe
}

// probe is the state of one program version.
type probe struct {
	version uint32
	calls   *rpc.Client
	sent    uint64
	times   hist.Histogram
	refusal *oncrpc.ReplyError // the server does not serve this version
}

// connect opens a device, connects, and prints the terms of the connection.
func (p *nfspinger) connect(ctx context.Context, f *fabric) (*rdmaio.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	inner, err := f.open("client")
	if err != nil {
		return nil, err
	}
	dev := &setupDevice{Device: inner}
	start := time.Now()
	conn, ip, err := dial(ctx, f.flags, dev, p.addr, f.dialConfig(p.Wait))
	if err != nil {
		return nil, err
	}
	p.addr = ip
	p.start(conn, &dev.setup, time.Since(start))
	return conn, nil
}

// start prints the terms of the connection.
func (p *nfspinger) start(conn *rdmaio.Conn, s *setup, took time.Duration) {
	t := conn.Terms()
	if p.JSON {
		fields := map[string]any{
			"address": p.addr, "provider": p.Provider, "program": p.Program, "versions": p.ProgramVersion, "connect_ns": took,
			"private_data_sent": hex.EncodeToString(s.sent), "private_data_received": hex.EncodeToString(s.info.PrivateData),
			"initiator_depth": s.info.InitiatorDepth, "responder_resources": s.info.ResponderResources,
		}
		termsJSON(fields, &t)
		tlsJSON(fields, conn)
		printJSON(p.env, "start", fields)
		return
	}
	if p.Quiet {
		return
	}
	out := p.env.stdout
	fmt.Fprintf(out, "NFSPING %s (%s) over %s, connected in %v: procedure 0 of program %d\n", p.Host, p.addr, p.Provider, rounded(took), p.Program)
	printTLS(p.env, conn)
	fmt.Fprintf(out, "private data sent:     %s\n", privateData(s.sent))
	fmt.Fprintf(out, "private data received: %s\n", privateData(s.info.PrivateData))
	fmt.Fprintf(out, "RPC-over-RDMA version %d, inline thresholds: %d bytes to the server, %d bytes from it; remote invalidation: %s\n",
		t.Version, t.InlineSend, t.InlineRecv, yesNo(t.RemoteInvalidate))
	fmt.Fprintf(out, "RDMA Reads at a time: %d of this side, %d of the server\n", s.info.InitiatorDepth, s.info.ResponderResources)
}

// rounds calls each version once a round, up to the count, or until ctx ends. It returns the first
// error after which further calls are pointless.
func (p *nfspinger) rounds(ctx context.Context, conn *rdmaio.Conn) error {
	tick := time.NewTicker(max(p.Interval, time.Nanosecond))
	defer tick.Stop()
	for round := uint64(0); p.Count == 0 || round < p.Count; round++ {
		if round > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		served := false
		for _, v := range p.versions {
			if ctx.Err() != nil {
				return nil
			}
			if v.refusal == nil {
				if err := p.call(ctx, conn, v); err != nil {
					return err
				}
			}
			served = served || v.refusal == nil
		}
		if !served {
			return nil
		}
	}
	return nil
}

// call makes one call of a version. It returns an error after which further calls are pointless.
func (p *nfspinger) call(ctx context.Context, conn *rdmaio.Conn, v *probe) error {
	v.sent++
	limit, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	start := time.Now()
	err := v.calls.Call(limit, 0, nil, nil, nil)
	took := time.Since(start)
	var refusal *oncrpc.ReplyError
	switch {
	case err == nil:
		v.times.Add(took)
		p.reply(conn, v, took)
	case ctx.Err() != nil:
		v.sent-- // interrupted: neither answered nor lost
	case errors.As(err, &refusal) && (errors.Is(err, oncrpc.ErrProgUnavail) || errors.Is(err, oncrpc.ErrProgMismatch)):
		v.refusal = refusal
		p.refused(v)
	default:
		f := explain("call", p.addr, fmt.Errorf("version %d: %w", v.version, err))
		report(p.env, f)
		if f.code == exitPeer || conn.Err() != nil {
			return &failure{code: f.code, err: errReported}
		}
	}
	return nil
}

// reply prints a reply.
func (p *nfspinger) reply(conn *rdmaio.Conn, v *probe, took time.Duration) {
	credits := conn.Stats().Granted
	switch {
	case p.Quiet:
	case p.JSON:
		printJSON(p.env, "reply", map[string]any{"version": v.version, "seq": v.sent, "time_ns": took, "credits": credits})
	default:
		fmt.Fprintf(p.env.stdout, "reply from %s: version=%d seq=%d credits=%d time=%v\n", p.addr, v.version, v.sent, credits, rounded(took))
	}
}

// refused prints that the server does not serve a version, which is not an error.
func (p *nfspinger) refused(v *probe) {
	r := v.refusal
	if p.JSON {
		fields := map[string]any{"version": v.version, "reason": r.Accept.String()}
		if r.Is(oncrpc.ErrProgMismatch) {
			fields["low"], fields["high"] = r.Range.Low, r.Range.High
		}
		printJSON(p.env, "refused", fields)
	} else if !p.Quiet {
		fmt.Fprintf(p.env.stdout, "reply from %s: version=%d %s\n", p.addr, v.version, refusalText(r))
	}
}

// refusalText returns the reason for which a server does not serve a program or version.
func refusalText(r *oncrpc.ReplyError) string {
	if r.Is(oncrpc.ErrProgMismatch) {
		return fmt.Sprintf("%v: the server has %s", r.Accept, versionsText(r.Range.Low, r.Range.High))
	}
	return fmt.Sprintf("%v: the server does not have the program", r.Accept)
}

// summary prints the figures of each version.
func (p *nfspinger) summary() {
	if !p.JSON {
		fmt.Fprintf(p.env.stdout, "--- %s nfsping statistics ---\n", p.Host)
	}
	for _, v := range p.versions {
		n := v.times.Count()
		switch {
		case p.JSON && v.refusal == nil:
			printJSON(p.env, "end", map[string]any{
				"version": v.version, "sent": v.sent, "received": n,
				"min_ns": v.times.Min(), "mean_ns": v.times.Mean(), "max_ns": v.times.Max(), "mdev_ns": v.times.Deviation(), "p99_ns": v.times.Quantile(0.99),
			})
		case p.JSON: // its line "refused" says all
		case v.refusal != nil:
			fmt.Fprintf(p.env.stdout, "version %d: %s\n", v.version, refusalText(v.refusal))
		case n == 0:
			fmt.Fprintf(p.env.stdout, "version %d: %s, no reply\n", v.version, count(v.sent, "call", "calls"))
		default:
			fmt.Fprintf(p.env.stdout, "version %d: %s, %s, rtt min/avg/max/mdev = %v/%v/%v/%v\n",
				v.version, count(v.sent, "call", "calls"), count(n, "reply", "replies"),
				rounded(v.times.Min()), rounded(v.times.Mean()), rounded(v.times.Max()), rounded(v.times.Deviation()))
		}
	}
}

// result returns the end of the command: all calls to the versions that the server has were
// answered, or a failure that was reported.
func (p *nfspinger) result() error {
	served, lost := false, false
	for _, v := range p.versions {
		if v.refusal == nil {
			served = true
			lost = lost || v.sent == 0 || v.times.Count() < v.sent
		}
	}
	switch {
	case !served:
		return &failure{code: exitPeer, err: errReported}
	case lost:
		return &failure{code: exitSilent, err: errReported}
	}
	return nil
}
