package cases

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/rping"
)

// port returns the port of an address.
func port(t *T, addr string) int {
	_, text, err := net.SplitHostPort(addr)
	t.Must(err)
	n, err := strconv.Atoi(text)
	t.Must(err)
	return n
}

// verbspeer returns a command of test/linuxpeer/verbspeer on the device.
func (d verbsDevice) verbspeer(args ...string) []string {
	return append([]string{"verbspeer", "-device", d.name}, args...)
}

// at returns an address of the device.
func (d verbsDevice) at(port int) string { return net.JoinHostPort(d.addr, strconv.Itoa(port)) }

// verbsRping runs rping against the provider, in both roles, within the guest.
func verbsRping(t *T, d verbsDevice) {
	const theirs, ours = 7176, 7177
	n := fmt.Sprint(rpingPings)
	server := t.Background("rping", "-s", "-v", "-C", n, "-a", d.addr, "-p", fmt.Sprint(theirs))
	t.Run(d.verbspeer("-n", n, "rping-client", d.at(theirs))...)
	rpingEnd(t, server)
	own := t.Background(d.verbspeer("-n", n, "rping-server", d.at(ours))...)
	own.Await("listening")
	client := t.Background("rping", "-c", "-v", "-V", "-C", n, "-a", d.addr, "-p", fmt.Sprint(ours))
	rpingEnd(t, client)
	_, err := own.Wait()
	t.Must(err)
	t.Say("%d pings as client and as server", rpingPings)
}

// verbsPerftest runs a program of perftest against the provider, in both roles, within the guest.
func verbsPerftest(t *T, d verbsDevice, operations ...string) {
	const n, theirs, ours = 500, 18516, 18517
	options := []string{"-n", fmt.Sprint(n), "-size", fmt.Sprint(perftestSize)}
	if d.ib {
		options = append(options, "-no-credit")
	}
	own := func(role, op string, port int) []string {
		return d.verbspeer(append(slices.Clone(options), "perftest-"+role, op, d.at(port))...)
	}
	program := func(op string, port int, more ...string) []string {
		argv := []string{
			"ib_" + op + "_bw", "-R", "-F", "-d", d.name, "-p", fmt.Sprint(port), "-s", fmt.Sprint(perftestSize), "-n", fmt.Sprint(n),
		}
		return append(argv, more...)
	}
	for _, op := range operations {
		server := t.Background(program(op, theirs)...)
		t.Run(own("client", op, theirs)...)
		perftestEnd(t, server, n)
		listening := t.Background(own("server", op, ours)...)
		listening.Await("listening")
		perftestEnd(t, t.Background(program(op, ours, d.addr)...), n)
		_, err := listening.Wait()
		t.Must(err)
	}
	t.Say("%s, each as client and as server", strings.Join(operations, ", "))
}

// verbsCalls makes Calls between two ends in the guest, in both versions and with xchar.
func verbsCalls(t *T, d verbsDevice) {
	one, two := t.Run(d.verbspeer("calls", "1", d.at(0))...), t.Run(d.verbspeer("calls", "2", d.at(0))...)
	t.Say("%s; %s", one, strings.ReplaceAll(two, "\n", "; "))
}

// verbsDials connects two ends in the guest again and again. The first message of each connection
// is on its way while the kernel still sets it up.
func verbsDials(t *T, d verbsDevice) {
	const n = "20"
	one, two := t.Run(d.verbspeer("-n", n, "dials", "1", d.at(0))...), t.Run(d.verbspeer("-n", n, "dials", "2", d.at(0))...)
	t.Say("%s; %s", one, two)
}

// verbsIdle keeps a connection without Calls for thirty times the PeerTimeout.
func verbsIdle(t *T, d verbsDevice) {
	t.Say("%s", lastLine(t.Run(d.verbspeer("-peer-timeout", "2s", "idle", d.at(0), "20s")...)))
}

// verbsSilent dials peers that do not answer.
func verbsSilent(t *T, d verbsDevice) {
	t.Cleanup(func() { t.Shell(d.show) })
	args := []string{"silent", d.at(0), d.silent, d.hide, d.show}
	if !d.ib {
		args = append(args, "tcp")
	}
	t.Say("%s", strings.ReplaceAll(t.Run(d.verbspeer(args...)...), "\n", "; "))
}

// verbsVanished cuts the network between both ends, which must notice.
func verbsVanished(t *T, d verbsDevice) {
	t.Cleanup(func() { t.Run(append([]string{"ip"}, d.mend...)...) })
	t.Say("%s", t.Run(d.verbspeer(append([]string{"-peer-timeout", "4s", "vanish", d.at(0), "ip"}, d.cut...)...)...))
}

// verbsIWARP connects the provider iwarp on the host with siw, which the provider ibverbs uses in
// the guest: rping both ways, and NFS both ways.
func verbsIWARP(t *T, d verbsDevice) {
	const at = 7178
	n := fmt.Sprint(rpingPings)
	dev := device(t, true)
	own := t.Background(d.verbspeer("-n", n, "rping-server", d.at(at))...)
	own.Await("listening")
	t.Must(rping.Run(t.Context(), dev, rping.Config{Pings: rpingPings, Connect: func(qp verbs.QueuePair) error {
		_, err := dev.Dial(t.Context(), t.Forward(at), qp, rpingDepths())
		return err
	}}))
	_, err := own.Wait()
	t.Must(err)

	d.serve(t)
	cfg := &client.Config{Port: port(t, t.Forward(verbsNFS)), MountPort: port(t, t.Forward(verbsMount))}
	c, _, err := client.Dial(t.Context(), "127.0.0.1:/export", cfg)
	t.Must(err)
	t.Cleanup(func() { t.Must(c.Close()) })
	want := strings.Repeat("the host's iwarp, the guest's siw. ", 100_000)
	t.Must(hostPut(t.Context(), c, "file", want))
	if got, err := hostGet(t.Context(), c, "file"); err != nil || got != want {
		t.Errorf("a file of %d bytes came back with %d, %v", len(want), len(got), err)
	}
	t.Say("rping; NFS: %d bytes each way", len(want))
}

// hostPut writes a file.
func hostPut(ctx context.Context, c *client.Client, name, content string) error {
	f, err := c.Create(ctx, name, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		return err
	}
	return f.Close()
}

// hostGet reads a file.
func hostGet(ctx context.Context, c *client.Client, name string) (string, error) {
	f, err := c.Open(ctx, name)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	return string(b[:n]), err
}
