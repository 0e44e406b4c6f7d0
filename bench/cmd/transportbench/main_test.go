package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/transport"
	"github.com/rpcrdma/rpcrdma/bench/verbs"
)

// The test program also runs as the server.
func TestMain(m *testing.M) {
	if transport.IsServer() {
		if err := transport.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	o := options{Options: transport.Options{Rounds: 5, Slice: time.Millisecond}, json: true}
	var out bytes.Buffer
	if err := run(&out, o); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if i := r.Idle; i == nil || i.Client < 4096 || i.Server < 4096 {
		t.Errorf("idle connections %+v", r.Idle)
	}
	rows, bounds := map[string]bool{}, map[string]bool{}
	for _, x := range r.Rows {
		rows[x.Name+" "+x.Op+" "+x.Shape] = true
		if x.NS <= 0 || x.Low > x.NS || (x.Op != verbs.Call) != (x.MBps > 0) || x.P99 < x.P50 && x.Name != verbs.TCP && x.Name != transport.Tirpc {
			t.Errorf("row %+v", x)
		}
		for _, b := range x.Targets {
			bounds[x.Name+" "+x.Op+" "+x.Shape+" "+b.What] = true
		}
	}
	for _, want := range []string{
		"tcp call 128 B x 1", "framed call 128 B x 256", "framed-go call 128 B x 32", "net/rpc call 128 B x 32", "grpc call 128 B x 256",
		"rdmatcp call 128 B x 1", "rdmatcp call 128 B x 32", "rdmatcp call 128 B x 256", "stubs call 128 B x 32", "rdmatcp/v2 call 128 B x 32", "rdmatcp/v2 write 64 KiB x 16", "rdmatcp/v2-continued read 64 KiB x 16", "mem call 128 B x 1",
		"framed-async call 128 B x 32", "oncrpc/tcp/async call 128 B x 256", "rdmatcp/async call 128 B x 32", "mem/async call 128 B x 256", "iwarp/async call 128 B x 256", "udp/async call 128 B x 32", "rdmatcp-floor-async call 128 B x 32", "stubs/tcp/async call 128 B x 32",
		"oncrpc/tcp call 128 B x 32", "oncrpc/tcp read 1 MiB x 1", "stubs/tcp call 128 B x 32", "go-nfs-client call 128 B x 32",
		"iwarp call 128 B x 1", "iwarp call 128 B x 256", "iwarp read 64 KiB x 16", "iwarp write 1 MiB x 8",
		"tcp write 64 KiB x 16", "segments write 1 MiB x 8", "net/rpc write 4 KiB x 32", "grpc write 64 KiB x 16",
		"floor call 128 B x 1", "floor call 128 B x 256", "floor write 4 KiB x 32", "floor read 64 KiB x 16", "floor write 1 MiB x 8",
		"rdmatcp write 4 KiB x 32", "rdmatcp read 1 MiB x 1", "rdmatcp write 1 MiB x 8", "mem read 1 MiB x 8", "copy write 1 MiB x 1",
	} {
		if !rows[want] {
			t.Errorf("no row %q", want)
		}
	}
	for _, want := range []string{
		"rdmatcp call 128 B x 1 p50 x tcp", "rdmatcp call 128 B x 1 objects", "stubs call 128 B x 1 objects", "mem call 128 B x 1 us",
		"stubs/tcp call 128 B x 1 objects", "stubs/tcp call 128 B x 32 of framed call", "stubs/tcp call 128 B x 32 of go-nfs-client call",
		"stubs/tcp call 128 B x 32 of grpc call", "rdmatcp call 128 B x 32 of framed call", "rdmatcp call 128 B x 32 of framed-go call", "rdmatcp call 128 B x 32 of grpc call",
		"rdmatcp call 128 B x 32 of net/rpc call", "rdmatcp call 128 B x 32 p99/p50", "rdmatcp call 128 B x 256 of framed-go call",
		"rdmatcp write 64 KiB x 16 of tcp write", "rdmatcp write 64 KiB x 16 of segments write", "rdmatcp write 64 KiB x 16 of grpc write",
		"rdmatcp write 1 MiB x 1 of tcp write", "rdmatcp write 1 MiB x 8 of segments write", "rdmatcp write 1 MiB x 8 of grpc write",
		"rdmatcp read 64 KiB x 16 of rdmatcp write", "iwarp read 64 KiB x 16 of iwarp write", "iwarp write 64 KiB x 16 of segments write", "mem write 1 MiB x 1 p50 x copy",
	} {
		if !bounds[want] {
			t.Errorf("no target %q", want)
		}
	}
}

func TestReport(t *testing.T) {
	load, one, bulk := verbs.Shape{Size: 128, Depth: 32}, verbs.Shape{Size: 128, Depth: 1}, verbs.Shape{Size: 64 << 10, Depth: 16}
	results := []transport.Result{
		{Name: verbs.Framed, Op: verbs.Call, Shape: load, NS: 2000, P50: 60000, CPU: 3000, Rounds: []float64{1000, 1000, 2000, 3000, 3000}},
		{Name: verbs.FramedGo, Op: verbs.Call, Shape: load, NS: 3000, P50: 60000, Rounds: []float64{3000}},
		{Name: verbs.Floor, Op: verbs.Call, Shape: load, NS: 2500, Tail: 2, CPU: 3500},
		{Name: transport.RDMATCP, Op: verbs.Call, Shape: load, NS: 4000, P50: 1e5, P99: 4e5, Tail: 4, CPU: 7000, Mallocs: 1, Switches: 0.25},
		{Name: verbs.TCP, Op: verbs.Call, Shape: one, P50: 20000, NS: 20000, Rounds: []float64{1000, 1000, 2000, 3000, 3000}},
		{Name: verbs.Floor, Op: verbs.Call, Shape: one, P50: 25000, NS: 30000},
		{Name: transport.RDMATCP, Op: verbs.Call, Shape: one, P50: 50000, NS: 60000},
		{Name: transport.IWARP, Op: verbs.Call, Shape: one, P50: 50000, NS: 60000},
		{Name: verbs.Floor, Op: verbs.Write, Shape: bulk, NS: 90000, CPU: 1e5},
		{Name: verbs.Floor, Op: verbs.Read, Shape: bulk, NS: 60000, CPU: 8e4},
		{Name: transport.RDMATCP, Op: verbs.Write, Shape: bulk, NS: 120000, CPU: 1e5},
		{Name: transport.RDMATCP, Op: verbs.Read, Shape: bulk, NS: 100000, CPU: 1e5},
	}
	o := options{Options: transport.Options{Rounds: 5, Slice: time.Millisecond}}
	var out bytes.Buffer
	idle := &transport.Idle{Client: 30 << 10, Server: 36 << 10}
	if err := newReport(o, results, idle).writeTable(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"rdmatcp 128 B x 32 250000 100.0 400.0 7.00 1.0 0.000 0.000 0.250 - 0.50 0.75 - 0.62 2.00",
		"floor 128 B x 32 400000 0.0 0.0 3.50 0.0 0.000 0.000 0.000 - 0.80 1.20 - - -",
		"of framed call 0.50 >= 0.6 0.80 near",
		"of framed-go call 0.75 >= 0.85 1.20 near",
		"CPU x framed 2.33 <= 2 1.17 near",
		"rdmatcp call 128 B x 1 p50 x tcp 2.50 <= 1.5 1.25 missed",
		"iwarp call 128 B x 1 p50 x tcp 2.50 <= 1.5 - missed",
		"rdmatcp read 64 KiB x 16 655 0 0 1.53 0.0 0.00 0.00 0.00 - - - - 0.60 1.25",
		"rdmatcp read 64 KiB x 16 of rdmatcp write 1.20 >= 1 1.50 met",
		"noisy: reference rows spread by 3.00, over 1.25",
		"p99/p50 4.00 <= 3 2.00 missed",
		"rdmatcp idle KiB of both ends 66.00 <= 64 - near",
		"client 30 server 36",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
		}
	}
}
