package nfsd_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// A reply to a change means that the file, and the directories whose names changed, are on the disk
// (RFC 1813 §4.8). An UNSTABLE WRITE does not wait for the disk. An asynchronous server waits only
// in COMMIT.
func TestChangesAreStoredBeforeTheReply(t *testing.T) {
	for _, async := range []bool{false, true} {
		e := newExport(t, nfsd.Config{Async: async})
		c := e.client(t, auth(t, 1000, 1000))
		from, _ := c.mkdir(t, c.root, "from")
		to, _ := c.mkdir(t, c.root, "to")
		var mu sync.Mutex
		var stored []string
		e.server.SetSync(func(f nfsd.OSFile) error {
			mu.Lock()
			defer mu.Unlock()
			stored = append(stored, filepath.Base(f.Name()))
			return nil
		})
		var file nfs3.Handle
		set := nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: 5}}
		for _, step := range []struct {
			name string
			call func() nfs3.Status
			want []string
		}{
			{"CREATE", func() (code nfs3.Status) { file, code = c.create(t, from, "file"); return code }, []string{"file", "from"}},
			{"UNSTABLE WRITE", func() nfs3.Status { return c.write(t, file, 0, []byte("x"), nfs3.StableHowUnstable).Status }, nil},
			{"DATA_SYNC WRITE", func() nfs3.Status { return c.write(t, file, 0, []byte("x"), nfs3.StableHowDataSync).Status }, []string{"file"}},
			{"FILE_SYNC WRITE", func() nfs3.Status { return c.write(t, file, 0, []byte("x"), nfs3.StableHowFileSync).Status }, []string{"file"}},
			{"empty UNSTABLE WRITE", func() nfs3.Status { return c.write(t, file, 0, nil, nfs3.StableHowUnstable).Status }, nil},
			{"empty FILE_SYNC WRITE", func() nfs3.Status { return c.write(t, file, 0, nil, nfs3.StableHowFileSync).Status }, []string{"file"}},
			{"SETATTR", func() nfs3.Status { return c.setattr(t, file, set) }, []string{"file"}},
			{"CREATE that empties", func() nfs3.Status {
				res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(from, "file"), How: nfs3.CreateHow{ObjAttributes: set}})
				check(t, err)
				return res.Status
			}, []string{"file", "from"}},
			{"MKDIR", func() nfs3.Status { _, code := c.mkdir(t, from, "dir"); return code }, []string{"from"}},
			{"SYMLINK", func() nfs3.Status { _, code := c.symlink(t, from, "link", "to"); return code }, []string{"from"}},
			{"LINK", func() nfs3.Status {
				res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: c.at(to, "hard")})
				check(t, err)
				return res.Status
			}, []string{"to"}},
			{"RENAME", func() nfs3.Status { return c.rename(t, from, "file", to, "moved") }, []string{"from", "to"}},
			{"REMOVE", func() nfs3.Status { return c.remove(t, to, "hard") }, []string{"to"}},
			{"RMDIR", func() nfs3.Status { return c.rmdir(t, from, "dir") }, []string{"from"}},
			{"REMOVE of no file", func() nfs3.Status { return c.remove(t, to, "none") - nfs3.StatusNoent }, nil},
			{"COMMIT", func() nfs3.Status {
				res, err := c.Commit(t.Context(), &nfs3.CommitArgs{File: file})
				check(t, err)
				return res.Status
			}, []string{"moved"}},
		} {
			stored = nil
			want(t, step.name, step.call(), nfs3.StatusOK)
			slices.Sort(stored)
			if async && step.name != "COMMIT" {
				step.want = nil
			}
			if !slices.Equal(stored, step.want) {
				t.Errorf("async %v: %s stored %q, expected %q", async, step.name, stored, step.want)
			}
		}
	}
}
