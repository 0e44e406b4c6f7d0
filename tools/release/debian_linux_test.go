package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// A Debian package is installed by dpkg into an empty folder, in which its programs run: they need
// nothing else. man reads its pages without a warning.
func TestDebianPackageRunsInAnEmptySystem(t *testing.T) {
	if testing.Short() {
		t.Skip("to build and link two commands takes seconds")
	}
	dpkg := witness.Program(t, "dpkg")
	if os.Getuid() != 0 {
		t.Skip("dpkg installs, and programs change their root, only as root")
	}
	system := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "tmp"} {
		if err := os.MkdirAll(filepath.Join(system, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(system, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	name := "rpcrdma_1.2.3~rc.1_" + hostTarget().arch + ".deb"
	pack := filepath.Join(system, "tmp", name)
	if err := os.WriteFile(pack, first(t)[name], 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(dpkg, "--root="+system, "--force-unsafe-io", "--install", pack).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	inside := func(args ...string) string {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: system}
		cmd.Dir = "/tmp"
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(system, "tmp/a.x"), []byte("struct point { int x; int y; };\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"/usr/bin/xdrgen version", "xdrgen v1.2.3-rc.1 go"},
		{"/usr/bin/nfsserve -version", "nfsserve v1.2.3-rc.1 go"},
		{"/usr/bin/xdrgen gen -o p -package p a.x", ""},
		{"/usr/bin/xdrgen check a.x", ""},
	} {
		if got := inside(strings.Fields(tt.args)...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s printed %s", tt.args, got)
		}
	}
	if written, err := filepath.Glob(filepath.Join(system, "tmp/p/*_xdr.go")); err != nil || len(written) == 0 {
		t.Errorf("xdrgen gen wrote no file, %v", err)
	}
	pages, err := filepath.Glob(filepath.Join(system, "usr/share/man/man*/*"))
	if err != nil || len(pages) < 20 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	man := witness.Program(t, "man")
	for _, p := range pages {
		cmd := exec.Command(man, "--warnings", "-E", "UTF-8", "-l", p)
		var errs strings.Builder
		cmd.Stderr = &errs
		if out, err := cmd.Output(); err != nil || errs.Len() > 0 || !strings.Contains(string(out), "NAME") {
			t.Errorf("%s: %v %s", filepath.Base(p), err, errs.String())
		}
	}
}
