package conform_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// difference is a departure of a peer from the documents: in the cases whose names match, it gives
// an answer that begins with came.
type difference struct {
	on     conform.Carrier
	cases  string // a regular expression for the whole name
	came   string
	reason string
}

// ofServers are the differences of servers by rpcgen and libtirpc 1.3.
var ofServers = []difference{
	{conform.TCP, "message/rpc-version-.*", "closed", "svc_vc.c closes the connection of a call that xdr_callmsg refuses, as it does for another version"},
	{conform.UDP, "message/rpc-version-.*", "no reply", "svc_dg.c drops a call that xdr_callmsg refuses, as it does for another version"},
	{conform.TCP | conform.UDP, "value/(bool-.*|struct-bool-2|optional-2)", "SUCCESS", "xdr_bool takes any number but 0 for TRUE"},
	{conform.TCP | conform.UDP, "value/enum-.*", "SUCCESS", "xdr_enum takes any number, and rpcgen checks no enumerators"},
	{conform.TCP | conform.UDP, "value/string-nul-inside", "SUCCESS 0000000161000000", "strings of C end at a zero byte"},
	{conform.TCP, "record/empty-fragment-(first|between)", "closed", "xdr_rec.c takes a fragment without bytes that is not the last one for a fault"},
	{conform.TCP, "record/2-gib.*", "no reply", "svc_vc.c reads the rest of a record, for 35 s, on the only thread, and serves no other client"},
	{
		conform.UDP, "(message/first-(16|2.|3.)-bytes|auth/(body|verifier)-longer-than-message|value/.*)", "",
		"svc_dg.c decodes its whole buffer, so a call continues with the bytes of an earlier datagram",
	},
}

// compare holds the results against the differences of a peer: every failed case needs one, and
// every one needs a failed case.
func compare(t *testing.T, carrier conform.Carrier, known []difference, results []*conform.Result) {
	t.Helper()
	used := map[int]bool{}
	for _, r := range results {
		if r.Skipped != "" || r.Passed {
			continue
		}
		found := false
		for i, d := range known {
			if d.on&carrier != 0 && regexp.MustCompile("^"+d.cases+"$").MatchString(r.Case.Name) && strings.HasPrefix(r.Came, d.came) {
				found, used[i] = true, true
				break
			}
		}
		if !found {
			t.Errorf("%v: %s (%s): expected %s, came %.100s: no reason is known", carrier, r.Case.Name, r.Case.Section, r.Expected, r.Came)
		}
	}
	for i, d := range known {
		if d.on&carrier != 0 && !used[i] {
			t.Errorf("%v: no case of %s gives %q any more: %s", carrier, d.cases, d.came, d.reason)
		}
	}
}

// silent reports whether a peer with these differences does not answer in a case.
func silent(carrier conform.Carrier, known []difference, name string) bool {
	return slices.ContainsFunc(known, func(d difference) bool {
		return d.on&carrier != 0 && d.came == "no reply" && regexp.MustCompile("^"+d.cases+"$").MatchString(name)
	})
}

// atOnce runs groups of cases at the same time, since a peer that does not answer takes the whole
// limit of its case: on goroutines, because few tests may be parallel. run calls Error, not Fatal.
func atOnce[C any](groups [][]C, run func(cases []C) []*conform.Result) []*conform.Result {
	results := make([][]*conform.Result, len(groups))
	var work sync.WaitGroup
	for i, cases := range groups {
		work.Go(func() { results[i] = run(cases) })
	}
	work.Wait()
	return slices.Concat(results...)
}

// alone puts the cases for which silent holds each into its own group, and all others into the
// first one.
func alone[C any](cases []C, silent func(c C) bool) [][]C {
	groups := [][]C{nil}
	for _, c := range cases {
		if silent(c) {
			groups = append(groups, []C{c})
		} else {
			groups[0] = append(groups[0], c)
		}
	}
	return groups
}

// A server by rpcgen and libtirpc departs from the documents in the ways that are known.
func TestServerInC(t *testing.T) {
	server := xdrtest.Tirpc(t, "program/conform.x", "testdata/tirpc/server.c", xdrtest.ServerStub)
	for i, carrier := range []conform.Carrier{conform.TCP, conform.UDP} {
		t.Run(carrier.String(), func(t *testing.T) {
			t.Parallel()
			groups := alone(conform.Cases(), func(c conform.Case) bool { return silent(carrier, ofServers, c.Name) })
			compare(t, carrier, ofServers, atOnce(groups, func(cases []conform.Case) []*conform.Result {
				port, err := ports(t, server)
				if err != nil {
					t.Error(err)
					return nil
				}
				target := &conform.Target{
					Carrier: carrier, Addr: "127.0.0.1:" + port[i],
					Program: program.Program, Version: program.Version1, Wait: 5 * time.Second,
				}
				if err := target.Ping(t.Context()); err != nil {
					t.Error(err)
					return nil
				}
				return runCases(t, target, cases)
			}))
		})
	}
}

// ports starts a server until the end of the test, and returns its ports, first the one for TCP.
func ports(t *testing.T, server string) (list [2]string, err error) {
	t.Helper()
	cmd := exec.Command(server)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return list, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	for i := range list {
		port, err := lines.ReadString('\n')
		if err != nil {
			return list, err
		}
		list[i] = strings.TrimSpace(port)
	}
	return list, nil
}

// ofClients are the differences of clients by rpcgen and libtirpc 1.3.
var ofClients = []difference{
	{conform.TCP, "reply/record-empty-fragment-first", "no reply", "xdr_rec.c takes a fragment without bytes that is not the last one for a fault"},
	{conform.UDP, "reply/(other|earlier)-xid-first", "no reply", "clnt_dg.c does not find the reply that follows a datagram with another XID"},
}

// A client by rpcgen and libtirpc departs from the documents in the ways that are known.
func TestClientInC(t *testing.T) {
	client := xdrtest.Tirpc(t, "program/conform.x", "testdata/tirpc/client.c", xdrtest.ClientStub)
	for _, carrier := range []conform.Carrier{conform.TCP, conform.UDP} {
		t.Run(carrier.String(), func(t *testing.T) {
			t.Parallel()
			groups := alone(conform.RepliesOver(carrier), func(r conform.Reply) bool {
				return r.Allows("no reply") || silent(carrier, ofClients, r.Name)
			})
			compare(t, carrier, ofClients, atOnce(groups, func(cases []conform.Reply) []*conform.Result {
				return listenTo(t, carrier, nil, cases, func(addr string) {
					_, port, err := net.SplitHostPort(addr)
					if err != nil {
						t.Error(err)
						return
					}
					if out, err := exec.Command(client, carrier.String(), port).CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
					}
				})
			}))
		})
	}
}
