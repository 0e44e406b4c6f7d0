package nfsd_test

import (
	"fmt"
	"io/fs"
	"math/rand"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// storm has the handles that clients have seen, while they change the tree at the same time.
type storm struct {
	mu      sync.Mutex
	handles map[string]nfs3.FileID // by the bytes of the handle
	dirs    []nfs3.Handle
	done    atomic.Int64 // calls that changed something
}

// saw notes a handle that a server returned.
func (s *storm) saw(t *testing.T, h nfs3.Handle, id nfs3.FileID, dir bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.handles[string(h.Data)]; ok && old != id {
		t.Errorf("a handle of file %d is now one of file %d", old, id)
	}
	s.handles[string(h.Data)] = id
	if dir && !slices.ContainsFunc(s.dirs, func(d nfs3.Handle) bool { return string(d.Data) == string(h.Data) }) {
		s.dirs = append(s.dirs, h)
	}
}

// dir returns a directory that a client has seen. It may be gone by now.
func (s *storm) dir(rnd *rand.Rand) nfs3.Handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dirs[rnd.Intn(len(s.dirs))]
}

// run makes random calls that change names, and looks at the results.
func (s *storm) run(t *testing.T, c *client, rnd *rand.Rand, calls int) {
	name := func() string { return fmt.Sprint(rnd.Intn(5)) }
	seen := func(h nfs3.Handle, code nfs3.Status) {
		if code != nfs3.StatusOK {
			return
		}
		switch a, code := c.attr(t, h); code {
		case nfs3.StatusOK:
			s.saw(t, h, a.FileID, a.Type == nfs3.FileTypeDir)
		case nfs3.StatusStale: // removed since it was seen
		default:
			t.Errorf("GETATTR: %v", code)
		}
	}
	for range calls {
		dir, to := s.dir(rnd), s.dir(rnd)
		code := nfs3.StatusStale
		var h nfs3.Handle
		switch rnd.Intn(11) {
		case 0, 1:
			h, code = c.mkdir(t, dir, name())
			seen(h, code)
		case 2:
			h, code = c.create(t, dir, name())
			seen(h, code)
		case 3, 4, 5:
			code = c.rename(t, dir, name(), to, name())
		case 6:
			code = c.remove(t, dir, name())
		case 7:
			code = c.rmdir(t, dir, name())
		case 8:
			h, code := c.lookup(t, dir, name())
			seen(h, code)
			h, code = c.lookup(t, dir, "..")
			seen(h, code)
		case 9:
			res, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: dir, DirCount: 8192, MaxCount: 8192})
			check(t, err)
			for _, e := range res.OK.Reply.Entries {
				if e.NameHandle.HandleFollows {
					s.saw(t, e.NameHandle.Handle, e.FileID, e.NameAttributes.Attributes.Type == nfs3.FileTypeDir)
				}
			}
		case 10:
			if h, code = c.lookup(t, dir, name()); code == nfs3.StatusOK {
				res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: h, Link: c.at(to, name())})
				check(t, err)
				code = res.Status
			}
		}
		switch code {
		case nfs3.StatusOK:
			s.done.Add(1)
		case nfs3.StatusStale, nfs3.StatusNoent, nfs3.StatusExist, nfs3.StatusNotempty, nfs3.StatusNotdir, nfs3.StatusIsdir, nfs3.StatusInval:
		default:
			t.Errorf("a change of names: %v", code)
		}
	}
}

// compare checks each handle that was seen against the directory on the disk: it is valid exactly
// if its file is there.
func (s *storm) compare(t *testing.T, e *export, c *client) (valid int) {
	there := map[nfs3.FileID]bool{}
	check(t, filepath.WalkDir(e.dir, func(_ string, d fs.DirEntry, err error) error {
		check(t, err)
		info, err := d.Info()
		check(t, err)
		there[nfs3.FileID(info.Sys().(*syscall.Stat_t).Ino)] = true
		return nil
	}))
	latest := map[nfs3.FileID]bool{} // some handle of the file is valid
	for h, id := range s.handles {
		a, code := c.attr(t, nfs3.Handle{Data: []byte(h)})
		switch {
		case code == nfs3.StatusOK && (a.FileID != id || !there[id] || latest[id]):
			t.Errorf("a handle of file %d: OK with file %d, which is on the disk: %v", id, a.FileID, there[id])
		case code == nfs3.StatusOK:
			latest[id] = true
		case code != nfs3.StatusStale:
			t.Errorf("GETATTR: %v", code)
		}
	}
	for h, id := range s.handles {
		if there[id] && !latest[id] {
			t.Errorf("file %d is on the disk, and handle %x is stale", id, h)
		}
	}
	return len(latest)
}

// Many clients move, make and remove directories of each other. Then, and after a restart, a handle
// is valid if its file is there, and no other.
func TestStorm(t *testing.T) {
	calls := 500
	if testing.Short() {
		calls = 200
	}
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	s := &storm{handles: map[string]nfs3.FileID{}, dirs: []nfs3.Handle{c.root}}
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() { s.run(t, c, rand.New(rand.NewSource(int64(i))), calls) })
	}
	clients.Wait()
	before := s.compare(t, e, c)
	e.restart(t)
	after := s.compare(t, e, e.client(t, auth(t, 1000, 1000)))
	if before != after {
		t.Errorf("%d handles were valid before the restart, %d after it", before, after)
	}
	if n := s.done.Load(); n < int64(calls) || len(s.handles) < 20 || before < 5 {
		t.Errorf("%d changes, %d handles, %d valid: too few to show anything", n, len(s.handles), before)
	}
	t.Logf("%d changes, %d handles, %d valid", s.done.Load(), len(s.handles), before)
}
