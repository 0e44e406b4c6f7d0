package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A directory whose mode lets no one add files is completed, also by another user than root.
func TestReadOnlyDirectoryAgain(t *testing.T) {
	if os.Geteuid() == 0 {
		check(t, syscall.Setreuid(-1, 65534))
		t.Cleanup(func() { check(t, syscall.Setreuid(-1, 0)) })
	}
	f := serve(t, "tcp")
	d, dest := filepath.Join(f.dir, "d"), filepath.Join(f.base, "dest")
	check(t, os.Mkdir(d, 0o755))
	write(t, filepath.Join(d, "a"), 10)
	check(t, os.Chmod(d, 0o555))
	f.done(t, "get", "-r", target, dest)
	check(t, os.Chmod(d, 0o755))
	data := write(t, filepath.Join(d, "b"), 10)
	check(t, os.Chmod(d, 0o555))
	_, errs, code := f.run(t.Context(), "get", "-r", "-resume", target, dest)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	same(t, filepath.Join(dest, "d", "b"), data)
	_ = os.Chmod(d, 0o755)
	_ = os.Chmod(filepath.Join(dest, "d"), 0o755)
}

// The time of a symbolic link is copied in both directions. A copy that is resumed mends the time
// of a link that is there.
func TestTimesOfLinksAreCopied(t *testing.T) {
	f := serve(t, "tcp")
	source, back := filepath.Join(f.base, "source"), filepath.Join(f.base, "back")
	link := filepath.Join("sub", "link")
	check(t, os.MkdirAll(filepath.Join(source, "sub"), 0o755))
	check(t, os.Symlink("nowhere", filepath.Join(source, link)))
	setLink := func(dir string, at time.Time) { check(t, local{root(t, dir)}.setLinkTime(link, at)) }
	hasTime := func(dir string, want time.Time) {
		t.Helper()
		if info, err := os.Lstat(filepath.Join(dir, link)); err != nil || !info.ModTime().Equal(want) {
			t.Errorf("%s: found %v, %v, expected %v", dir, info.ModTime(), err, want)
		}
	}
	old := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
	setLink(source, old)
	f.done(t, "put", "-r", source, target+"/copy")
	hasTime(filepath.Join(f.dir, "copy"), old)
	f.done(t, "get", "-r", target+"/copy", back)
	hasTime(back, old)
	setLink(back, old.AddDate(9, 0, 0))
	f.done(t, "get", "-r", "-resume", target+"/copy", back)
	hasTime(back, old)
}

// A server that does not set the times of links, as RFC 1813 §3.3.2 allows, still gets them.
func TestServerWithoutTimesOfLinks(t *testing.T) {
	f := serve(t, "tcp")
	s, err := nfsd.New(nfsd.Config{Dir: f.dir, State: filepath.Join(f.base, "second"), AllowRoot: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	status := make(chan nfs3.Status, 3)
	f.listen(t, "tcp", rpc.NewHandler(&rpc.HandlerConfig{Next: s.Handler()}, nfs3rpc.NewService(&withoutLinkTimes{s, status})))
	for i, refused := range []nfs3.Status{nfs3.StatusNotsupp, nfs3.StatusInval, nfs3.StatusIO} {
		dir := filepath.Join(f.base, fmt.Sprint(i))
		check(t, os.Mkdir(dir, 0o755))
		check(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
		status <- refused
		_, errs, code := f.run(t.Context(), "put", "-r", dir, target+"/"+fmt.Sprint(i))
		if (code == 0) != (refused != nfs3.StatusIO) {
			t.Errorf("%v: exit code %d, %s", refused, code, errs)
		}
		if to, err := os.Readlink(filepath.Join(f.dir, fmt.Sprint(i), "link")); err != nil || to != "nowhere" {
			t.Errorf("%v: the link leads to %q, %v", refused, to, err)
		}
	}
}

// withoutLinkTimes refuses SETATTR of an object without a mode once for each status.
type withoutLinkTimes struct {
	nfs3rpc.Server
	status chan nfs3.Status
}

func (w *withoutLinkTimes) SetAttr(r *rpc.Request, args *nfs3.SetAttrArgs, res *nfs3.SetAttrRes) error {
	if !args.NewAttributes.Mode.SetIt {
		res.Status = <-w.status
		return nil
	}
	return w.Server.SetAttr(r, args, res)
}
