package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// liar is a server that changes results of a true one.
type liar struct {
	*nfsd.Server
	read    func(*nfs3.ReadArgs, *nfs3.ReadRes)
	write   func(*nfs3.WriteArgs, *nfs3.WriteRes)
	commit  func(*nfs3.CommitRes)
	list    func(*nfs3.ReadDirPlusArgs, *nfs3.ReadDirPlusRes)
	fsinfo  func(*nfs3.FSInfoRes)
	getattr func(*nfs3.GetAttrRes)
}

func (l *liar) Read(r *rpc.Request, args *nfs3.ReadArgs, res *nfs3.ReadRes) error {
	err := l.Server.Read(r, args, res)
	if l.read != nil {
		l.read(args, res)
	}
	return err
}

func (l *liar) Write(r *rpc.Request, args *nfs3.WriteArgs, res *nfs3.WriteRes) error {
	err := l.Server.Write(r, args, res)
	if l.write != nil {
		l.write(args, res)
	}
	return err
}

func (l *liar) Commit(r *rpc.Request, args *nfs3.CommitArgs, res *nfs3.CommitRes) error {
	err := l.Server.Commit(r, args, res)
	if l.commit != nil {
		l.commit(res)
	}
	return err
}

func (l *liar) ReadDirPlus(r *rpc.Request, args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) error {
	if l.list != nil {
		l.list(args, res)
		return nil
	}
	return l.Server.ReadDirPlus(r, args, res)
}

func (l *liar) FSInfo(r *rpc.Request, args *nfs3.FSInfoArgs, res *nfs3.FSInfoRes) error {
	err := l.Server.FSInfo(r, args, res)
	if l.fsinfo != nil {
		l.fsinfo(res)
	}
	return err
}

func (l *liar) GetAttr(r *rpc.Request, args *nfs3.GetAttrArgs, res *nfs3.GetAttrRes) error {
	err := l.Server.GetAttr(r, args, res)
	if l.getattr != nil {
		l.getattr(res)
	}
	return err
}

// lied returns a Client of a liar, and the directory that it serves.
func lied(t *testing.T, l *liar, cfg *client.Config) (*client.Client, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "dir")
	check(t, os.Mkdir(dir, 0o755))
	var err error
	l.Server, err = nfsd.New(nfsd.Config{Dir: dir, State: filepath.Join(base, "state"), Async: true, AllowRoot: true})
	check(t, err)
	t.Cleanup(func() { check(t, l.Server.Close()) })
	mounts := mem.New(l.Server.Handler(), nil)
	defer mounts.Close()
	res, err := mount3rpc.NewClient(mounts, nil).Mount(t.Context(), mount3.DirPath("/export"))
	check(t, err)
	conn := mem.New(rpc.NewHandler(nil, nfs3rpc.NewService(l)), nil)
	t.Cleanup(func() { check(t, conn.Close()) })
	c, err := client.New(t.Context(), conn, nfs3.Handle{Data: res.OK.Handle}, cfg)
	check(t, err)
	return c, dir
}

// expect checks that an error is a *ProtocolError whose rule has a text.
func expect(t *testing.T, err error, rule string) {
	t.Helper()
	var broken *client.ProtocolError
	if !errors.As(err, &broken) || !strings.Contains(broken.Rule, rule) {
		t.Errorf("found error %v, expected a *ProtocolError with %q", err, rule)
	}
}

func TestHostileRead(t *testing.T) {
	for name, test := range map[string]struct {
		lie  func(*nfs3.ReadArgs, *nfs3.ReadRes)
		rule string
	}{
		"count":       {func(_ *nfs3.ReadArgs, r *nfs3.ReadRes) { r.OK.Count++ }, "bytes and count"},
		"too long":    {func(a *nfs3.ReadArgs, r *nfs3.ReadRes) { r.OK.Count = a.Count + 1; r.OK.Data = make([]byte, a.Count+1) }, "expected at most"},
		"no progress": {func(_ *nfs3.ReadArgs, r *nfs3.ReadRes) { r.OK.Count, r.OK.Data, r.OK.EOF = 0, nil, false }, "at least one byte"},
		"early end":   {func(_ *nfs3.ReadArgs, r *nfs3.ReadRes) { r.OK.Count, r.OK.Data, r.OK.EOF = 0, nil, true }, " of 5000 (RFC 1813 §3.3.6)"},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := lied(t, &liar{read: test.lie}, &client.Config{MaxIO: 1000})
			check(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 5000), 0o644))
			f, err := c.Open(t.Context(), "a")
			check(t, err)
			_, err = f.ReadAt(make([]byte, 5000), 0)
			expect(t, err, test.rule)
			_, err = f.CopyTo(io.Discard, 0, 5000)
			expect(t, err, test.rule)
		})
	}
}

