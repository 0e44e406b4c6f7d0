package nfsd_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// A large directory is listed while files come and go: each entry that stays is listed once
// (RFC 1813 §3.3.16). A restart in the middle changes nothing.
func TestLargeDirectory(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 2_500
	}
	e := newExport(t, nfsd.Config{Async: true})
	for i := range n {
		f, err := os.Create(filepath.Join(e.dir, fmt.Sprintf("file%06d", i)))
		check(t, err)
		check(t, f.Close())
	}
	c := e.client(t, auth(t, 1000, 1000))
	for _, plus := range []bool{false, true} {
		pages := 0
		names := c.list(t, c.root, plus, 64<<10, func() {
			pages++
			// Files of other names come, and go at the next page.
			check(t, os.WriteFile(filepath.Join(e.dir, fmt.Sprintf("other%06d", pages)), nil, 0o644))
			if pages > 1 {
				want(t, "REMOVE", c.remove(t, c.root, fmt.Sprintf("other%06d", pages-1)), nfs3.StatusOK)
			}
		})
		seen := map[string]int{}
		for _, name := range names {
			seen[name]++
		}
		for i := range n {
			if name := fmt.Sprintf("file%06d", i); seen[name] != 1 {
				t.Fatalf("%s is listed %d times in %d pages", name, seen[name], pages)
			}
		}
		if seen["."] != 1 || seen[".."] != 1 || pages < n/2000 {
			t.Errorf(". %d, .. %d, %d pages", seen["."], seen[".."], pages)
		}
		check(t, os.Remove(filepath.Join(e.dir, fmt.Sprintf("other%06d", pages))))
	}
}

// One page of a listing costs the same memory whatever the size of the directory.
func TestListingMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere each page reads the whole directory")
	}
	page := func(n int) float64 {
		e := newExport(t, nfsd.Config{Async: true})
		for i := range n {
			check(t, os.WriteFile(filepath.Join(e.dir, fmt.Sprintf("file%06d", i)), nil, 0o644))
		}
		c := e.client(t, auth(t, 1000, 1000))
		return testing.AllocsPerRun(5, func() {
			res, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: 8192})
			if err != nil || res.Status != nfs3.StatusOK {
				t.Fatal(res, err)
			}
		})
	}
	n := 10_000
	if testing.Short() {
		n = 3_000
	}
	if small, large := page(500), page(n); large > small*1.2 {
		t.Errorf("a page of %d entries has %v allocations, one of 500 has %v", n, large, small)
	}
}

// A strict server refuses cookies after the directory has changed, a lenient one continues.
func TestStrictCookies(t *testing.T) {
	for _, strict := range []bool{false, true} {
		e := newExport(t, nfsd.Config{Async: true, StrictCookies: strict})
		c := e.client(t, auth(t, 1000, 1000))
		for i := range 20 {
			_, _ = c.create(t, c.root, fmt.Sprint(i))
		}
		first, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: 300})
		check(t, err)
		next := nfs3.ReadDirArgs{Dir: c.root, Cookie: first.OK.Reply.Entries[2].Cookie, CookieVerf: first.OK.CookieVerf, Count: 300}
		res, err := c.ReadDir(t.Context(), &next)
		check(t, err)
		want(t, "READDIR", res.Status, nfs3.StatusOK)
		code := nfs3.StatusOK
		if strict {
			code = nfs3.StatusBadCookie
		}
		past := time.Unix(1_000_000, 0)
		check(t, os.Chtimes(e.dir, past, past))
		res, err = c.ReadDir(t.Context(), &next)
		check(t, err)
		want(t, "READDIR after a change", res.Status, code)
	}
}

// dircount bounds the names, maxcount all (RFC 1813 §3.3.17).
func TestDirCount(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	for i := range 50 {
		_, _ = c.create(t, c.root, fmt.Sprintf("file%02d", i))
	}
	for _, tt := range []struct{ dirCount, maxCount nfs3.Count }{{200, 65536}, {65536, 2000}, {1, 65536}} {
		res, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: c.root, DirCount: tt.dirCount, MaxCount: tt.maxCount})
		check(t, err)
		names := 0
		for _, e := range res.OK.Reply.Entries {
			names += 8 + 4 + len(e.Name) + 8
		}
		if n := len(res.OK.Reply.Entries); n == 0 || n > 1 && names > int(tt.dirCount) || res.OK.XDRSize() > int(tt.maxCount) || res.OK.Reply.EOF {
			t.Errorf("%+v: %d entries with %d bytes of names, %d in all", tt, n, names, res.OK.XDRSize())
		}
	}
}

// READDIRPLUS returns the attributes and the handle of the directory itself, with which some
// clients check that it has not changed during the listing.
func TestListSelf(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	res, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: c.root, DirCount: 4096, MaxCount: 4096})
	check(t, err)
	for _, e := range res.OK.Reply.Entries {
		if string(e.Name) == "." {
			if e.NameAttributes != res.OK.DirAttributes || !bytes.Equal(e.NameHandle.Handle.Data, c.root.Data) {
				t.Errorf("%+v, want the attributes %+v and the handle %x", e, res.OK.DirAttributes, c.root.Data)
			}
			return
		}
	}
	t.Errorf("no entry for the directory in %v", &res.OK)
}
