package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRpcgenAccepts gives each unit's files, joined in order, to the system's rpcgen: header and C code. Where a C
// compiler and the headers of libtirpc are installed, the C code must compile as well. R320.
func TestRpcgenAccepts(t *testing.T) {
	for _, tool := range []string{"rpcgen", "cpp"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here; apt-get install rpcsvc-proto cpp", tool)
		}
	}
	const tirpc = "/usr/include/tirpc"
	_, noCC := exec.LookPath("cc")
	_, noHeaders := os.Stat(filepath.Join(tirpc, "rpc", "rpc.h"))
	if noCC != nil || noHeaders != nil {
		t.Log("no C compiler or no libtirpc headers: rpcgen's output is not compiled")
	}
	results, err := build(filepath.Join(specDir, "MANIFEST"), specDir)
	if err != nil {
		t.Fatal(err)
	}
	units := 0
	for _, r := range results {
		for _, u := range r.units {
			units++
			t.Run(u.unit.name, func(t *testing.T) {
				dir := t.TempDir()
				var x []byte
				for _, f := range u.files {
					x = append(x, text(f.lines)...)
				}
				if err := os.WriteFile(filepath.Join(dir, "u.x"), x, 0o644); err != nil {
					t.Fatal(err)
				}
				command(t, dir, "rpcgen", "-h", "-o", "u.h", "u.x")
				command(t, dir, "rpcgen", "-c", "-o", "u.c", "u.x")
				if noCC == nil && noHeaders == nil {
					command(t, dir, "cc", "-fsyntax-only", "-I"+tirpc, "u.c")
				}
			})
		}
	}
	if units < 4 {
		t.Errorf("%d units, want the 4 of the source documents at least", units)
	}
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
