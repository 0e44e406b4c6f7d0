package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/nfs"
)

// The test program also runs as the servers.
func TestMain(m *testing.M) {
	if nfs.IsServer() {
		if err := nfs.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	o := options{Options: nfs.Options{Rounds: 5, Slice: time.Millisecond, Entries: 400, Dir: t.TempDir()}, json: true}
	var out bytes.Buffer
	if err := run(&out, o); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	rows, bounds := map[string]bool{}, map[string]bool{}
	for _, x := range r.Rows {
		rows[x.Name+" "+x.Op] = true
		if x.NS <= 0 || x.Low > x.NS {
			t.Errorf("row %+v", x)
		}
		for _, b := range x.Targets {
			bounds[x.Name+" "+x.Op+" "+b.What] = true
		}
	}
	for _, name := range []string{nfs.TCP, nfs.RDMATCP, nfs.IWARP, nfs.GoNFS, nfs.ForeignToNFSD, nfs.ForeignToGoNFS, nfs.OS} {
		for _, op := range []string{"getattr x 1", "getattr x 32", "lookup x 1", "read 4 KiB x 1", "read 1 MiB x 1", "read 1 MiB x 8", "write 1 MiB x 1", "list of 400"} {
			foreign := name == nfs.ForeignToNFSD || name == nfs.ForeignToGoNFS
			if want := !foreign || op != "write 1 MiB x 1"; rows[name+" "+op] != want {
				t.Errorf("a row %q: %v, want %v", name+" "+op, !want, want)
			}
		}
	}
	for _, want := range []string{
		"framed getattr x 32", "framed read 1 MiB x 8", "framed write 1 MiB x 1",
	} {
		if !rows[want] {
			t.Errorf("no row %q", want)
		}
	}
	for _, want := range []string{
		"nfsd/tcp getattr x 32 of go-nfs", "nfsd/tcp getattr x 32 of go-nfs-client>go-nfs", "nfsd/tcp read 1 MiB x 1 of go-nfs",
	} {
		if !bounds[want] {
			t.Errorf("no target %q", want)
		}
	}
	var listed []string
	for _, m := range r.Memory {
		listed = append(listed, fmt.Sprint(m.Name, m.Procedure, m.Entries))
	}
	if got := strings.Join(listed, " "); len(listed) != 9 || !strings.Contains(got, "nfsdREADDIRPLUS400") || !strings.Contains(got, "go-nfsREADDIRPLUS100") {
		t.Errorf("memory of listings %s", got)
	}
	if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) > 0 {
		t.Errorf("%d files are left behind (%v)", len(entries), err)
	}
}

func TestReport(t *testing.T) {
	load := nfs.Op{Name: nfs.GetAttr, Depth: 32}
	results := []nfs.Result{
		{Name: nfs.TCP, Op: load, NS: 10e3, CPU: 9e3},
		{Name: nfs.GoNFS, Op: load, NS: 60e3},
		{Name: nfs.ForeignToGoNFS, Op: load, NS: 42e3},
		{Name: nfs.Framed, Op: load, NS: 5e3},
	}
	o := options{Options: nfs.Options{Rounds: 5, Slice: time.Millisecond}}
	var out bytes.Buffer
	memory := []nfs.Listing{{Name: "nfsd", Procedure: "READDIR", Entries: 25, ServerPeak: 3 << 10, ServerKept: 1 << 10, ClientPeak: 2 << 10}}
	if err := newReport(o, results, memory).writeTable(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"getattr x 32 nfsd/tcp 10.0 0.0 9.0 0 6.00 4.20 0.50 -",
		"getattr x 32 nfsd/tcp of go-nfs 6.00 >= 5 met",
		"getattr x 32 nfsd/tcp of go-nfs-client>go-nfs 4.20 >= 5 near",
		"nfsd READDIR 25 3 1 2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
		}
	}
}