// Short READs and WRITEs are accepted as long as they make progress.
func TestShort(t *testing.T) {
	c, dir := lied(t, &liar{
		read: func(_ *nfs3.ReadArgs, r *nfs3.ReadRes) {
			if r.OK.Count > 7 {
				r.OK.Count, r.OK.Data, r.OK.EOF = 7, r.OK.Data[:7], true
			}
		},
		write: func(_ *nfs3.WriteArgs, r *nfs3.WriteRes) { r.OK.Count = min(r.OK.Count, 9) },
	}, &client.Config{MaxIO: 1000})
	data := random(3, 5000)
	f, err := c.Create(t.Context(), "a", 0o644)
	check(t, err)
	_, err = f.WriteAt(data, 0)
	check(t, errors.Join(err, f.Close()))
	got, err := os.ReadFile(filepath.Join(dir, "a"))
	if check(t, err); !bytes.Equal(got, data) {
		t.Error("the data written differ")
	}
	got = make([]byte, 5000)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the data read differ: %v", err)
	}
}

func TestHostileWrite(t *testing.T) {
	var n atomic.Uint64
	verf := func() (v nfs3.WriteVerf) { v[0], v[1] = byte(n.Add(1)), byte(n.Load()>>8); return v }
	for name, test := range map[string]struct {
		liar liar
		rule string
	}{
		"no progress": {liar{write: func(_ *nfs3.WriteArgs, r *nfs3.WriteRes) { r.OK.Count = 0 }}, "found count 0, expected 1 to 1000"},
		"count":       {liar{write: func(_ *nfs3.WriteArgs, r *nfs3.WriteRes) { r.OK.Count = 1<<32 - 1 }}, "found count 4294967295"},
		"verifiers":   {liar{commit: func(r *nfs3.CommitRes) { r.OK.Verf = verf() }}, "another write verifier after each of 16 attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := lied(t, &test.liar, &client.Config{MaxIO: 1000})
			f, err := c.Create(t.Context(), "a", 0o644)
			check(t, err)
			expect(t, f.CopyFrom(bytes.NewReader(make([]byte, 5000)), 0, 5000, nil), test.rule)
		})
	}
}

// When the verifier changes, between WRITEs or before COMMIT, all data since the last COMMIT are
// written again. Data in a committed window are not.
func TestRewrite(t *testing.T) {
	for name, fill := range map[string]func(f *client.File, data []byte) error{
		"WriteAt": func(f *client.File, data []byte) error {
			var err error
			for off := 0; off < len(data); off += 500 {
				_, e := f.WriteAt(data[off:off+500], int64(off))
				err = errors.Join(err, e)
			}
			return errors.Join(err, f.Close())
		},
		"CopyFrom": func(f *client.File, data []byte) error {
			return f.CopyFrom(bytes.NewReader(data), 0, int64(len(data)), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lost, written, commits atomic.Int64
			l := &liar{}
			l.write = func(a *nfs3.WriteArgs, r *nfs3.WriteRes) {
				written.Add(int64(a.Count))
				r.OK.Verf = nfs3.WriteVerf{byte(lost.Load())}
			}
			c, dir := lied(t, l, &client.Config{MaxIO: 100, Window: 2000})
			l.commit = func(r *nfs3.CommitRes) {
				if commits.Add(1) == 2 { // the second window is lost
					lost.Add(1)
					check(t, os.Truncate(filepath.Join(dir, "a"), 2000))
				}
				r.OK.Verf = nfs3.WriteVerf{byte(lost.Load())}
			}
			data := random(4, 6000)
			f, err := c.Create(t.Context(), "a", 0o644)
			check(t, err)
			check(t, fill(f, data))
			got, err := os.ReadFile(filepath.Join(dir, "a"))
			if check(t, err); !bytes.Equal(got, data) {
				t.Errorf("the server has %d bytes, others than the %d written", len(got), len(data))
			}
			if written.Load() != 8000 || commits.Load() != 4 {
				t.Errorf("wrote %d bytes with %d COMMITs, expected 8000 with 4", written.Load(), commits.Load())
			}
		})
	}
}

