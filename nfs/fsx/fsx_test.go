package fsx_test

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/fsx"
)

var ops = []fsx.Op{
	fsx.Create, fsx.Read, fsx.Write, fsx.Append, fsx.Truncate, fsx.Size, fsx.Sync, fsx.Reopen,
	fsx.Rename, fsx.Link, fsx.Remove, fsx.Compare,
}

func config(seed uint64) fsx.Config {
	cfg := fsx.Config{Seed: seed, Steps: 1500}
	if testing.Short() {
		cfg.Steps, cfg.MaxFile = 300, 64<<10
	}
	return cfg
}

// A directory of this machine agrees with the model after each kind of operation, and so does
// another view of that directory.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	tester := fsx.New(fsx.OS(dir), config(1))
	for range 2 { // a second Run continues
		if err := tester.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range ops {
		if tester.Count(op) == 0 {
			t.Errorf("no %s", op)
		}
	}
	if err := tester.Compare(fsx.OS(dir)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(dir+"/d1/d2/more", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tester.Compare(fsx.OS(dir)); err == nil || !strings.Contains(err.Error(), "more") {
		t.Error(err)
	}
}

// dense fails when a write begins after the file's last byte, or a file grows without a write.
type dense struct {
	fsx.File
	t *testing.T
}

func (f dense) check(what string, at int64) {
	if size, err := f.Size(); err != nil || at > size {
		f.t.Errorf("%s at %d, the file has %d bytes, %v", what, at, size, err)
	}
}

func (f dense) WriteAt(p []byte, off int64) (int, error) {
	f.check("a write", off)
	return f.File.WriteAt(p, off)
}

func (f dense) Truncate(size int64) error {
	f.check("a truncation", size)
	return f.File.Truncate(size)
}

// denseFS has files that are dense.
type denseFS struct {
	fsx.FS
	t *testing.T
}

func (d denseFS) Create(name string) (fsx.File, error) {
	f, err := d.FS.Create(name)
	return dense{f, d.t}, err
}

func (d denseFS) Open(name string) (fsx.File, error) {
	f, err := d.FS.Open(name)
	return dense{f, d.t}, err
}

// With Config.Dense no operation makes a hole.
func TestDenseRunMakesNoHole(t *testing.T) {
	cfg := config(3)
	cfg.Dense = true
	tester := fsx.New(denseFS{fsx.OS(t.TempDir()), t}, cfg)
	if err := tester.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if tester.Count(fsx.Write) == 0 || tester.Count(fsx.Truncate) == 0 {
		t.Error("no write or no truncation")
	}
}

// Config.Only limits the operations.
func TestOnly(t *testing.T) {
	cfg := config(2)
	cfg.Only = []fsx.Op{fsx.Write, fsx.Sync}
	tester := fsx.New(fsx.OS(t.TempDir()), cfg)
	if err := tester.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if tester.Count(fsx.Create) != 1 || tester.Count(fsx.Compare) != 1 || tester.Count(fsx.Read) != 0 ||
		tester.Count(fsx.Write)+tester.Count(fsx.Sync)+1 != cfg.Steps || tester.Written() == 0 {
		t.Error(tester.Count(fsx.Create), tester.Count(fsx.Compare), tester.Count(fsx.Read), tester.Count(fsx.Write), tester.Count(fsx.Sync))
	}
	cfg.Only = []fsx.Op{"erase"}
	if err := fsx.Run(context.Background(), fsx.OS(t.TempDir()), cfg); err == nil || !strings.Contains(err.Error(), "Config.Only") {
		t.Error(err)
	}
}

// A run without a limit stops when the context is done.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	f := &faulty{FS: fsx.OS(t.TempDir()), when: 100}
	f.fault = func() { cancel(cause) }
	if err := fsx.Run(ctx, f, fsx.Config{Steps: -1}); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// faulty is an FS that has a fault in one of its writes.
type faulty struct {
	fsx.FS
	when  int // counts the writes that have bytes
	fault func()

	// One of them is set.
	lose, late, shift, short bool
	stale                    bool // the next read returns the bytes of before the write
	refuse                   error

	held   func()   // the late write
	bounds [2]int64 // of the late write
	old    []byte   // what the file had
}

func (f *faulty) Open(name string) (fsx.File, error)   { return f.wrap(f.FS.Open(name)) }
func (f *faulty) Create(name string) (fsx.File, error) { return f.wrap(f.FS.Create(name)) }

func (f *faulty) wrap(file fsx.File, err error) (fsx.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f}, nil
}

type faultyFile struct {
	fsx.File
	f *faulty
}

func (w *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	f := w.f
	if len(p) < 64 {
		return w.File.WriteAt(p, off)
	}
	if f.held != nil && off < f.bounds[1] && f.bounds[0] < off+int64(len(p)) {
		n, err := w.File.WriteAt(p, off)
		f.held()
		f.held = nil
		return n, err
	}
	if f.when--; f.when != 0 {
		return w.File.WriteAt(p, off)
	}
	switch {
	case f.fault != nil:
		f.fault()
	case f.refuse != nil:
		return 0, f.refuse
	case f.lose:
		return len(p), nil
	case f.short:
		return w.File.WriteAt(p[:len(p)-1], off)
	case f.late:
		data := slices.Clone(p)
		f.held, f.bounds = func() { w.File.WriteAt(data, off) }, [2]int64{off, off + int64(len(data))}
		return len(p), nil
	case f.shift:
		if n, err := w.File.WriteAt(p[8:], off); err != nil {
			return n, err
		}
		return len(p), nil
	case f.stale:
		f.old = make([]byte, len(p))
		if _, err := w.File.ReadAt(f.old, off); err != nil && err != io.EOF {
			return 0, err
		}
	}
	return w.File.WriteAt(p, off)
}

func (w *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.File.ReadAt(p, off)
	if w.f.old != nil && n > 0 {
		copy(p[:n], w.f.old)
		w.f.old = nil
	}
	return n, err
}

// Canaries: each fault of a file system is found, and the report says where it was.
func TestCanaries(t *testing.T) {
	data := []fsx.Op{fsx.Write, fsx.Read, fsx.Truncate}
	for name, test := range map[string]struct {
		faulty faulty
		only   []fsx.Op
		says   []string
	}{
		"a lost write":      {faulty{lose: true}, data, []string{"(zeros)", "(of step", "bytes at"}},
		"a late write":      {faulty{late: true}, data, []string{"of step", "bytes at"}},
		"a write elsewhere": {faulty{shift: true}, data, []string{"where they were at", "too few", "bytes at"}},
		"a short write":     {faulty{short: true}, nil, []string{"without an error"}},
		"a stale read":      {faulty{stale: true}, data, []string{"(zeros)", "(of step", "bytes at"}},
		"an error":          {faulty{refuse: io.ErrUnexpectedEOF}, nil, []string{"unexpected EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			// Later writes hide some faults.
			const runs = 16
			found := 0
			for seed := range uint64(runs) {
				f := test.faulty
				f.FS, f.when = fsx.OS(t.TempDir()), 20
				err := fsx.Run(context.Background(), &f, fsx.Config{Seed: seed, Steps: 400, MaxFile: 16 << 10, Files: 1, Only: test.only})
				if err == nil {
					continue
				}
				var failure *fsx.Failure
				if !errors.As(err, &failure) || failure.Seed != seed || failure.Step < 20 || len(failure.Last) == 0 {
					t.Fatalf("an error without its place: %v", err)
				}
				says := func(what string) bool { return strings.Contains(err.Error(), what) }
				if !slices.ContainsFunc(test.says, says) {
					t.Errorf("none of %q in %v", test.says, err)
				}
				found++
			}
			if found < runs*2/3 {
				t.Errorf("found in %d of %d runs", found, runs)
			}
		})
	}
}

// named is an FS with a fault in its names.
type named struct {
	fsx.FS
	rename, remove, create, list bool
}

func (n *named) Rename(from, to string) error {
	if n.rename {
		return nil
	}
	return n.FS.Rename(from, to)
}

func (n *named) Remove(name string) error {
	if n.remove {
		return nil
	}
	return n.FS.Remove(name)
}

func (n *named) Create(name string) (fsx.File, error) {
	file, err := n.FS.Create(name)
	if n.create && err != nil {
		return n.FS.Open(name)
	}
	return file, err
}

func (n *named) ReadDir(name string) ([]string, error) {
	names, err := n.FS.ReadDir(name)
	if n.list && len(names) > 2 {
		return append(names, names[0]), err
	}
	return names, err
}

// Canaries: a rename or removal that did not happen, a CREATE of a name in use, and a name listed
// twice are found.
func TestCanariesOfNames(t *testing.T) {
	for name, fs := range map[string]*named{
		"rename": {rename: true},
		"remove": {remove: true},
		"create": {create: true},
		"list":   {list: true},
	} {
		t.Run(name, func(t *testing.T) {
			fs.FS = fsx.OS(t.TempDir())
			var failure *fsx.Failure
			if err := fsx.Run(context.Background(), fs, fsx.Config{MaxFile: 1000}); !errors.As(err, &failure) {
				t.Errorf("not found: %v", err)
			}
		})
	}
}
