package localfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// systemCalls is the environment variable by which TestDepthCostsNothing starts a process: a letter
// for each directory above the files in use, and a dot for none of fchmodat2(2).
const systemCalls = "LOCALFS_DEPTH"

// traced are the system calls that a walk makes for each directory, and the calls that change it.
const traced = "openat,openat2,close,newfstatat,fstat,statx,name_to_handle_at,mkdirat,mknodat,unlinkat,renameat,renameat2," +
	"linkat,symlinkat,readlinkat,fchownat,fchmodat,?fchmodat2,chmod,utimensat"

// Each method makes the same number of system calls at any depth.
func TestDepthCostsNothing(t *testing.T) {
	if depth := os.Getenv(systemCalls); depth != "" {
		eachMethodAt(t, strings.Count(depth, "d"), !strings.Contains(depth, "."))
		return
	}
	if l, _ := served(t); !l.below.use {
		t.Skip("the kernel does not have openat2, or a sandbox refuses it")
	}
	strace := witness.Program(t, "strace")
	count := func(depth string) map[string]int {
		log := filepath.Join(t.TempDir(), "strace")
		cmd := exec.Command(strace, "-f", "-qq", "-o", log, "-e", "trace="+traced, os.Args[0], "-test.run", "^TestDepthCostsNothing$")
		cmd.Env = append(os.Environ(), systemCalls+"="+depth)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("strace: %v: %s", err, out)
		}
		text, err := os.ReadFile(log)
		check(t, err)
		calls := map[string]int{}
		var method string
		for line := range strings.Lines(string(text)) {
			if _, mark, ok := strings.Cut(line, markOf); ok {
				method, _, _ = strings.Cut(mark, "\"")
				calls[method] = 0
			} else if method != "" && !strings.Contains(line, "resumed>") {
				calls[method]++
			}
		}
		if len(calls) < 15 {
			t.Fatalf("the process used the methods %v", calls)
		}
		return calls
	}
	for _, without := range []string{"", "."} {
		near, far := count("dd"+without), count(strings.Repeat("d", 40)+without)
		delete(near, markEnd)
		for method, n := range near {
			t.Logf("%-28s %4.1f system calls at depth 2, %4.1f at 40", method, float64(n)/rounds, float64(far[method])/rounds)
			if far[method] > n+10*rounds { // a walk makes 76 more in each round
				t.Errorf("%d times %s: %d system calls at depth 2, and %d at depth 40", rounds, method, n, far[method])
			}
		}
	}
}

const (
	markOf  = "a-mark-in-the-list-of-calls-"
	markEnd = "end"
	rounds  = 6 // of each method
)

// eachMethodAt uses all methods in a directory of a depth, each one after a mark in the list of
// system calls.
func eachMethodAt(t *testing.T, depth int, chmod bool) {
	l, dir := served(t)
	l.below.chmod = l.below.chmod && chmod
	path := strings.TrimSuffix(strings.Repeat("d/", depth), "/")
	check(t, os.MkdirAll(filepath.Join(dir, path, "other"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, path, "file"), nil, 0o644))
	check(t, os.Symlink("file", filepath.Join(dir, path, "symlink")))
	n, id := at(t, l, path+"/file")
	d, _ := at(t, l, path)
	other, _ := at(t, l, path+"/other")
	symlink, _ := at(t, l, path+"/symlink")
	mode, user := os.FileMode(0o600), uint32(os.Geteuid())
	names := []string{"x", "y"}
	create := func(what vfs.New) func(i int) error {
		return func(int) error {
			o, _, err := d.Create("new", what)
			check(t, err)
			_, err = o.ID()
			check(t, err)
			return d.Remove("new")
		}
	}
	for _, method := range []struct {
		name string
		call func(i int) error
	}{
		{"Resolve", func(int) error { _, _, err := l.Resolve(id); return err }},
		{"Open", func(int) error { f, err := n.Open(vfs.Read); check(t, err); return f.Close() }},
		{"Attr", func(int) error { _, err := n.Attr(); return err }},
		{"Lookup", func(int) error { o, _, err := d.Lookup("file"); check(t, err); _, err = o.ID(); return err }},
		{"Lookup of the parent", func(int) error { _, _, err := other.Lookup(".."); return err }},
		{"Create and Remove, file", create(vfs.New{Mode: 0o600})},
		{"Create and Remove, directory", create(vfs.New{Mode: os.ModeDir | 0o700})},
		{"Create and Remove, link", create(vfs.New{Mode: os.ModeSymlink | 0o777, Target: "x"})},
		{"Create and Remove, pipe", create(vfs.New{Mode: os.ModeNamedPipe | 0o600})},
		{"Link", func(int) error { check(t, n.Link(other, "second")); return other.Remove("second") }},
		{"ReadLink", func(int) error { _, err := symlink.ReadLink(); return err }},
		{"SetAttr, mode", func(int) error { return n.SetAttr(vfs.Change{Mode: &mode}) }},
		{"SetAttr, owner", func(int) error { return n.SetAttr(vfs.Change{UID: &user}) }},
		{"SetAttr, times", func(int) error { return n.SetAttr(vfs.Change{Mtime: time.Unix(1, 0)}) }},
		{"ReadDir with attributes", func(int) error { return listAll(d) }},
		{"Rename", func(i int) error {
			check(t, d.Rename("symlink", other, names[i%2]))
			return other.Rename(names[i%2], d, "symlink")
		}},
		{"Rename onto a directory", func(int) error {
			_, _, err := d.Create("from", vfs.New{Mode: os.ModeDir | 0o700})
			check(t, err)
			return d.Rename("from", d, "other")
		}},
	} {
		_, _ = os.Stat(markOf + method.name)
		for i := range rounds {
			check(t, method.call(i))
		}
	}
	_, _ = os.Stat(markOf + markEnd)
}

// listAll lists a directory, with the attributes and the ID of each entry.
func listAll(d vfs.Node) error {
	var failed error
	_, err := d.ReadDir(0, func(e vfs.Entry) bool {
		if e.Name == "." || e.Name == ".." {
			return true
		}
		o, _, err := d.Lookup(e.Name)
		if err == nil {
			_, err = o.ID()
		}
		failed = err
		return err == nil
	})
	if err == nil {
		err = failed
	}
	return err
}