// A call that gets NFS3ERR_JUKEBOX is tried again until the context is done.
func TestJukebox(t *testing.T) {
	var n atomic.Int64
	c, _ := lied(t, &liar{getattr: func(r *nfs3.GetAttrRes) {
		if n.Add(1) < 4 {
			*r = nfs3.GetAttrRes{Status: nfs3.StatusJukebox}
		}
	}}, &client.Config{RetryPause: time.Microsecond})
	if _, err := c.Stat(t.Context(), "."); err != nil || n.Load() != 4 {
		t.Errorf("%v after %d calls, expected 4", err, n.Load())
	}
}

// READs and WRITEs of many that are in flight are tried again, too.
func TestJukeboxOfData(t *testing.T) {
	var reads, writes atomic.Int64
	c, dir := lied(t, &liar{
		read: func(_ *nfs3.ReadArgs, r *nfs3.ReadRes) {
			if reads.Add(1)%3 == 0 {
				*r = nfs3.ReadRes{Status: nfs3.StatusJukebox}
			}
		},
		write: func(_ *nfs3.WriteArgs, r *nfs3.WriteRes) {
			if writes.Add(1)%3 == 0 {
				*r = nfs3.WriteRes{Status: nfs3.StatusJukebox}
			}
		},
	}, &client.Config{MaxIO: 1000, RetryPause: time.Microsecond})
	data := random(5, 50_000)
	f, err := c.Create(t.Context(), "a", 0o644)
	check(t, err)
	_, err = f.WriteAt(data, 0)
	check(t, errors.Join(err, f.Close()))
	stored, err := os.ReadFile(filepath.Join(dir, "a"))
	check(t, err)
	got := make([]byte, len(data))
	_, err = f.ReadAt(got, 0)
	if check(t, err); !bytes.Equal(got, data) || !bytes.Equal(stored, data) {
		t.Error("the data differ")
	}
	if min(reads.Load(), writes.Load()) < 70 {
		t.Errorf("%d READs and %d WRITEs, expected a third to be made again", reads.Load(), writes.Load())
	}
}

// entries returns a reply with entries of these names.
func entries(from nfs3.Cookie, names ...string) (out []nfs3.EntryPlus) {
	for i, name := range names {
		e := nfs3.EntryPlus{FileID: 1, Name: nfs3.Filename(name), Cookie: from + nfs3.Cookie(i) + 1}
		e.NameAttributes.AttributesFollow = true
		e.NameAttributes.Attributes.Type = nfs3.FileTypeReg
		out = append(out, e)
	}
	return out
}

func TestHostileListing(t *testing.T) {
	for name, test := range map[string]struct {
		lie  func(*nfs3.ReadDirPlusArgs, *nfs3.ReadDirPlusRes)
		most int
		rule string
	}{
		"no progress": {func(*nfs3.ReadDirPlusArgs, *nfs3.ReadDirPlusRes) {}, 0, "no entry and is not the last"},
		"one cookie":  {func(_ *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) { r.OK.Reply.Entries = entries(6, "a") }, 0, "cookie 7 came twice"},
		"loop": {func(a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
			r.OK.Reply.Entries = entries(a.Cookie%1000, "a", "b", "c")
		}, 0, "came twice"},
		"endless": {func(a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
			r.OK.Reply.Entries = entries(a.Cookie, fmt.Sprint(a.Cookie))
		}, 5000, "more than 5000 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := lied(t, &liar{list: test.lie}, &client.Config{MaxEntries: test.most})
			var last error
			for _, err := range c.ReadDir(t.Context(), ".") {
				last = err
			}
			expect(t, last, test.rule)
		})
	}
	for _, name := range []string{"a/b", "/etc/passwd", "../x", "a\x00", ""} {
		c, _ := lied(t, &liar{list: func(_ *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
			r.OK.Reply = nfs3.DirListPlus{Entries: entries(0, ".", "..", "good", name), EOF: true}
		}}, nil)
		var names []string
		var last error
		for e, err := range c.ReadDir(t.Context(), ".") {
			if last = err; err == nil {
				names = append(names, e.Name())
			}
		}
		if !errors.Is(last, client.ErrName) || len(names) != 1 {
			t.Errorf("a listing with %q: %v, %q", name, last, names)
		}
	}
}

