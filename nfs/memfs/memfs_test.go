package memfs_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs/vfstest"
)

func TestFileSystemInMemory(t *testing.T) {
	vfstest.Test(t, vfstest.Config{New: func(*testing.T) vfs.FS { return memfs.New(memfs.Config{}) }})
}

// Data, names and objects take memory up to a limit, and give it back: data that is cut off at
// once, and the data of a removed file when its last File is closed.
func TestMemoryHasALimit(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m := memfs.New(memfs.Config{Size: 1 << 20})
	free := func() uint64 {
		space, err := m.Space()
		check(err)
		return space.FreeBytes
	}
	root, _, err := m.Root()
	check(err)
	before := free()
	n, _, err := root.Create("file", vfs.New{Mode: 0o600})
	check(err)
	f, err := n.Open(vfs.Write)
	check(err)
	empty := free()
	_, err = f.WriteAt(make([]byte, 700_000), 1<<40)
	check(err)
	if _, err := f.WriteAt(make([]byte, 400_000), 0); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("a write beyond the limit: %v", err)
	}
	if used := empty - free(); used < 700_000 || used > 700_000+128<<10 {
		t.Errorf("700,000 bytes take %d", used)
	}
	check(f.Truncate(1 << 40))
	if free() != empty {
		t.Errorf("%d bytes are free after the data was cut off, %d before it was written", free(), empty)
	}
	_, err = f.WriteAt(make([]byte, 700_000), 0)
	check(err)
	check(root.Remove("file"))
	if free() == before {
		t.Error("the data of an open file takes no memory")
	}
	check(f.Close())
	if free() != before {
		t.Errorf("%d bytes are free at the end, %d before", free(), before)
	}
	for i := 0; err == nil; i++ {
		if _, _, err = root.Create(fmt.Sprint(i), vfs.New{Mode: 0o600}); i > 1<<20/256 {
			t.Fatal("empty files take no memory")
		}
	}
	if !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("too many files: %v", err)
	}
}
