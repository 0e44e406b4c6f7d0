package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
)

// conformCmd is the command "conform".
type conformCmd struct {
	Carrier  string        `default:"tcp" enum:"tcp,udp,rdma"`
	Provider provider      `default:"${provider}"`
	Pcap     string        `name:"pcap"`
	Run      string        `name:"run"`
	List     bool          `name:"list"`
	Listen   bool          `name:"listen"`
	Wait     time.Duration `short:"W" default:"5s"`
	Failed   bool          `name:"failed"`
	JSON     bool          `name:"json"`
	Host     string        `arg:"" optional:""`
	Prog     string        `arg:"" optional:""`
}

// conformCarriers are the values of -carrier.
var conformCarriers = map[string]conform.Carrier{"tcp": conform.TCP, "udp": conform.UDP, "rdma": conform.RDMA}

// tally counts the results of a run.
type tally struct{ passed, failed, skipped int }

// run runs the cases with a server.
func (c *conformCmd) run(ctx context.Context, env environment) (err error) {
	var prog, vers uint32
	prog, vers, err = conformProgram(c.Prog)
	pattern, badPattern := regexp.Compile(c.Run)
	switch {
	case err != nil:
	case badPattern != nil:
		err = fmt.Errorf("-run %.64q: %w", c.Run, badPattern)
	case c.Wait <= 0:
		err = fmt.Errorf("-W is %v, must be positive", c.Wait)
	case c.Carrier != "rdma" && c.Pcap != "":
		err = errors.New("-pcap shows RDMA: it has no effect without -carrier rdma")
	case c.Provider.name() == "mem":
		err = errors.New("the provider mem connects within this process only: use another -provider")
	case c.Listen && c.Prog != "":
		err = errors.New("-listen has its own program, CONFORM_CLIENT: found a second argument")
	case c.Host == "" && !c.List && !c.Listen:
		err = errors.New("found no HOST, expected the name or the address of a server")
	}
	if err != nil {
		return &failure{code: exitUsage, stage: "conform", err: err, help: "rpcrdma help conform"}
	}
	if c.Listen {
		return c.listen(ctx, env, pattern)
	}
	cases := conform.Cases()
	if c.List {
		return c.list(env, cases, pattern)
	}
	t := &conform.Target{Carrier: conformCarriers[c.Carrier], Program: prog, Version: vers, Wait: c.Wait}
	if err := c.find(ctx, t); err != nil {
		return err
	}
	if t.Carrier == conform.RDMA {
		f, failed := c.open(env, "client", &t.Device)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, f.close()) }()
	}
	return c.all(ctx, env, t, cases, pattern)
}

// open opens the device of -carrier rdma.
func (c *conformCmd) open(env environment, name string, dev *verbs.Device) (*fabric, error) {
	flags := &deviceFlags{rdmaFlags: rdmaFlags{Provider: c.Provider, CRC: "on", Credits: 32, Pcap: c.Pcap, Limit: 1 << 30}}
	if err := flags.check(); err != nil {
		return nil, &failure{code: exitUsage, stage: "conform", err: err}
	}
	f, err := newFabric(flags, env)
	if err != nil {
		return nil, err
	}
	if *dev, err = f.open(name); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// all runs the cases of the target's carrier whose names match.
func (c *conformCmd) all(ctx context.Context, env environment, t *conform.Target, cases []conform.Case, pattern *regexp.Regexp) error {
	start := time.Now()
	if err := t.Ping(ctx); err != nil {
		return explainConform(t.Addr, err)
	}
	var sum tally
	for i := range cases {
		if !pattern.MatchString(cases[i].Name) || cases[i].On&t.Carrier == 0 {
			continue
		}
		begin := time.Now()
		r, err := t.Run(ctx, &cases[i])
		if ctx.Err() != nil {
			return &failure{code: exitFailed, stage: "conform", err: errors.New("interrupted")}
		}
		if err != nil {
			return explainConform(t.Addr, fmt.Errorf("before %s: %w", cases[i].Name, err))
		}
		c.print(env, r, time.Since(begin), &sum)
	}
	if !c.JSON {
		fmt.Fprintf(env.stdout, "program %d version %d at %s over %s: %v\n", t.Program, t.Version, t.Addr, c.Carrier, sum.text(time.Since(start)))
	}
	return c.end(env, map[string]any{"address": t.Addr, "program": t.Program, "version": t.Version}, &sum, time.Since(start))
}

// conformProgram reads PROG or PROG.VERS. Without either it is the test program.
func conformProgram(s string) (prog, vers uint32, err error) {
	if s == "" {
		return conform.Program, conform.Version, nil
	}
	number, version, given := strings.Cut(s, ".")
	p, err := strconv.ParseUint(number, 0, 32)
	v := uint64(1)
	if err == nil && given {
		v, err = strconv.ParseUint(version, 10, 32)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("found program %.64q, expected its number, or NUMBER.VERSION", s)
	}
	return uint32(p), uint32(v), nil
}

// find finds the address of the server. Without a port it asks rpcbind.
func (c *conformCmd) find(ctx context.Context, t *conform.Target) error {
	host, port, err := splitHostPort(c.Host, "0")
	if err != nil {
		return &failure{code: exitUsage, stage: "conform", err: err}
	}
	limit, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	if port != 0 {
		// A device takes no names. IPv4 comes first, as with the other commands.
		ips, err := net.DefaultResolver.LookupNetIP(limit, "ip", host)
		if err != nil {
			return explainConform(joinAddress(host, port), err)
		}
		ip := slices.MinFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
		t.Addr = joinAddress(ip.Unmap().String(), port)
		return nil
	}
	at, err := rpcbind.Resolve(limit, host, t.Program, t.Version, c.Carrier, nil)
	if err != nil {
		return explainLookup(joinAddress(host, rpcbind.Port), adviceNoLookup, err)
	}
	t.Addr = at.String()
	return nil
}

// explainConform says why no case can be run.
func explainConform(addr string, err error) *failure {
	f := &failure{code: exitFailed, stage: "connection to " + addr, err: err}
	var name *net.DNSError
	switch {
	case errors.Is(err, conform.ErrNull):
		f.stage, f.code = "call to "+addr, exitPeer
		f.help = "the number and version of a program that the server has, or serve conform.x there"
		if strings.HasSuffix(err.Error(), "no reply") {
			f.code, f.help = exitSilent, "a longer -W; check that an RPC server listens there"
		}
	case errors.As(err, &name):
		f.stage, f.help = "name of "+addr, "check the name, or use an IP address"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, verbs.ErrConnectionRefused):
		f.help = "start the server, or check the port: rpcrdma info HOST lists the programs of a host and where they are"
	case errors.Is(err, context.DeadlineExceeded):
		f.code, f.help = exitSilent, "a longer -W; check that no firewall drops the packets"
	}
	return f
}