// If the server refuses to continue a listing, it begins again; entries are listed once.
func TestBadCookie(t *testing.T) {
	refusals := 0
	always := false
	list := func(a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
		if a.Cookie == 2 && (refusals < 3 || always) {
			refusals++
			r.Status = nfs3.StatusBadCookie
			return
		}
		all := entries(0, "a", "b", "c", "d")
		r.OK.Reply = nfs3.DirListPlus{Entries: all[a.Cookie : a.Cookie+2], EOF: a.Cookie == 2}
	}
	c, _ := lied(t, &liar{list: list}, nil)
	var names string
	for e, err := range c.ReadDir(t.Context(), ".") {
		check(t, err)
		names += e.Name()
	}
	if names != "abcd" || refusals != 3 {
		t.Errorf("listed %q after %d refusals, expected abcd after 3", names, refusals)
	}
	always = true
	var status *client.StatusError
	for _, err := range c.ReadDir(t.Context(), ".") {
		if err != nil && (!errors.As(err, &status) || status.Status != nfs3.StatusBadCookie) {
			t.Error(err)
		}
	}
	if status == nil {
		t.Error("a listing that never goes on has no error")
	}
}

// A server without READDIRPLUS is listed by READDIR.
func TestReadDirWithoutPlus(t *testing.T) {
	c, dir := lied(t, &liar{list: func(_ *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) { r.Status = nfs3.StatusNotsupp }}, nil)
	for i := range 300 {
		check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%0200d", i)), make([]byte, i), 0o644))
	}
	count, total := 0, int64(0)
	for e, err := range c.ReadDir(t.Context(), ".") {
		check(t, err)
		count, total = count+1, total+e.Size()
	}
	if count != 300 || total != 300*299/2 {
		t.Errorf("listed %d files of %d bytes, expected 300 of %d", count, total, 300*299/2)
	}
}

// FSINFO decides the sizes, which are usable whatever values it returns.
func TestHostileSizes(t *testing.T) {
	for _, size := range []uint32{0, 1, 1<<32 - 1} {
		c, dir := lied(t, &liar{fsinfo: func(r *nfs3.FSInfoRes) {
			r.OK.Rtmax, r.OK.Rtpref, r.OK.Wtmax, r.OK.Wtpref, r.OK.Dtpref = size, size, size, size, size
		}}, nil)
		f, err := c.Create(t.Context(), "a", 0o644)
		check(t, err)
		_, err = f.WriteAt([]byte("hello"), 0)
		check(t, errors.Join(err, f.Close()))
		if got, err := os.ReadFile(filepath.Join(dir, "a")); string(got) != "hello" {
			t.Errorf("size %d: %q, %v", size, got, err)
		}
	}
}

// The memory of a listing does not follow the number of entries.
func TestListingMemory(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	var live [3]uint64
	for i := range live {
		total := n << i
		c, _ := lied(t, &liar{list: func(a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
			var names []string
			for k := int(a.Cookie); k < min(int(a.Cookie)+200, total); k++ {
				names = append(names, fmt.Sprintf("%0100d", k))
			}
			r.OK.Reply = nfs3.DirListPlus{Entries: entries(a.Cookie, names...), EOF: int(a.Cookie)+200 >= total}
		}}, nil)
		count := 0
		for _, err := range c.ReadDir(t.Context(), ".") {
			check(t, err)
			if count++; count == total {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				live[i] = m.HeapAlloc
			}
		}
		if count != total {
			t.Fatalf("listed %d of %d entries", count, total)
		}
	}
	t.Logf("heap after %d, %d and %d entries: %d", n, 2*n, 4*n, live)
	if live[2] > live[0]+uint64(n)*100 { // a third of the names that came in addition
		t.Errorf("heap after %d, %d and %d entries: %d bytes", n, 2*n, 4*n, live)
	}
}
