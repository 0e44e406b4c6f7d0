package cases

import (
	"strings"
	"time"
)

// perftestCases run perftest's programs on siw, in the guest and against the provider iwarp.
func perftestCases() []Case {
	const limit = 2 * time.Minute
	all := []Case{{Name: "perftest/siw", Run: perftestSiw, Timeout: limit}}
	for _, write := range []bool{false, true} {
		name, program := "send", "ib_send_bw"
		if write {
			name, program = "write", "ib_write_bw"
		}
		all = append(all,
			Case{Name: "perftest/" + name + "-to-guest", Timeout: limit, Run: func(t *T) { perftestTo(t, program, write) }},
			Case{Name: "perftest/" + name + "-from-guest", Timeout: limit, Run: func(t *T) { perftestFrom(t, program, write) }},
		)
	}
	return all
}

func perftestSiw(t *T) {
	programs := []string{"ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat"}
	for _, program := range programs {
		options := []string{"-R", "-F", "-d", "siw0", "-s", "4096", "-n", "100"}
		server := t.Background(append([]string{program}, options...)...)
		// The listener of the RDMA connection manager is not in netstat: the client tries again.
		client := t.Shell("n=0; until " + program + " " + strings.Join(options, " ") +
			" 10.0.2.15; do n=$((n+1)); [ $n -lt 20 ] || exit 1; sleep 0.2; done")
		if !strings.Contains(client, "4096 ") {
			t.Errorf("%s has no line for messages of 4096 bytes: %s", program, client)
		}
		server.Stop()
		t.Report(Finding{What: program + " of perftest, siw to siw in the guest, 100 messages of 4096 bytes", Saw: "runs"})
	}
	t.Say("%d programs", len(programs))
}
