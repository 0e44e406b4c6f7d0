package nfsd_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// Names that are not one component are refused with the status of RFC 1813 §3.2, by each procedure.
func TestNames(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	dir, _ := c.mkdir(t, c.root, "dir")
	_, _ = c.create(t, dir, "file")
	long := strings.Repeat("x", 256)
	for _, tt := range []struct {
		name string
		want nfs3.Status
	}{
		{"", nfs3.StatusAcces},
		{"../outside", nfs3.StatusAcces},
		{"../outside/canary", nfs3.StatusAcces},
		{"/etc/passwd", nfs3.StatusAcces},
		{"dir/file", nfs3.StatusAcces},
		{"a\x00b", nfs3.StatusAcces},
		{"file\x00", nfs3.StatusAcces},
		{long, nfs3.StatusNametoolong},
		{strings.Repeat("x", 100_000), nfs3.StatusNametoolong},
	} {
		name := tt.name[:min(len(tt.name), 20)]
		_, code := c.lookup(t, dir, tt.name)
		want(t, "LOOKUP of "+name, code, tt.want)
		_, code = c.create(t, dir, tt.name)
		want(t, "CREATE of "+name, code, tt.want)
		_, code = c.mkdir(t, dir, tt.name)
		want(t, "MKDIR of "+name, code, tt.want)
		_, code = c.symlink(t, dir, tt.name, "to")
		want(t, "SYMLINK of "+name, code, tt.want)
		want(t, "REMOVE of "+name, c.remove(t, dir, tt.name), tt.want)
		want(t, "RMDIR of "+name, c.rmdir(t, dir, tt.name), tt.want)
		want(t, "RENAME from "+name, c.rename(t, dir, tt.name, dir, "new"), tt.want)
		want(t, "RENAME to "+name, c.rename(t, dir, "file", dir, tt.name), tt.want)
	}
	for _, name := range []string{".", ".."} {
		_, code := c.create(t, dir, name)
		want(t, "CREATE of "+name, code, nfs3.StatusExist)
		want(t, "REMOVE of "+name, c.remove(t, dir, name), nfs3.StatusIsdir)
		want(t, "RENAME from "+name, c.rename(t, dir, name, dir, "new"), nfs3.StatusInval)
		want(t, "RENAME to "+name, c.rename(t, dir, "file", dir, name), nfs3.StatusInval)
	}
	want(t, "RMDIR of .", c.rmdir(t, dir, "."), nfs3.StatusInval) // RFC 1813 §3.3.13
	want(t, "RMDIR of ..", c.rmdir(t, dir, ".."), nfs3.StatusExist)
	up, code := c.lookup(t, c.root, "..")
	if want(t, "LOOKUP of .. in the export", code, nfs3.StatusOK); string(up.Data) != string(c.root.Data) {
		t.Error(".. of the export is not the export")
	}
}

// Symbolic links out of the export lead the server nowhere, whether a client or a local program
// made them, at the end of a path or in its middle.
func TestLinksOut(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	canary := filepath.Join(e.outside, "canary")
	for name, to := range map[string]string{"absolute": canary, "relative": "../outside/canary", "dir": "../outside"} {
		h, code := c.symlink(t, c.root, name, to)
		want(t, "SYMLINK", code, nfs3.StatusOK)
		want(t, "READ", c.read(t, h, 0, 100).Status, nfs3.StatusInval)
		want(t, "WRITE", c.write(t, h, 0, []byte("harm"), nfs3.StableHowFileSync).Status, nfs3.StatusInval)
		want(t, "SETATTR of the size", c.setattr(t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}}), nfs3.StatusInval)
		want(t, "SETATTR of the mode", c.setattr(t, h, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o777}}), nfs3.StatusNotsupp)
		_, code = c.lookup(t, h, "canary")
		want(t, "LOOKUP", code, nfs3.StatusNotdir)
		_, code = c.create(t, c.root, name)
		want(t, "CREATE guarded", code, nfs3.StatusExist)
		res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(c.root, name), How: nfs3.CreateHow{ObjAttributes: nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}}}})
		check(t, err)
		want(t, "CREATE unchecked", res.Status, nfs3.StatusExist)
	}
	// The directory above an open file becomes a link to the directory outside.
	dir, _ := c.mkdir(t, c.root, "real")
	file, _ := c.create(t, dir, "canary")
	check(t, os.Rename(filepath.Join(e.dir, "real"), filepath.Join(e.dir, "away")))
	check(t, os.Symlink(e.outside, filepath.Join(e.dir, "real")))
	want(t, "WRITE", c.write(t, file, 0, []byte("harm"), nfs3.StableHowFileSync).Status, nfs3.StatusStale)
	_, code := c.create(t, dir, "new")
	want(t, "CREATE", code, nfs3.StatusStale)
	want(t, "REMOVE", c.remove(t, dir, "canary"), nfs3.StatusStale)
}