// list prints the names of the cases, first of the ones with servers.
func (c *conformCmd) list(env environment, cases []conform.Case, pattern *regexp.Regexp) error {
	for _, r := range conform.Replies() {
		cases = append(cases, conform.Case{Name: r.Name, Section: r.Section, On: r.On})
	}
	for i := range cases {
		k := &cases[i]
		switch {
		case !pattern.MatchString(k.Name):
		case c.JSON:
			printJSON(env, "list", map[string]any{"name": k.Name, "section": k.Section, "carriers": strings.Split(k.On.String(), ","), "test_program": k.Echo})
		default:
			fmt.Fprintf(env.stdout, "%-40s %-22s %s\n", k.Name, k.Section, k.On)
		}
	}
	return nil
}

// print prints a result and counts it.
func (c *conformCmd) print(env environment, r *conform.Result, took time.Duration, sum *tally) {
	result := "ok"
	switch {
	case r.Skipped != "":
		result = "skip"
		sum.skipped++
	case !r.Passed:
		result = "FAIL"
		sum.failed++
	default:
		sum.passed++
	}
	switch {
	case c.Failed && result != "FAIL":
	case c.JSON:
		fields := map[string]any{"name": r.Case.Name, "section": r.Case.Section, "result": strings.ToLower(result), "took_ns": took}
		if r.Skipped != "" {
			fields["reason"] = r.Skipped
		} else {
			fields["expected"], fields["came"] = r.Expected, r.Came
		}
		printJSON(env, "case", fields)
	default:
		fmt.Fprintf(env.stdout, "%-4s %-40s %-22s %s\n", result, r.Case.Name, r.Case.Section, resultText(r))
	}
}

// resultText says in words what a case has shown.
func resultText(r *conform.Result) string {
	switch {
	case r.Skipped != "":
		return r.Skipped
	case r.Passed:
		return cut(r.Came)
	}
	return "expected " + cut(r.Expected) + "; came " + cut(r.Came)
}

// cut returns the beginning of a text.
func cut(s string) string {
	if s = plainText(s); len(s) > 100 {
		return s[:97] + "..."
	}
	return s
}

// text returns the counts in words.
func (sum *tally) text(took time.Duration) string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped, in %v", sum.passed, sum.failed, sum.skipped, took.Round(time.Millisecond))
}

// end prints the counts as JSON. A case that failed gives exit code 3.
func (c *conformCmd) end(env environment, fields map[string]any, sum *tally, took time.Duration) error {
	if c.JSON {
		fields["carrier"], fields["took_ns"] = c.Carrier, took
		fields["passed"], fields["failed"], fields["skipped"] = sum.passed, sum.failed, sum.skipped
		printJSON(env, "end", fields)
	}
	switch {
	case sum.failed > 0:
		return &failure{code: exitInput, err: errReported}
	case sum.passed+sum.skipped == 0:
		return &failure{code: exitUsage, stage: "conform", err: fmt.Errorf("no case of %s has a name with %.64q", c.Carrier, c.Run), help: "rpcrdma conform -list"}
	}
	return nil
}
