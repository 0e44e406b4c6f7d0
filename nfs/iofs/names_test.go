package iofs_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/nfs/iofs"
)

// deep returns a zip file with one file of a path in bytes.
func deep(t *testing.T, length int) fs.FS {
	t.Helper()
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	_, err := w.Create(strings.Repeat("a/", length/2) + "f")
	check(t, err)
	check(t, w.Close())
	z, err := zip.NewReader(bytes.NewReader(text.Bytes()), int64(text.Len()))
	check(t, err)
	_, err = fs.Stat(z, "a") // the zip package makes its own list
	check(t, err)
	return z
}

// A long path takes memory in proportion to its length, and names below 4,096 bytes of a path are
// left out.
func TestLongPaths(t *testing.T) {
	for _, test := range []struct {
		length int
		files  uint64
	}{{4094, 2049}, {4096, 2049}, {6000, 2049}} { // with the root
		z := deep(t, test.length)
		before := heap()
		r, err := iofs.New(z, iofs.Config{})
		check(t, err)
		if got := int64(heap() - before); got > 3<<20 {
			t.Errorf("a path of %d bytes takes %d KiB", test.length, got>>10)
		}
		space, err := r.Space()
		check(t, err)
		if space.Files != test.files {
			t.Errorf("a path of %d bytes: found %d files, expected %d", test.length, space.Files, test.files)
		}
		runtime.KeepAlive(r)
	}
}

// odd has one more entry in each listing of the directory d.
type odd struct {
	fstest.MapFS
	entry fs.DirEntry
}

type named struct {
	fs.DirEntry
	name string
}

func (n named) Name() string { return n.name }

// aDir says that a file is a directory.
type aDir struct{ fs.DirEntry }

func (aDir) IsDir() bool { return true }

func (o odd) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "d/a" { // a file
		return o.MapFS.ReadDir("a")
	}
	list, err := o.MapFS.ReadDir(name)
	if name == "d" {
		list = append(list, o.entry)
	}
	return list, err
}

// Names that NFS cannot have are left out, and a listing that says two things of one name is an
// error.
func TestOddListings(t *testing.T) {
	files := fstest.MapFS{"d/f": {Mode: 0o444}, "a/f": {Mode: 0o444}}
	list, err := files.ReadDir("d")
	check(t, err)
	dirs, err := files.ReadDir(".")
	check(t, err)
	for _, name := range []string{"../x", "x/y", ".", "..", "", "x\x00"} {
		for _, entry := range []fs.DirEntry{list[0], dirs[0]} {
			r, err := iofs.New(odd{files, named{entry, name}}, iofs.Config{})
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			if space, _ := r.Space(); space.Files != 5 {
				t.Errorf("%q: found %d files, expected 5", name, space.Files)
			}
		}
	}
	for name, entry := range map[string]fs.DirEntry{"twice": list[0], "a file as a directory": aDir{named{list[0], "a"}}} {
		if _, err := iofs.New(odd{files, entry}, iofs.Config{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
