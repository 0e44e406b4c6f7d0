package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
)

// selftestCmd is the command "selftest".
type selftestCmd struct {
	Provider provider      `default:"${provider}"`
	Addr     string        `name:"addr"`
	Case     string        `name:"case"`
	Wait     time.Duration `short:"W" default:"60s"`
	Verbose  bool          `short:"v"`
	JSON     bool          `name:"json"`
}

// listCases is the value of -case for which a child process prints the names of the cases.
const listCases = "?"

// selftest runs each case of the acceptance suite in a separate process: a case that hangs, or
// exits the process, costs one case.
type selftest struct {
	*selftestCmd
	env    environment
	child  func(ctx context.Context, args ...string) (output []byte, err error)
	passed int
	failed []failedCase
	skips  int
	took   time.Duration
	rates  []measured
}

// failedCase is a case that did not pass, with the first line of its log that says why.
type failedCase struct{ name, why string }

// measured is a result of perf.
type measured struct {
	name               string
	calls, bytes       float64 // in a second
	median, quantile99 time.Duration
	problem            string // empty if it was measured
	size, depth        string // flags of perf
}

// run runs the cases and prints one page, or runs one case in this process.
func (c *selftestCmd) run(ctx context.Context, env environment) error {
	if c.Wait <= 0 {
		return &failure{code: exitUsage, stage: "selftest", err: fmt.Errorf("-W is %v, must be positive", c.Wait)}
	}
	if !withIBVerbs {
		return &failure{code: exitUsage, stage: "selftest", err: errors.New("this rpcrdma has no acceptance suite"), help: "make build-ibverbs, which builds bin/rpcrdma with it"}
	}
	addr, err := c.address(rdmadev.System())
	if err != nil {
		return explainDevice("selftest", err)
	}
	if c.Case != "" {
		runCase(c.Provider, addr, c.Case) // exits
	}
	self, err := os.Executable()
	if err != nil {
		return &failure{code: exitFailed, stage: "selftest", err: err}
	}
	s := &selftest{selftestCmd: c, env: env, child: func(ctx context.Context, args ...string) ([]byte, error) {
		return runChild(ctx, exec.Command(self, args...))
	}}
	if err := s.cases(ctx); err != nil {
		return err
	}
	s.measure(ctx)
	s.print(rdmadev.System(), addr)
	if len(s.failed) > 0 {
		return &failure{code: exitInput, err: errReported}
	}
	return nil
}

// runChild runs a program and returns its output. When ctx ends, it kills the program, and does not
// wait for its end: a program that is stuck in a driver cannot be killed.
func runChild(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	out, err := os.CreateTemp("", "rpcrdma-selftest-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out // without a goroutine that copies
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = cmd.Process.Kill() // it may have exited already
		err = ctx.Err()
	}
	text, readErr := os.ReadFile(out.Name())
	return text, errors.Join(err, readErr)
}

// address returns the address at which the cases listen.
func (c *selftestCmd) address(tree rdmadev.Tree) (string, error) {
	switch {
	case c.Addr != "":
		return joinAddress(c.Addr, 0), nil
	case c.Provider == "mem":
		return "selftest", nil
	case c.Provider.name() != "ibverbs":
		return "127.0.0.1:0", nil
	}
	return localAddress(tree, c.Provider)
}

// find returns the RDMA device of this machine that -provider ibverbs means, or nil.
func (p provider) find(tree rdmadev.Tree) *rdmadev.Device {
	if p.name() != "ibverbs" {
		return nil
	}
	devices, _ := tree.Devices() // without a list, the device is not known
	for i := range devices {
		if d := &devices[i]; d.Name == p.device() || p.device() == "" && len(devices) == 1 {
			return d
		}
	}
	return nil
}

