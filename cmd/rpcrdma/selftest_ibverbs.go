//go:build ibverbs

package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// runCase runs a case of the acceptance suite as go test does, and exits with its exit code. With
// listCases as its name it lists the cases.
func runCase(p provider, addr, name string) {
	testing.Init()
	pattern := "^" + caseParent + "$"
	if name != listCases {
		for part := range strings.SplitSeq(name, "/") {
			pattern += "/^" + regexp.QuoteMeta(part) + "$"
		}
	}
	if err := flag.CommandLine.Parse([]string{"-test.v", "-test.run=" + pattern, "-test.timeout=0"}); err != nil {
		os.Exit(exitFailed)
	}
	match := func(pat, str string) (bool, error) { return regexp.MatchString(pat, str) }
	testing.Main(match, []testing.InternalTest{{Name: caseParent, F: func(t *testing.T) {
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
			if name == listCases {
				t.Skip()
			}
			return caseFabric(t, p, addr)
		})
	}}}, nil, nil)
}

// caseFabric opens the devices of a case.
func caseFabric(t *testing.T, p provider, addr string) verbstest.Fabric {
	// siw waits 10 s for the end of a handshake, and a Dial that is given up returns after it.
	f := verbstest.Fabric{Addr: addr, Timeout: 20 * time.Second}
	var errs [2]error
	switch p.name() {
	case "mem":
		f.Precise = true
		net := mem.New(nil)
		f.Client, errs[0] = net.Open("client", nil)
		f.Server, errs[1] = net.Open("server", nil)
	case "rdmatcp":
		f.Client, errs[0] = rdmatcp.Open(&rdmatcp.Config{Name: "client"})
		f.Server, errs[1] = rdmatcp.Open(&rdmatcp.Config{Name: "server"})
	case "iwarp":
		f.Client, errs[0] = iwarp.Open(&iwarp.Config{Name: "client"})
		f.Server, errs[1] = iwarp.Open(&iwarp.Config{Name: "server"})
	case "ibverbs":
		dev, err := ibverbs.Open(&ibverbs.Config{Device: p.device()})
		if err != nil {
			t.Fatal(err)
		}
		f.Client, f.Server = dev, dev // connected to itself
		d := p.find(rdmadev.System())
		f.Precise = d == nil || d.Transport != "iWARP"
		f.UnknownCause, f.AnyLengthStatus, f.EndsAtDeregister, f.LateReads = true, true, true, true
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return f
}
