package cases

import (
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// perftestCases run perftest's programs on siw, in the guest and against the provider iwarp.
func perftestCases() []Case {
	const limit = 2 * time.Minute
	all := []Case{{Name: "perftest/siw", Run: perftestSiw, Timeout: limit}}
	for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite, verbs.RDMARead} {
		name, program := "perftest/"+op.String(), "ib_"+op.String()+"_bw"
		all = append(all,
			Case{Name: name + "-to-guest", Timeout: limit, Run: func(t *T) { perftestTo(t, program, op) }},
			Case{Name: name + "-from-guest", Timeout: limit, Run: func(t *T) { perftestFrom(t, program, op) }},
		)
	}
	return all
}

func perftestSiw(t *T) {
	programs := []string{"ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat"}
	for _, program := range programs {
		options := []string{"-R", "-F", "-d", "siw0", "-s", "4096", "-n", "100"}
		server := t.Background(append([]string{program}, options...)...)
		// The client tries again until the server listens. It can fail after its result, when it
		// ends: see the pitfalls of siw in docs/linux-peer.md.
		client := t.Shell("n=0; until out=$(" + program + " " + strings.Join(options, " ") + " 10.0.2.15 2>&1)" +
			" || echo \"$out\" | grep -q '^ *4096 '" +
			"; do n=$((n+1)); [ $n -lt 20 ] || break; sleep 0.2; done; echo \"$out\"")
		if !strings.Contains(client, "4096 ") {
			t.Errorf("%s has no line for messages of 4096 bytes: %s", program, client)
		}
		server.Stop()
		t.Report(Finding{What: program + " of perftest, siw to siw in the guest, 100 messages of 4096 bytes", Saw: "runs"})
	}
	t.Say("%d programs", len(programs))
}