// localAddress returns an address of the provider's device with port 0.
func localAddress(tree rdmadev.Tree, p provider) (string, error) {
	d := p.find(tree)
	if d == nil {
		if all, err := tree.Devices(); p.device() == "" && err == nil && len(all) > 1 {
			return "", fmt.Errorf("found %d devices: -provider ibverbs=DEVICE names one, rpcrdma devices lists them", len(all))
		}
		return "", tree.Unusable(p.device(), nil, nil)
	}
	ip, ok := tree.IP(d)
	if !ok {
		return "", fmt.Errorf("the network device of %s is not known, or has no address: -addr with an IP address of it", d.Name)
	}
	return joinAddress(ip.String(), 0), nil
}

// args returns the command line of a child.
func (s *selftest) args(command string, more ...string) []string {
	return append([]string{command, "-provider", string(s.Provider)}, more...)
}

// cases runs all cases.
func (s *selftest) cases(ctx context.Context) error {
	start := time.Now()
	names, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i, name := range names {
		if ctx.Err() != nil {
			return &failure{code: exitFailed, stage: "selftest", err: errors.New("interrupted")}
		}
		limit, cancel := context.WithTimeout(ctx, s.Wait)
		out, err := s.child(limit, s.args("selftest", "-case", name, "-addr", s.Addr)...)
		hung := limit.Err() != nil
		cancel()
		result := "passed"
		switch {
		case hung:
			result = fmt.Sprintf("no end within %v", s.Wait)
			s.failed = append(s.failed, failedCase{name, result})
		case err != nil:
			result = firstReason(out, err)
			s.failed = append(s.failed, failedCase{name, result})
		case bytes.Contains(out, []byte("    --- PASS: ")):
			s.passed++
		default:
			result = "skipped"
			s.skips++
		}
		if s.Verbose {
			fmt.Fprintf(s.env.stderr, "%d of %d %s: %s\n", i+1, len(names), name, plainText(result))
		}
	}
	s.took = time.Since(start)
	return nil
}

// list asks a child for the names of the cases.
func (s *selftest) list(ctx context.Context) ([]string, error) {
	out, err := s.child(ctx, s.args("selftest", "-case", listCases, "-addr", s.Addr)...)
	var names []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "    --- SKIP: "+caseParent+"/"); ok {
			name, _, _ = strings.Cut(name, " (")
			names = append(names, name)
		}
	}
	if err != nil || len(names) == 0 {
		return nil, &failure{code: exitFailed, stage: "list of cases", err: errors.New(firstReason(out, orElse(err, "found no case")))}
	}
	return names, nil
}

// caseParent is the test that has the cases as subtests.
const caseParent = "selftest"

// firstReason returns the first line of a case's log, or else err.
func firstReason(out []byte, err error) string {
	for line := range strings.Lines(string(out)) {
		text := strings.TrimSpace(line)
		if file, rest, ok := strings.Cut(text, ".go:"); ok && !strings.ContainsAny(file, " /\t") {
			if _, message, ok := strings.Cut(rest, ": "); ok {
				return message
			}
		}
		if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") || strings.HasPrefix(text, "rpcrdma: ") {
			return text
		}
	}
	return err.Error()
}

// orElse returns err, or an error with a text if err is nil.
func orElse(err error, text string) error {
	if err == nil {
		err = errors.New(text)
	}
	return err
}

// measure runs perf: the latency of small calls, their rate, and the throughput of large ones.
func (s *selftest) measure(ctx context.Context) {
	s.rates = []measured{
		{name: "latency, 128 bytes, one call at a time", size: "128", depth: "1"},
		{name: "rate, 128 bytes, 32 calls at a time", size: "128", depth: "32"},
		{name: "throughput, 1 MiB, 8 calls at a time", size: "1m", depth: "8"},
	}
	for i := range s.rates {
		m := &s.rates[i]
		limit, cancel := context.WithTimeout(ctx, s.Wait)
		out, err := s.child(limit, s.args("perf", "-json", "-i", "0", "-t", "2s", "-size", m.size, "-depth", m.depth, "-addr", s.Addr)...)
		cancel()
		if err := m.read(out, err); err != nil {
			m.problem = err.Error()
		}
	}
}