// A local program exchanges a directory for a link out of the export, and back, while clients use
// it.
func TestExchangedDirectory(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	dir, _ := c.mkdir(t, c.root, "dir")
	file, _ := c.create(t, dir, "canary")
	inside, aside := filepath.Join(e.dir, "dir"), filepath.Join(e.dir, "aside")
	stop := make(chan struct{})
	var exchanging, calling sync.WaitGroup
	var exchanges, writes, creations atomic.Int64
	exchanging.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond): // in which calls succeed
			}
			_ = os.Rename(inside, aside)
			_ = os.Symlink("../outside", inside)
			_ = os.Remove(inside)
			_ = os.Rename(aside, inside)
			exchanges.Add(1)
		}
	})
	// Until enough calls of each kind have succeeded and failed.
	enough := func() bool { return exchanges.Load() > 100 && writes.Load() > 100 && creations.Load() > 20 }
	for i := range 4 {
		calling.Go(func() {
			for !enough() {
				switch i {
				case 0:
					if res := c.write(t, file, 0, []byte("harm"), nfs3.StableHowUnstable); res.Status == nfs3.StatusOK {
						writes.Add(1)
					}
				case 1:
					if _, code := c.create(t, dir, "new"); code == nfs3.StatusOK {
						creations.Add(1)
					}
					c.remove(t, dir, "new")
				case 2:
					c.setattr(t, file, nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: 0o600}})
				case 3:
					c.rename(t, dir, "canary", dir, "canary2")
					c.rename(t, dir, "canary2", dir, "canary")
				}
			}
		})
	}
	calling.Wait()
	close(stop)
	exchanging.Wait()
	e.unharmed(t)
	if st, err := os.Stat(filepath.Join(e.outside, "canary")); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("the mode outside is %v, %v", st.Mode(), err)
	}
}

// Offsets near 2^64, counts of 2^32-1 and cookies that were never given are refused or bounded.
func TestExtremes(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	ctx := context.Background()
	file, _ := c.create(t, c.root, "file")
	c.write(t, file, 0, []byte("hello"), nfs3.StableHowUnstable)

	for _, offset := range []uint64{math.MaxUint64, math.MaxUint64 - 3, 1 << 63, math.MaxInt64, math.MaxInt64 - 2} {
		want(t, "WRITE", c.write(t, file, offset, []byte("data"), nfs3.StableHowUnstable).Status, nfs3.StatusFbig)
		got := c.read(t, file, offset, math.MaxUint32)
		if want(t, "READ", got.Status, nfs3.StatusOK); got.OK.Count != 0 || !got.OK.EOF {
			t.Errorf("READ at %d: %d bytes, %v", offset, got.OK.Count, got.OK.EOF)
		}
		res, err := c.Commit(ctx, &nfs3.CommitArgs{File: file, Offset: nfs3.Offset(offset), Count: math.MaxUint32})
		check(t, err)
		want(t, "COMMIT", res.Status, nfs3.StatusOK)
		want(t, "SETATTR", c.setattr(t, file, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: nfs3.Size(offset)}}), nfs3.StatusFbig)
	}
	if got := c.read(t, file, 0, math.MaxUint32); string(got.OK.Data) != "hello" || !got.OK.EOF {
		t.Errorf("READ of 2^32-1: %v %q", got.Status, got.OK.Data)
	}
	res, err := c.Write(ctx, &nfs3.WriteArgs{File: file, Count: math.MaxUint32, Data: []byte("data")})
	check(t, err)
	want(t, "WRITE with another count", res.Status, nfs3.StatusInval)
	res, err = c.Write(ctx, &nfs3.WriteArgs{File: file, Count: 2, Data: []byte("new"), Stable: nfs3.StableHowFileSync})
	check(t, err)
	want(t, "WRITE with a lower count", res.Status, nfs3.StatusInval)

	for _, count := range []nfs3.Count{0, 1, 100, math.MaxUint32} {
		code := nfs3.StatusToosmall
		if count == math.MaxUint32 {
			code = nfs3.StatusOK
		}
		list, err := c.ReadDir(ctx, &nfs3.ReadDirArgs{Dir: c.root, Count: count})
		check(t, err)
		want(t, "READDIR", list.Status, code)
		plus, err := c.ReadDirPlus(ctx, &nfs3.ReadDirPlusArgs{Dir: c.root, DirCount: count, MaxCount: count})
		check(t, err)
		want(t, "READDIRPLUS", plus.Status, code)
	}
	first, err := c.ReadDir(ctx, &nfs3.ReadDirArgs{Dir: c.root, Count: 8192})
	check(t, err)
	sub, _ := c.mkdir(t, c.root, "sub")
	for _, tt := range []struct {
		dir    nfs3.Handle
		cookie nfs3.Cookie
		verf   nfs3.CookieVerf
	}{
		{sub, first.OK.Reply.Entries[0].Cookie, first.OK.CookieVerf}, // of another directory
		{c.root, first.OK.Reply.Entries[0].Cookie, nfs3.CookieVerf{}},
		{c.root, math.MaxUint64, first.OK.CookieVerf},
		{c.root, 1 << 63, first.OK.CookieVerf},
	} {
		list, err := c.ReadDir(ctx, &nfs3.ReadDirArgs{Dir: tt.dir, Cookie: tt.cookie, CookieVerf: tt.verf, Count: 8192})
		check(t, err)
		want(t, "READDIR", list.Status, nfs3.StatusBadCookie)
	}
	// A file of another type.
	for kind, code := range map[nfs3.FileType]nfs3.Status{
		nfs3.FileTypeReg: nfs3.StatusBadtype, nfs3.FileTypeDir: nfs3.StatusBadtype, nfs3.FileTypeLnk: nfs3.StatusBadtype,
		nfs3.FileTypeChr: nfs3.StatusPerm, nfs3.FileTypeBlk: nfs3.StatusPerm,
		nfs3.FileTypeFifo: nfs3.StatusOK, nfs3.FileTypeSock: nfs3.StatusOK,
	} {
		res, err := c.MkNod(ctx, &nfs3.MkNodArgs{Where: c.at(c.root, "node"+kind.String()), What: nfs3.MkNodData{Type: kind}})
		check(t, err)
		if code == nfs3.StatusOK && res.Status == nfs3.StatusNotsupp {
			continue // not on this system
		}
		if want(t, "MKNOD of "+kind.String(), res.Status, code); res.Status == nfs3.StatusOK {
			// It does not block, either.
			want(t, "READ of "+kind.String(), c.read(t, res.OK.Obj.Handle, 0, 1).Status, nfs3.StatusInval)
		}
	}
}
