package cases

import (
	"fmt"
	"net"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/rping"
)

const (
	rpingPings = 5
	rpingPort  = 7174
)

// rpingCases run rping between the guest's siw and the provider iwarp, in both roles.
func rpingCases() []Case {
	var all []Case
	for _, crc := range []bool{true, false} {
		suffix := ""
		if crc {
			suffix = "-crc"
		}
		all = append(all,
			Case{Name: "rping/client-of-siw" + suffix, Run: func(t *T) { rpingServer(t, crc) }},
			Case{Name: "rping/server-of-siw" + suffix, Run: func(t *T) { rpingClient(t, crc) }},
		)
	}
	return all
}

// rpingDepths are the Reads of a connection: rping has one at a time.
func rpingDepths() *verbs.ConnParams {
	return &verbs.ConnParams{InitiatorDepth: 1, ResponderResources: 1}
}

// rpingServer is the server of the guest's rping.
func rpingServer(t *T, crc bool) {
	dev := device(t, crc)
	ln, err := dev.Listen(t.Context(), "127.0.0.1:0")
	t.Must(err)
	t.Cleanup(func() { ln.Close() })
	_, port, err := net.SplitHostPort(ln.Addr())
	t.Must(err)
	client := t.Background("rping", "-c", "-v", "-V", "-C", fmt.Sprint(rpingPings), "-a", guest.HostAddr, "-p", port)
	var info *verbs.ConnInfo
	t.Must(rping.Run(t.Context(), dev, rping.Config{Server: true, Pings: rpingPings, Connect: func(qp verbs.QueuePair) error {
		req, err := ln.Accept(t.Context())
		if err != nil {
			return err
		}
		info, err = req.Accept(t.Context(), qp, rpingDepths())
		return err
	}}))
	rpingEnd(t, client)
	t.Say("%d pings; depths %d and %d", rpingPings, info.InitiatorDepth, info.ResponderResources)
}

// rpingEnd waits until an rping client in the guest exits, and checks its pings.
func rpingEnd(t *T, client *Process) {
	out, err := client.Wait()
	t.Must(err)
	if n := strings.Count(out, "ping data: rdma-ping-"); n != rpingPings {
		t.Errorf("rping: %d of %d pings: %s", n, rpingPings, out)
	}
}

// rpingClient is a client of rping's server in the guest.
func rpingClient(t *T, crc bool) {
	t.Background("rping", "-s", "-P", "-v", "-a", guest.GuestAddr, "-p", fmt.Sprint(rpingPort))
	t.AwaitListener(rpingPort)
	dev := device(t, crc)
	var info *verbs.ConnInfo
	t.Must(rping.Run(t.Context(), dev, rping.Config{Pings: rpingPings, Connect: func(qp verbs.QueuePair) (err error) {
		info, err = dev.Dial(t.Context(), t.Forward(rpingPort), qp, rpingDepths())
		return err
	}}))
	t.Say("%d pings; depths %d and %d", rpingPings, info.InitiatorDepth, info.ResponderResources)
}
