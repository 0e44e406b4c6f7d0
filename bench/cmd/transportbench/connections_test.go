package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// Each load has a table with a row for each system. All but the echo have their ratio to it.
func TestEachLoadHasATable(t *testing.T) {
	o := options{Options: transport.Options{Rounds: 5, Slice: time.Millisecond}, conns: []int{2}}
	names := []string{
		verbs.Echo, transport.NetRPC, transport.GRPC, transport.TCPStubs, transport.TCPStubsAsync,
		"stubs/rdmatcp", "stubs/rdmatcp/async", "stubs/iwarp", "stubs/iwarp/async",
	}
	if testing.Short() { // each system has processes
		names = []string{verbs.Echo, "stubs/iwarp/async"}
		o.Match = regexp.MustCompile("^(" + strings.Join(names, "|") + ") ")
	}
	var out bytes.Buffer
	if err := run(&out, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n2 x 1 ", "\n2 x 32 "} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("no table %q in\n%s", want, &out)
		}
	}
	for _, name := range names {
		rows := 0
		for line := range strings.Lines(out.String()) {
			f := strings.Fields(line)
			if len(f) == 0 || f[0] != name {
				continue
			}
			if rows++; len(f) != 11 || f[1] == "0" || (f[2] == "-") != (name == verbs.Echo) {
				t.Errorf("row %q", line)
			}
		}
		if rows != 2 {
			t.Errorf("%d rows of %s, want 2", rows, name)
		}
	}
}

func TestNumbersOfConnectionsAreChecked(t *testing.T) {
	if got, err := numbers("1,100"); err != nil || len(got) != 2 || got[0] != 1 || got[1] != 100 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "0", "-1", "1,", "x"} {
		if got, err := numbers(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