// read takes the figures from the output of perf.
func (m *measured) read(out []byte, failed error) error {
	for line := range bytes.Lines(out) {
		var end struct {
			Type    string
			Message string
			Calls   float64 `json:"calls_per_s"`
			Bytes   float64 `json:"bytes_per_s"`
			Median  int64   `json:"p50_ns"`
			P99     int64   `json:"p99_ns"`
		}
		if json.Unmarshal(line, &end) != nil {
			continue // a line of the log
		}
		switch end.Type {
		case "error":
			return errors.New(end.Message)
		case "end":
			m.calls, m.bytes, m.median, m.quantile99 = end.Calls, end.Bytes, time.Duration(end.Median), time.Duration(end.P99)
		}
	}
	if m.calls == 0 {
		return orElse(failed, "perf measured no call")
	}
	return failed
}

// print prints the page.
func (s *selftest) print(tree rdmadev.Tree, addr string) {
	device, firmware, driver, protocol := "", "", "", ""
	if d := s.Provider.find(tree); d != nil {
		device, firmware, driver, protocol = d.Name, d.Firmware, d.Driver, d.Transport
		if len(d.Ports) > 0 {
			protocol = d.Protocol(&d.Ports[0])
		}
	}
	kernel, library := tree.Kernel(), tree.LoadedLibrary("libibverbs.so")
	if s.env.json {
		s.printJSON(map[string]any{
			"provider": string(s.Provider), "address": addr, "device": device, "firmware": firmware, "driver": driver, "protocol": protocol,
			"kernel": kernel, "library": library, "version": cli.Version("rpcrdma"),
		})
		return
	}
	w := s.env.stdout
	fmt.Fprintf(w, "%s selftest of provider %s at %s\nLinux %s", cli.Version("rpcrdma"), s.Provider, addr, kernel)
	if library != "" {
		fmt.Fprintf(w, ", %s", library)
	}
	fmt.Fprintln(w)
	if device != "" {
		fmt.Fprintf(w, "device %s: %s, driver %s, firmware %s\n", device, protocol, driver, cmp.Or(plainText(firmware), "unknown"))
	}
	fmt.Fprintf(w, "cases: %d passed, %d failed, %d skipped, in %v\n", s.passed, len(s.failed), s.skips, s.took.Round(time.Second))
	for _, f := range s.failed {
		fmt.Fprintf(w, "  FAILED %s: %s\n", f.name, plainText(f.why))
	}
	for i := range s.rates {
		s.rates[i].print(w)
	}
}

func (m *measured) print(w io.Writer) {
	if m.problem != "" {
		fmt.Fprintf(w, "%s: not measured: %s\n", m.name, plainText(m.problem))
		return
	}
	fmt.Fprintf(w, "%s: p50 %v, p99 %v, %.0f calls/s, %.1f MB/s\n", m.name, rounded(m.median), rounded(m.quantile99), m.calls, m.bytes/1e6)
}

// printJSON prints the page as one object.
func (s *selftest) printJSON(fields map[string]any) {
	failures := []map[string]any{}
	for _, f := range s.failed {
		failures = append(failures, map[string]any{"case": f.name, "message": f.why})
	}
	rates := []map[string]any{}
	for i := range s.rates {
		m := &s.rates[i]
		r := map[string]any{"name": m.name}
		if m.problem != "" {
			r["message"] = m.problem
		} else {
			r["p50_ns"], r["p99_ns"], r["calls_per_s"], r["bytes_per_s"] = m.median, m.quantile99, m.calls, m.bytes
		}
		rates = append(rates, r)
	}
	fields["passed"], fields["skipped"], fields["took_ns"] = s.passed, s.skips, s.took
	fields["failures"], fields["measurements"] = failures, rates
	printJSON(s.env, "selftest", fields)
}
