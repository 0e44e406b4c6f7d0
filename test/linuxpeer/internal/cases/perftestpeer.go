package cases

import (
	"fmt"
	"net"
	"regexp"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/perftest"
)

const (
	perftestPort = 18515
	perftestSize = 4096
)

// perftestCommand is a program of perftest with the options for a peer outside the guest.
func perftestCommand(program, port string, n int, more ...string) []string {
	options := []string{program, "-R", "-F", "-d", "siw0", "-p", port, "-s", fmt.Sprint(perftestSize), "-n", fmt.Sprint(n)}
	return append(options, more...)
}

// perftestTo is the client of a perftest server in the guest.
func perftestTo(t *T, program string, op verbs.Opcode) {
	const n = 500
	server := t.Background(perftestCommand(program, fmt.Sprint(perftestPort), n)...)
	dev := device(t, false)
	res, err := perftest.Run(t.Context(), dev, perftest.Config{
		Op: op, Messages: n, Size: perftestSize,
		Connect: func(qp verbs.QueuePair) error {
			t.AwaitListener(perftestPort) // which the server closes and opens again
			_, err := dev.Dial(t.Context(), t.Forward(perftestPort), qp, nil)
			return err
		},
	})
	t.Must(err)
	perftestEnd(t, server, n)
	text := ""
	if op == verbs.Send {
		if res.Credit == 0 || res.Credit > n {
			t.Errorf("the server's RDMA Write of its credit: %d messages of %d", res.Credit, n)
		}
		text = fmt.Sprintf(", credit for %d", res.Credit)
	}
	perftestReport(t, program, "server, the provider iwarp as client", n)
	t.Say("version %s: %d messages%s", res.Version, n, text)
}

// perftestFrom is the server for a perftest client in the guest.
func perftestFrom(t *T, program string, op verbs.Opcode) {
	const n = 1000
	dev := device(t, false)
	ln, err := dev.Listen(t.Context(), "127.0.0.1:0")
	t.Must(err)
	t.Cleanup(func() { ln.Close() })
	_, port, err := net.SplitHostPort(ln.Addr())
	t.Must(err)
	client := t.Background(perftestCommand(program, port, n, guest.HostAddr)...)
	res, err := perftest.Run(t.Context(), dev, perftest.Config{
		Server: true, Op: op, Messages: n, Size: perftestSize,
		Connect: func(qp verbs.QueuePair) error {
			req, err := ln.Accept(t.Context())
			if err != nil {
				return err
			}
			_, err = req.Accept(t.Context(), qp, nil)
			return err
		},
	})
	t.Must(err)
	perftestEnd(t, client, n)
	perftestReport(t, program, "client, the provider iwarp as server", n)
	t.Say("version %s: %d messages", res.Version, n)
}

// perftestEnd waits for a program's end and checks the line of its result.
func perftestEnd(t *T, p *Process, n int) {
	out, err := p.Wait()
	t.Must(err)
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d +%d +[0-9.]+`, perftestSize, n))
	if !line.MatchString(out) {
		t.Errorf("no line for %d messages of %d bytes: %s", n, perftestSize, out)
	}
}

// perftestReport reports that a program runs, with its role and the provider's.
func perftestReport(t *T, program, roles string, n int) {
	what := fmt.Sprintf("%s -R of perftest as %s, %d messages of %d bytes", program, roles, n, perftestSize)
	t.Report(Finding{What: what, Saw: "runs"})
}
