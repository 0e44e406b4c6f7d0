package memfs_test

import (
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// root returns the root of an empty FS with 1 MiB.
func root(t *testing.T) vfs.Node {
	t.Helper()
	n, _, err := memfs.New(memfs.Config{Size: 1 << 20}).Root()
	check(t, err)
	return n
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// newFile returns a new file, open.
func newFile(t *testing.T, dir vfs.Node, name string) (vfs.Node, vfs.File) {
	t.Helper()
	n, _, err := dir.Create(name, vfs.New{Mode: 0o600})
	check(t, err)
	f, err := n.Open(vfs.Write)
	check(t, err)
	t.Cleanup(func() { check(t, f.Close()) })
	return n, f
}

// However small the pieces are, they take at most about twice the memory of Config.Size, and
// removed pieces take none.
func TestSmallPiecesCount(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, dir vfs.Node) int{
		"a byte of each page": func(t *testing.T, dir vfs.Node) (pieces int) {
			_, f := newFile(t, dir, "file")
			for ; pieces < 1<<19; pieces++ {
				if _, err := f.WriteAt([]byte("x"), int64(pieces)<<16); err != nil {
					break
				}
			}
			return pieces
		},
		"links": func(t *testing.T, dir vfs.Node) (pieces int) {
			n, _ := newFile(t, dir, "file")
			for ; n.Link(dir, strconv.FormatInt(int64(pieces), 36)) == nil; pieces++ {
			}
			return pieces
		},
		"files that were emptied": func(t *testing.T, dir vfs.Node) (pieces int) {
			for range 30 {
				pieces++
				_, f := newFile(t, dir, strconv.Itoa(pieces))
				for i := range int64(4000) {
					_, err := f.WriteAt([]byte("x"), i<<16)
					check(t, err)
				}
				check(t, f.Truncate(0))
			}
			return pieces
		},
		"directories that were emptied": func(t *testing.T, dir vfs.Node) (pieces int) {
			file, _ := newFile(t, dir, "file")
			for range 50 {
				pieces++
				d, _, err := dir.Create(strconv.Itoa(pieces), vfs.New{Mode: fs.ModeDir | 0o700})
				check(t, err)
				for i := range 2000 {
					check(t, file.Link(d, strings.Repeat("n", 200)+strconv.Itoa(i)))
				}
				for i := range 2000 {
					check(t, d.Remove(strings.Repeat("n", 200)+strconv.Itoa(i)))
				}
			}
			return pieces
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := root(t)
			before := heap()
			pieces := test(t, dir)
			if got := heap() - before; got > 2<<20 || pieces < 20 {
				t.Errorf("%d pieces take %d KiB, Size is 1 MiB", pieces, got>>10)
			}
			runtime.KeepAlive(dir)
		})
	}
}

// A file is opened, and asked for the target of a link, while its mode changes: the race detector
// looks on.
func TestOpenWhileTheModeChanges(t *testing.T) {
	dir := root(t)
	newFile(t, dir, "file")
	var all sync.WaitGroup
	for k := range 2 {
		n, _, err := dir.Lookup("file")
		check(t, err)
		all.Go(func() {
			for i := range 100 {
				if k == 0 {
					mode := fs.FileMode(i)
					if err := n.SetAttr(vfs.Change{Mode: &mode}); err != nil {
						t.Error(err)
					}
					continue
				}
				f, err := n.Open(vfs.Read)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := n.ReadLink(); err != fs.ErrInvalid {
					t.Error(err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
