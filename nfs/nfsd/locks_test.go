package nfsd_test

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/iofs"
	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// faultyFS is an FS with a fault in the methods that change an object.
type faultyFS struct{ vfs.FS }

type faultyNode struct{ vfs.Node }

func (f faultyFS) Resolve(id vfs.ID) (vfs.Node, vfs.Attr, error) {
	n, a, err := f.FS.Resolve(id)
	return faultyNode{n}, a, err
}

func (faultyNode) Rename(string, vfs.Node, string) error { panic("a fault of an FS") }
func (faultyNode) SetAttr(vfs.Change) error              { panic("a fault of an FS") }
func (faultyNode) Remove(string) error                   { panic("a fault of an FS") }

// A panic of an FS ends one call: no lock stays locked.
func TestPanicOfAnFS(t *testing.T) {
	_, c := servedFS(t, faultyFS{memfs.New(memfs.Config{})}, "")
	h, code := c.create(t, c.root, "a")
	want(t, "CREATE", code, nfs3.StatusOK)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for name, call := range map[string]func() error{
		"RENAME": func() error {
			_, err := c.Rename(ctx, &nfs3.RenameArgs{From: c.at(c.root, "a"), To: c.at(c.root, "b")})
			return err
		},
		"REMOVE": func() error {
			_, err := c.Remove(ctx, &nfs3.RemoveArgs{Object: c.at(c.root, "a")})
			return err
		},
		"SETATTR": func() error {
			_, err := c.SetAttr(ctx, &nfs3.SetAttrArgs{Object: h, NewAttributes: nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true}}})
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s has a result", name)
		}
		// MKDIR waits for all other calls.
		if _, err := c.MkDir(ctx, &nfs3.MkDirArgs{Where: c.at(c.root, name)}); err != nil {
			t.Fatalf("MKDIR after a panic in %s: %v", name, err)
		}
	}
}

// slowFS has files that are held when they are opened, or first read.
type slowFS struct {
	fs.FS
	atOpen  bool
	in, out chan struct{}
	once    *sync.Once
}

type slowFile struct {
	fs.File
	of slowFS
}

func (s slowFS) hold() {
	s.once.Do(func() { close(s.in) })
	<-s.out
}

func (s slowFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if d, ok := f.(fs.ReadDirFile); ok {
		return d, err
	}
	if s.atOpen {
		s.hold()
	}
	return slowFile{f, s}, err
}

func (f slowFile) Read(p []byte) (int, error) {
	f.of.hold()
	return f.File.Read(p)
}

// While a file of a read-only file system is slowly read into memory, or opened, other calls are
// answered. A CREATE is refused without a wait.
func TestSlowFileHoldsNoOtherCall(t *testing.T) {
	for name, atOpen := range map[string]bool{"open": true, "read": false} {
		t.Run(name, func(t *testing.T) {
			slow := slowFS{fstest.MapFS{"big": {Data: make([]byte, 1<<20), Mode: 0o444}}, atOpen, make(chan struct{}), make(chan struct{}), new(sync.Once)}
			files, err := iofs.New(slow, iofs.Config{})
			check(t, err)
			_, c := servedFS(t, files, "")
			h, code := c.lookup(t, c.root, "big")
			want(t, "LOOKUP", code, nfs3.StatusOK)
			var read sync.WaitGroup
			read.Go(func() {
				if res, err := c.Read(t.Context(), &nfs3.ReadArgs{File: h, Count: 1 << 20}); err != nil || res.Status != nfs3.StatusOK {
					t.Errorf("READ: %v", err)
				}
			})
			<-slow.in
			defer read.Wait()
			defer close(slow.out)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := c.Create(ctx, &nfs3.CreateArgs{Where: c.at(c.root, "x")}); err != nil {
				t.Error("CREATE:", err)
			}
			if _, err := c.Rename(ctx, &nfs3.RenameArgs{From: c.at(c.root, "big"), To: c.at(c.root, "x")}); err != nil {
				t.Error("RENAME:", err)
			}
			if _, err := c.GetAttr(ctx, &nfs3.GetAttrArgs{Object: c.root}); err != nil {
				t.Error("GETATTR:", err)
			}
		})
	}
}
