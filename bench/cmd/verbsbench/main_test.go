package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// The test program also runs as the server.
func TestMain(m *testing.M) {
	if verbs.IsServer() {
		if err := verbs.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	o := options{rounds: 5, slice: time.Millisecond, json: true}
	var out bytes.Buffer
	if err := run(&out, o); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Idle) != 2 || slices.ContainsFunc(r.Idle, func(x idleRow) bool { return x.Client <= 0 || x.Server <= 0 }) {
		t.Errorf("idle connections %+v", r.Idle)
	}
	seen := map[string]bool{}
	for _, x := range r.Rows {
		seen[x.Name+" "+x.Op+" "+x.Shape] = true
		if x.NS <= 0 || x.Low > x.NS || (x.Op != verbs.Call) != (x.MBps > 0) {
			t.Errorf("row %+v", x)
		}
	}
	for _, want := range []string{
		"tcp call 128 B x 1", "framed call 128 B x 256", "framed-go call 128 B x 32",
		"tcp write 1 MiB x 8", "segments write 64 KiB x 16", "mem call 128 B x 1", "mem read 1 MiB x 8",
		"rdmatcp call 128 B x 1", "rdmatcp call 128 B x 32", "rdmatcp call 128 B x 256", "mem call 128 B x 32", "rdmatcp write 1 MiB x 1", "rdmatcp read 64 KiB x 16",
		"iwarp call 128 B x 1", "iwarp call 128 B x 256", "iwarp write 1 MiB x 1", "iwarp read 64 KiB x 16",
	} {
		if !seen[want] {
			t.Errorf("no row %q", want)
		}
	}
}

func TestReport(t *testing.T) {
	load := verbs.Shape{Size: 64 << 10, Depth: 16}
	results := []verbs.Result{
		{Name: verbs.TCP, Op: verbs.Write, Shape: load, NS: 16384},
		{Name: verbs.Segments, Op: verbs.Write, Shape: load, NS: 20480},
		{Name: "rdmatcp", Op: verbs.Write, Shape: load, NS: 32768, CPU: 65536},
		{Name: "rdmatcp", Op: verbs.Read, Shape: load, NS: 40960, CPU: 32768},
	}
	var out bytes.Buffer
	if err := newReport(options{rounds: 5, slice: time.Millisecond}, results, []verbs.Idle{{Name: "rdmatcp", Client: 10 << 10, Server: 70 << 10}}).writeTable(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"rdmatcp write   64 KiB x 16  2000  1.00      0.50  -        0.62       " +
			"CPU ns/B 1.00 (<= 0.6: missed); of tcp write 0.50 (>= 0.45: met); of segments write 0.62 (>= 0.8: missed); of rdmatcp read 1.25 (>= 0.95: met)\n",
		"rdmatcp read    64 KiB x 16  1600  0.50      0.40  -        0.50       " +
			"CPU ns/B 0.50 (<= 0.6: met); of tcp write 0.40 (>= 0.45: near); of segments write 0.50 (>= 0.8: missed)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
		}
	}
}
