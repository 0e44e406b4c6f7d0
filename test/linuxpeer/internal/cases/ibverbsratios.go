package cases

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// figure returns the number that the first group of a pattern has in the output of a command.
func figure(out, pattern string) (float64, error) {
	m := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("found the output\n%s\nexpected %q in it", out, pattern)
	}
	return strconv.ParseFloat(m[1], 64)
}

// verbsRest makes connections that rest, and compares what the kernel has pinned with the table of
// docs/ibverbs.md: the Receives of 4 KiB, and a quarter more.
func verbsRest(t *T, d verbsDevice) {
	var said []string
	for _, m := range []struct{ connections, credits int }{{100, 8}, {1, 32}, {10, 32}, {100, 32}, {10, 128}} {
		options := []string{"-n", fmt.Sprint(m.connections), "-credits", fmt.Sprint(m.credits), "rest", d.at(0)}
		out := lastLine(t.Run(d.verbspeer(options...)...))
		kilobytes, err := figure(out, `: ([0-9.]+) kB pinned for each end`)
		t.Must(err)
		if want := float64(m.credits * 4 * 5 / 4); kilobytes != want {
			t.Errorf("%d connections of %d credits pin %.1f kB at each end, expected %.0f", m.connections, m.credits, kilobytes, want)
		}
		said = append(said, fmt.Sprintf("%d credits, %s", m.credits, out))
	}
	t.Say("%s", strings.Join(said, "; "))
}

// verbsRatios measures the provider and perftest's own client, one after the other and both
// against perftest's server. For the latency both ends are of the same program.
func verbsRatios(t *T, d verbsDevice) {
	const at = 18519
	var said []string
	for _, op := range []string{"read", "write"} {
		for _, m := range []struct {
			name    string
			n, size int
		}{{"64 KiB", 500, 64 << 10}, {"1 MiB", 100, 1 << 20}} {
			server := t.Background("ib_"+op+"_bw", "-R", "-F", "-d", d.name, "-p", fmt.Sprint(at), "-s", fmt.Sprint(m.size), "-n", fmt.Sprint(m.n))
			options := []string{"-n", fmt.Sprint(m.n), "-size", fmt.Sprint(m.size), "perftest-client", op, d.at(at)}
			if d.ib {
				options = append([]string{"-no-credit"}, options...)
			}
			ours, err := figure(t.Run(d.verbspeer(options...)...), `: ([0-9.]+) MB/s`)
			t.Must(err)
			_, err = server.Wait()
			t.Must(err)
			theirs := d.perftest(t, m.size, 3, "ib_"+op+"_bw", "-n", fmt.Sprint(m.n)) * 1.048576
			t.Logf("%s of %s: %.1f MB/s, perftest %.1f", op, m.name, ours, theirs)
			said = append(said, fmt.Sprintf("%s of %s %.2f times ib_%s_bw's rate", op, m.name, ours/theirs, op))
		}
	}
	ours, err := figure(t.Run(d.verbspeer("-n", "1000", "-size", "64", "latency", d.at(0))...), `: ([0-9.]+) us`)
	t.Must(err)
	theirs := d.perftest(t, 64, 4, "ib_send_lat", "-n", "1000")
	t.Logf("half a round trip of 64 bytes: %.1f us, perftest %.1f", ours, theirs)
	t.Say("%s; send of 64 bytes %.2f times ib_send_lat's latency", strings.Join(said, ", "), ours/theirs)
}
