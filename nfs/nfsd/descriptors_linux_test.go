package nfsd_test

import (
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// If the process has no file descriptor left, the answer is NFS3ERR_JUKEBOX, and nothing was
// changed: the client makes the call again, as a new one, which then succeeds.
func TestNoDescriptors(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	c := e.client(t, auth(t, 1000, 1000))
	for _, name := range []string{"file", "gone", "old"} {
		_, code := c.create(t, c.root, name)
		want(t, "CREATE", code, nfs3.StatusOK)
	}
	_, code := c.mkdir(t, c.root, "empty")
	want(t, "MKDIR", code, nfs3.StatusOK)
	file, _ := c.lookup(t, c.root, "file")
	var limit syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	restore := func() { check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }
	defer restore()
	for _, call := range []struct {
		name string
		do   func() nfs3.Status
	}{
		{"READ", func() nfs3.Status { return c.read(t, file, 0, 1).Status }},
		{"WRITE", func() nfs3.Status { return c.write(t, file, 0, []byte("x"), nfs3.StableHowUnstable).Status }},
		{"CREATE", func() nfs3.Status { _, code := c.create(t, c.root, "new"); return code }},
		{"MKDIR", func() nfs3.Status { _, code := c.mkdir(t, c.root, "dir"); return code }},
		{"SYMLINK", func() nfs3.Status { _, code := c.symlink(t, c.root, "link", "to"); return code }},
		{"LINK", func() nfs3.Status {
			res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: c.at(c.root, "second")})
			check(t, err)
			return res.Status
		}},
		{"RENAME", func() nfs3.Status { return c.rename(t, c.root, "old", c.root, "moved") }},
		{"REMOVE", func() nfs3.Status { return c.remove(t, c.root, "gone") }},
		{"RMDIR", func() nfs3.Status { return c.rmdir(t, c.root, "empty") }},
	} {
		check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: limit.Max}))
		code := call.do()
		restore()
		want(t, call.name+" without a descriptor", code, nfs3.StatusJukebox)
		want(t, call.name+" again", call.do(), nfs3.StatusOK)
	}
}
