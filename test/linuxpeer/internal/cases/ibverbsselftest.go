package cases

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// verbsSelftest runs the page's command selftest, and compares its figures with perftest's.
func verbsSelftest(t *T, d verbsDevice) {
	pageFolder(t)
	for _, command := range verbsPageCommands(t) {
		if verbsPageSteps[command].long {
			d.selftest(t, d.here(command)+" -v") // it names each case
		}
	}
}

// selftestPage has the counts and figures that selftest prints.
type selftestPage struct {
	passed, failed, skipped int
	failures                []string // cases
	latency                 time.Duration
	rate, throughput        float64 // calls a second, bytes a second
}

var (
	selftestCases   = regexp.MustCompile(`(?m)^cases: (\d+) passed, (\d+) failed, (\d+) skipped, in `)
	selftestFailure = regexp.MustCompile(`(?m)^  FAILED (\S+): (.*)$`)
	selftestFigures = regexp.MustCompile(`(?m)^(latency|rate|throughput), .*: p50 (\S+), p99 \S+, (\d+) calls/s, ([0-9.]+) MB/s$`)
)

// readSelftest reads a page of selftest.
func readSelftest(out string) (p selftestPage, err error) {
	m := selftestCases.FindStringSubmatch(out)
	figures := selftestFigures.FindAllStringSubmatch(out, -1)
	if m == nil || len(figures) != 3 {
		return p, fmt.Errorf("found the page\n%s\nexpected a count of cases, latency, rate and throughput", out)
	}
	for i, n := range []*int{&p.passed, &p.failed, &p.skipped} {
		*n, _ = strconv.Atoi(m[i+1]) // digits
	}
	for _, f := range selftestFailure.FindAllStringSubmatch(out, -1) {
		p.failures = append(p.failures, f[1])
	}
	for _, f := range figures {
		calls, _ := strconv.ParseFloat(f[3], 64) // digits
		bytes, err := strconv.ParseFloat(f[4], 64)
		if err != nil {
			return p, err
		}
		switch f[1] {
		case "latency":
			if p.latency, err = time.ParseDuration(f[2]); err != nil {
				return p, err
			}
		case "rate":
			p.rate = calls
		case "throughput":
			p.throughput = bytes * 1e6
		}
	}
	return p, nil
}

// selftest runs the command. Cases that are known to fail on the device may fail. Others run once
// more on siw, whose faults come and go.
func (d verbsDevice) selftest(t *T, command string) {
	res, err := t.Guest().Run(t.Context(), "sh", "-c", verbsPrelude+command)
	t.Logf("guest$ %s\n%s%s", command, res.Stdout, res.Stderr)
	page, failed := readSelftest(res.Stdout)
	t.Must(failed)
	if (err != nil) != (page.failed > 0) || page.passed < 50 || len(page.failures) != page.failed {
		t.Errorf("%s: %v, and the page\n%s", command, err, res.Stdout)
	}
	for _, name := range page.failures {
		if _, known := verbsKnown[d.kind][name]; known {
			continue
		}
		res, err := t.Guest().Run(t.Context(), "timeout", "60", "rpcrdma", "selftest", "-provider", "ibverbs="+d.name, "-case", name)
		if d.kind != "siw" || err != nil {
			t.Errorf("%s fails in selftest, and alone: %v\n%s%s", name, err, res.Stdout, res.Stderr)
		}
	}
	t.Say("%d cases passed, %d failed, %d skipped; %s", page.passed, page.failed, page.skipped, d.besidePerftest(t, page))
}

// besidePerftest runs perftest, and returns the ratios of selftest's figures to perftest's. A call
// is a message each way. perf sends data that the server gets by RDMA Read.
func (d verbsDevice) besidePerftest(t *T, p selftestPage) string {
	latency := d.perftest(t, 128, 5, "ib_send_lat", "-n", "1000")
	rate := d.perftest(t, 128, 4, "ib_send_bw", "-n", "2000")
	throughput := d.perftest(t, 1<<20, 3, "ib_read_bw", "-n", "100")
	roundTrip := time.Duration(2 * latency * float64(time.Microsecond))
	t.Logf("perftest: a round trip of %v, %.0f messages a second, %.1f MB/s by RDMA Read", roundTrip, rate*1e6, throughput*1.048576)
	return fmt.Sprintf("latency %.1f times ib_send_lat's round trip, calls %.2f times ib_send_bw's messages, throughput %.2f times ib_read_bw's",
		float64(p.latency)/float64(roundTrip), p.rate/(rate*1e6), p.throughput/(throughput*1048576))
}

// perftest runs a program of perftest between two processes on the device, and returns a column of
// its result. The first column, 0, is the size of the messages.
func (d verbsDevice) perftest(t *T, size, column int, program string, args ...string) float64 {
	argv := append([]string{"sh", "-c", perftestLoop, "sh", d.addr, fmt.Sprint(size), program, "-R", "-F", "-d", d.name, "-s", fmt.Sprint(size)}, args...)
	out := t.Run(argv...)
	value, err := perftestValue(out, size, column)
	t.Must(err)
	return value
}

// perftestValue returns a column of the first result for messages of a size.
func perftestValue(out string, size, column int) (float64, error) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) > column && fields[0] == strconv.Itoa(size) {
			value, err := strconv.ParseFloat(fields[column], 64)
			if err == nil && (value <= 0 || math.IsInf(value, 0)) {
				err = fmt.Errorf("found %q", line)
			}
			return value, err
		}
	}
	return 0, fmt.Errorf("found no line for messages of %d bytes in\n%s", size, out)
}
