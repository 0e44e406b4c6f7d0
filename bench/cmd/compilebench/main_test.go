package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An interface file that every peer reads goes through all tools, including those on PATH. Ratios
// are to the first row.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	file := filepath.Join(t.TempDir(), "a.x")
	if err := os.WriteFile(file, []byte("struct a {\n\tunsigned long x;\n};\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if err := run(&out, &errs, options{rounds: 5, file: file, json: true}); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) == 0 || r.Rows[0].Tool != "xdrgen gen" || r.Rows[0].Ratio != 1 || r.Input != 3 {
		t.Fatalf("report %+v", r)
	}
	seen := map[string]bool{}
	for _, x := range r.Rows {
		seen[x.Tool] = true
		if x.Wall <= 0 || (x.Lines == 0) != (x.Tool == "xdrgen check") {
			t.Errorf("row %+v", x)
		}
	}
	if !seen["goxdr -fmt"] {
		t.Errorf("no row of goxdr, which is a tool of this module: %s", &errs)
	}
	if !seen["rpcgen"] && !strings.Contains(errs.String(), "without rpcgen") {
		t.Errorf("no word on rpcgen: %s", &errs)
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		i    int
		wall float64
		want string
	}{{0, 99, "<= 100: met"}, {0, 101, "<= 100: missed, 90.0 at best"}, {1, 500, ""}} {
		if got := target(tt.i, row{Wall: tt.wall, Low: 90}); got != tt.want {
			t.Errorf("row %d of %v ms: %q, want %q", tt.i, tt.wall, got, tt.want)
		}
	}
}
