package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/peers"
)

// The test program also runs as the servers.
func TestMain(m *testing.M) {
	if peers.IsServer() {
		if err := peers.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Each operation has a row at each depth, with figures of nfsd and, but for listings, of go-nfs.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out, log bytes.Buffer
	if err := run(&out, peers.Options{Rounds: 1, Scale: 0.001, Dir: dir, Depths: []int{0, 3}, Log: &log}); err != nil {
		t.Fatal(err, log.String())
	}
	rows := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		if i := strings.Index(line, " nfs/client "); i > 0 && !strings.Contains(line, " 0.00  0.00  0.00 ") {
			rows[strings.TrimSpace(line[:i])+" at "+strings.Fields(line[i:])[1]] = true
		} else if len(f) == 0 {
			t.Errorf("an empty line in\n%s", out.String())
		}
	}
	for _, depth := range []string{"0", "3"} {
		for _, op := range []string{
			"getattr x 1", "getattr x 32", "read 1 MiB x 1", "read 1 MiB x 8", "write 1 MiB x 1", "write 1 MiB x 8",
			"list of 20", "list of 100", "create", "remove", "copy",
		} {
			if !rows[op+" at "+depth] {
				t.Errorf("no figures for %s at %s in\n%s\n%s", op, depth, out.String(), log.String())
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%d files are left behind (%v)", len(entries), err)
	}
}

// Medians and ratios are of the rounds.
func TestMedians(t *testing.T) {
	if got := peers.Median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("the median is %v", got)
	}
	if got := peers.Ratio([]float64{2, 9, 8}, []float64{1, 1, 2}); got != 4 {
		t.Errorf("the median ratio is %v", got)
	}
	if got := peers.Ratio(nil, []float64{1}); got != 0 {
		t.Errorf("without rounds the ratio is %v", got)
	}
}
