package nfsd_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Over RDMA, READ and the listings return no more than the memory that the client offers, even if
// their counts allow more.
func TestResultsFitTheClientsMemory(t *testing.T) {
	overAll(t, nfsd.Config{Async: true}, func(t *testing.T, e *export, c *client) {
		if !strings.HasSuffix(t.Name(), "rdmatcp") {
			return // other carriers have no such limit
		}
		data := pattern(1, 20_000)
		check(t, os.WriteFile(filepath.Join(e.dir, "file"), data, 0o644))
		for i := range 200 {
			check(t, os.WriteFile(filepath.Join(e.dir, fmt.Sprint("name", i)), nil, 0o644))
		}
		file, _ := c.lookup(t, c.root, "file")
		args := nfs3.ReadArgs{File: file, Count: 20_000}
		var res nfs3.ReadRes
		check(t, c.ReadInto(t.Context(), &args, &res, &rpc.Options{Results: [][]byte{make([]byte, 1000)}}))
		if n := len(res.OK.Data); res.Status != nfs3.StatusOK || n == 0 || n > 1000 || !bytes.Equal(res.OK.Data, data[:n]) {
			t.Errorf("READ into 1000 bytes: %v, %d bytes", res.Status, n)
		}
		check(t, c.ReadInto(t.Context(), &args, &res, &rpc.Options{ReplyBuf: make([]byte, 6000)}))
		if n := len(res.OK.Data); res.Status != nfs3.StatusOK || n < 5000 || n > 6000 || !bytes.Equal(res.OK.Data, data[:n]) {
			t.Errorf("READ into a reply of 6000 bytes: %v, %d bytes", res.Status, n)
		}
		var list nfs3.ReadDirRes
		check(t, c.ReadDirInto(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: 1 << 16}, &list, &rpc.Options{ReplyBuf: make([]byte, 5000)}))
		if n := len(list.OK.Reply.Entries); list.Status != nfs3.StatusOK || n < 100 || list.OK.Reply.EOF {
			t.Errorf("READDIR into a reply of 5000 bytes: %v, %d entries", list.Status, n)
		}
		var plus nfs3.ReadDirPlusRes
		check(t, c.ReadDirPlusInto(t.Context(), &nfs3.ReadDirPlusArgs{Dir: c.root, DirCount: 1 << 16, MaxCount: 1 << 16}, &plus, &rpc.Options{ReplyBuf: make([]byte, 5000)}))
		if n := len(plus.OK.Reply.Entries); plus.Status != nfs3.StatusOK || n < 20 || plus.OK.Reply.EOF {
			t.Errorf("READDIRPLUS into a reply of 5000 bytes: %v, %d entries", plus.Status, n)
		}
	})
}

// Concurrent READs have separate memory until their replies are sent.
func TestReadsAtTheSameTime(t *testing.T) {
	overAll(t, nfsd.Config{Async: true}, func(t *testing.T, e *export, c *client) {
		var all sync.WaitGroup
		for i := range 8 {
			name := fmt.Sprint(i)
			data := pattern(byte(i*31), 40_000+i)
			check(t, os.WriteFile(filepath.Join(e.dir, name), data, 0o644))
			h, _ := c.lookup(t, c.root, name)
			all.Go(func() {
				for range 50 {
					res, err := c.Read(t.Context(), &nfs3.ReadArgs{File: h, Count: 50_000})
					if err != nil || !bytes.Equal(res.OK.Data, data) || !res.OK.EOF {
						t.Errorf("READ of %s: %v, or other data", name, err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// A listing has 1 MiB at most, whatever the client asks for.
func TestListingOfMuch(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	for i := range 2800 {
		check(t, os.WriteFile(filepath.Join(e.dir, fmt.Sprintf("%0240d", i)), nil, 0o644))
	}
	res, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: c.root, DirCount: 1 << 30, MaxCount: 1 << 30})
	check(t, err)
	if n := res.OK.XDRSize(); res.Status != nfs3.StatusOK || n > 1<<20 || n < 1<<19 || res.OK.Reply.EOF {
		t.Errorf("%v, %d bytes, end %v", res.Status, n, res.OK.Reply.EOF)
	}
}

// A change within the same second is a change, too, for strict cookies.
func TestStrictCookiesHaveNanoseconds(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true, StrictCookies: true})
	c := e.client(t, auth(t, 1000, 1000))
	for i := range 20 {
		_, _ = c.create(t, c.root, fmt.Sprint(i))
	}
	at := time.Unix(1_000_000, 1000)
	check(t, os.Chtimes(e.dir, at, at))
	first, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Count: 300})
	check(t, err)
	at = time.Unix(1_000_000, 2000)
	check(t, os.Chtimes(e.dir, at, at))
	next, err := c.ReadDir(t.Context(), &nfs3.ReadDirArgs{Dir: c.root, Cookie: first.OK.Reply.Entries[2].Cookie, CookieVerf: first.OK.CookieVerf, Count: 300})
	check(t, err)
	want(t, "READDIR after a change", next.Status, nfs3.StatusBadCookie)
}
