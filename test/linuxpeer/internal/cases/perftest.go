package cases

import (
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
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

// perftestLoop runs a program of perftest as server and as client. Its arguments are the address,
// the size of the messages, and the program with its own arguments. The client tries again when
// the server does not listen yet, which netstat does not show, and when the first FPDU lies unread
// between two siws, a race that siw itself has (see readNudging): both ends then wait without end.
// It can fail after its result: docs/linux-peer.md, "Pitfalls of siw". Its result is 0 or inf if
// it did not find the processor's frequency: it then reports a correlation, and the script tries
// again. A server whose client was killed can crash in librdmacm, which the kernel is made not to
// log.
const perftestLoop = `
	echo 0 >/proc/sys/debug/exception-trace
	addr=$1 size=$2 n=0
	shift 2
	"$@" >/tmp/server 2>&1 & server=$!
	while :; do
		timeout -s KILL 10 "$@" $addr >/tmp/client 2>&1
		code=$?
		grep -q "^ *$size " /tmp/client && ! grep -q Correlation /tmp/client && break
		n=$((n+1)); [ $n -lt 20 ] || break
		[ $code != 137 ] || kill -9 $server
		sleep 0.2
		kill -0 $server 2>/dev/null || { "$@" >/tmp/server 2>&1 & server=$!; }
	done
	kill -9 $server 2>/dev/null
	cat /tmp/client
	echo server:
	cat /tmp/server`

func perftestSiw(t *T) {
	programs := []string{"ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat"}
	for _, program := range programs {
		out := t.Run("sh", "-c", perftestLoop, "sh", guest.GuestAddr, "4096", program, "-R", "-F", "-d", "siw0", "-s", "4096", "-n", "100")
		client, _, _ := strings.Cut(out, "server:")
		if !strings.Contains(client, "4096 ") {
			t.Errorf("%s has no line for messages of 4096 bytes: %s", program, out)
		}
		t.Report(Finding{What: program + " of perftest, siw to siw in the guest, 100 messages of 4096 bytes", Saw: "runs"})
	}
	t.Say("%d programs", len(programs))
}
