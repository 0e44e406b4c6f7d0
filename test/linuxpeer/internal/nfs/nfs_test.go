package nfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// providers are those over which every test runs. Each opens devices of one network, and has an
// address to listen at.
var providers = []struct {
	name, addr string
	network    func() func(name string) (verbs.Device, error)
}{
	{"mem", "nfsd", func() func(string) (verbs.Device, error) {
		n := mem.New(nil)
		return func(name string) (verbs.Device, error) { return n.Open(name, nil) }
	}},
	{"iwarp", "127.0.0.1:0", func() func(string) (verbs.Device, error) {
		return func(name string) (verbs.Device, error) { return iwarp.Open(&iwarp.Config{Name: name}) }
	}},
	{"rdmatcp", "127.0.0.1:0", func() func(string) (verbs.Device, error) {
		return func(name string) (verbs.Device, error) { return rdmatcp.Open(&rdmatcp.Config{Name: name}) }
	}},
}

// server serves a directory of the test.
type server struct {
	cfg nfsd.Config
	*nfsd.Server
	handler oncrpc.Handler // of the Server
	root    nfs3.Handle
	cred    oncrpc.OpaqueAuth
}

func newServer(t *testing.T) *server {
	t.Helper()
	base := t.TempDir()
	s := &server{cfg: nfsd.Config{Dir: filepath.Join(base, "export"), State: filepath.Join(base, "state"), Async: true, AllowRoot: true}}
	check(t, os.Mkdir(s.cfg.Dir, 0o755))
	var err error
	s.cred, err = nfs.Cred(0, 0)
	check(t, err)
	s.start(t)
	t.Cleanup(func() { check(t, s.Close()) })
	mounts, err := tcp.Listen(context.Background(), "127.0.0.1:0", s, nil)
	check(t, err)
	t.Cleanup(func() { check(t, mounts.Close()) })
	s.root, err = nfs.Mount(context.Background(), mounts.Addr(), "/export", s.cred)
	check(t, err)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	var err error
	s.Server, err = nfsd.New(s.cfg)
	check(t, err)
	s.handler = s.Handler()
}

// restart replaces the server. No call may be in progress.
func (s *server) restart(t *testing.T) {
	t.Helper()
	check(t, s.Close())
	s.start(t)
}

func (s *server) ServeRPC(r *oncrpc.Request) { s.handler.ServeRPC(r) }

// world is a server and a client over one provider.
type world struct {
	*server
	shapes nfs.Shapes
	client *rdmaio.Client
}

func (w *world) nfs(long bool) *nfs.Client {
	return nfs.NewClient(w.client, nfs.Config{Cred: w.cred, Long: long})
}

// each runs a test over each provider. wrap, if not nil, wraps the client's device.
func each(t *testing.T, wrap func(verbs.Device) verbs.Device, f func(t *testing.T, w *world)) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			open := p.network()
			device := func(name string) verbs.Device {
				dev, err := open(name)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { check(t, dev.Close()) })
				return dev
			}
			w := &world{server: newServer(t)}
			linux := rdmaio.Config{InlineSend: 4096, InlineRecv: 4096} // as Linux has them
			s, err := rdmaio.Listen(context.Background(), device("server"), p.addr, w.server, &linux)
			check(t, err)
			t.Cleanup(func() { check(t, s.Close()) })
			dev := device("client")
			if wrap != nil {
				dev = wrap(dev)
			}
			w.client, err = rdmaio.NewClient(w.shapes.Device(dev), s.Addr(), &rdmaio.ClientConfig{Conn: &linux, MinBackoff: -1})
			check(t, err)
			t.Cleanup(func() { check(t, w.client.Close()) })
			f(t, w)
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err is the status.
func refused(t *testing.T, err error, want nfs3.Status) {
	t.Helper()
	var s *nfs.StatusError
	if !errors.As(err, &s) || s.Status != want {
		t.Errorf("found %v, expected %v", err, want)
	}
}

// Each procedure does what RFC 1813 §3.3 says, with direct placement and by long messages.
func TestProcedures(t *testing.T) {
	each(t, nil, func(t *testing.T, w *world) {
		for _, long := range []bool{false, true} {
			t.Run(fmt.Sprintf("long=%t", long), func(t *testing.T) {
				before := w.shapes.Counts()
				procedures(t, w, w.nfs(long))
				after := w.shapes.Counts()
				t.Log(after)
				if long && (after.LongCalls == before.LongCalls || after.LongReplies == before.LongReplies) {
					t.Errorf("found %v, then %v: expected long calls and replies", before, after)
				}
				if !long && (after.ReadChunks < 2 || after.WritesUsed == 0 || after.LongCalls > 0 || after.LongReplies == 0) {
					t.Errorf("found %v, expected read, write and reply chunks", after)
				}
			})
		}
	})
}

func procedures(t *testing.T, w *world, c *nfs.Client) {
	ctx, root := context.Background(), w.root
	check(t, c.Null(ctx))
	info, err := c.FSInfo(ctx, root)
	check(t, err)
	attr, err := c.GetAttr(ctx, root)
	check(t, err)
	if info.Rtmax != 1<<20 || attr.Type != nfs3.FileTypeDir {
		t.Errorf("FSINFO %+v, GETATTR %+v", info, attr)
	}
	_, err = c.Lookup(ctx, root, "file")
	refused(t, err, nfs3.StatusNoent)
	_, err = c.GetAttr(ctx, nfs3.Handle{Data: []byte("nonsense")})
	refused(t, err, nfs3.StatusBadhandle)

	file, err := c.Create(ctx, root, "file", nfs.Unchecked(0o640))
	check(t, err)
	found, err := c.Lookup(ctx, root, "file")
	if err != nil || string(found.Data) != string(file.Data) {
		t.Errorf("LOOKUP found %x, %v, expected %x", found.Data, err, file.Data)
	}
	_, err = c.Create(ctx, root, "once", nfs.Exclusive(nfs3.CreateVerf{1}))
	check(t, err)
	_, err = c.Create(ctx, root, "once", nfs.Exclusive(nfs3.CreateVerf{1})) // sent again
	check(t, err)
	_, err = c.Create(ctx, root, "once", nfs.Exclusive(nfs3.CreateVerf{2}))
	refused(t, err, nfs3.StatusExist)

	data := bytes.Repeat([]byte("line upon line\n"), 5000)
	res, err := c.Write(ctx, file, 100, data, nfs3.StableHowUnstable)
	check(t, err)
	verf, err := c.Commit(ctx, file)
	check(t, err)
	if int(res.Count) != len(data) || verf != res.Verf {
		t.Errorf("WRITE of %d bytes: %d written, verifier %x; COMMIT %x", len(data), res.Count, res.Verf, verf)
	}
	buf := make([]byte, len(data)+200)
	n, eof, err := c.Read(ctx, file, 0, buf)
	if err != nil || !eof || !bytes.Equal(buf[:n], append(make([]byte, 100), data...)) {
		t.Errorf("READ: %d bytes, end %t, %v", n, eof, err)
	}
	n, eof, err = c.Read(ctx, file, 101, buf[:3000])
	if err != nil || eof || !bytes.Equal(buf[:n], data[1:3001]) {
		t.Errorf("READ of a part: %d bytes, end %t, %v", n, eof, err)
	}
	n, eof, err = c.Read(ctx, file, 1<<40, buf)
	if err != nil || !eof || n != 0 {
		t.Errorf("READ after the end: %d bytes, end %t, %v", n, eof, err)
	}

	path := "/" + strings.Repeat("folder/", 570) // too long for a Send
	check(t, c.SymLink(ctx, root, "link", path))
	refused(t, c.SymLink(ctx, root, "link", path), nfs3.StatusExist)
	link, err := c.Lookup(ctx, root, "link")
	check(t, err)
	got, err := c.ReadLink(ctx, link, 4096)
	if err != nil || got != path {
		t.Errorf("READLINK: %q, %v", got, err)
	}
	_, err = c.ReadLink(ctx, file, 1024)
	refused(t, err, nfs3.StatusInval)

	names := map[string]bool{".": true, "..": true, "file": true, "once": true, "link": true}
	for i := range 100 {
		name := fmt.Sprintf("%03d-%s", i, strings.Repeat("n", 200))
		_, err := c.Create(ctx, root, name, nfs.Unchecked(0o600))
		check(t, err)
		names[name] = true
	}
	for _, count := range []int{512, 64 << 10} {
		entries, err := c.ReadDir(ctx, root, count)
		check(t, err)
		seen := map[string]bool{}
		for _, e := range entries {
			seen[string(e.Name)] = true
		}
		if len(entries) != len(names) || len(seen) != len(names) {
			t.Errorf("READDIR of %d bytes: %d entries, %d names, expected %d", count, len(entries), len(seen), len(names))
		}
	}
	_, err = c.ReadDir(ctx, root, 64)
	refused(t, err, nfs3.StatusToosmall)
	for name := range names {
		if name != "." && name != ".." {
			check(t, c.Remove(ctx, root, name))
		}
	}
	refused(t, c.Remove(ctx, root, "file"), nfs3.StatusNoent)
	_, err = c.GetAttr(ctx, file)
	refused(t, err, nfs3.StatusStale)
}

// random returns n bytes that look random.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b) // never fails
	return b
}

// 64 MiB go to the server and come back unchanged, with 1 and with 32 calls in flight.
func TestTransfer(t *testing.T) {
	size := 64 << 20
	if testing.Short() {
		size = 4 << 20
	}
	data := random(size - 5)
	each(t, nil, func(t *testing.T, w *world) {
		for _, depth := range []int{1, 32} {
			transfer(t, w, data, 1<<20, depth)
		}
	})
}

// transfer writes a file, reads it again, and removes it.
func transfer(t *testing.T, w *world, data []byte, block, depth int) {
	t.Helper()
	ctx, c := context.Background(), w.nfs(false)
	file, err := c.Create(ctx, w.root, "big", nfs.Unchecked(0o600))
	check(t, err)
	check(t, nfs.Upload(ctx, c, file, data, block, depth))
	got := make([]byte, len(data))
	check(t, nfs.Download(ctx, c, file, got, block, depth))
	if !bytes.Equal(got, data) {
		t.Errorf("depth %d: the data differ", depth)
	}
	if err := nfs.Download(ctx, c, file, make([]byte, len(data)+1), block, depth); err == nil {
		t.Error("a byte after the end was read")
	}
	check(t, c.Remove(ctx, w.root, "big"))
}

// Connections break in the middle of a transfer. The client makes others, and the data are whole.
func TestRecovery(t *testing.T) {
	data := random(8 << 20)
	for _, depth := range []int{1, 32} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			var inj *fault.Injector
			each(t, func(dev verbs.Device) verbs.Device {
				inj = fault.New(fault.Config{Script: []fault.Fault{
					{Kind: fault.Disconnect, At: 20}, {Kind: fault.Disconnect, At: 100}, {Kind: fault.Disconnect, At: 190},
				}})
				return inj.Device(dev)
			}, func(t *testing.T, w *world) {
				transfer(t, w, data, 64<<10, depth)
				if n := inj.Count(fault.Disconnect).Fired; n != 3 || w.client.Stats().Connects != 4 {
					t.Errorf("%d connections broken, expected 3; %+v", n, w.client.Stats())
				}
			})
		})
	}
}

// TCP connections are reset in the middle of a transfer. The client makes others, and the data are
// whole.
func TestCut(t *testing.T) {
	ctx, data := context.Background(), random(8<<20)
	for _, p := range providers {
		if p.name == "mem" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			open := p.network()
			device := func(name string) verbs.Device {
				dev, err := open(name)
				check(t, err)
				t.Cleanup(func() { check(t, dev.Close()) })
				return dev
			}
			s := newServer(t)
			server, err := rdmaio.Listen(ctx, device("server"), p.addr, s, nil)
			check(t, err)
			t.Cleanup(func() { check(t, server.Close()) })
			cutter, err := nfs.NewCutter(server.Addr(), 50_000, 1_000_000, 3_000_000)
			check(t, err)
			t.Cleanup(func() { check(t, cutter.Close()) })
			conn, err := rdmaio.NewClient(device("client"), cutter.Addr(), &rdmaio.ClientConfig{MinBackoff: -1})
			check(t, err)
			t.Cleanup(func() { check(t, conn.Close()) })
			w := &world{server: s, client: conn}
			transfer(t, w, data, 64<<10, 32)
			if n := conn.Stats().Connects; cutter.Cuts() != 3 || n != 4 {
				t.Errorf("%d connections cut, %d made, expected 3 and 4", cutter.Cuts(), n)
			}
		})
	}
}

// A server that restarts in the middle may have lost writes: they are sent again.
func TestLostWrites(t *testing.T) {
	each(t, nil, func(t *testing.T, w *world) {
		ctx, c := context.Background(), w.nfs(false)
		file, err := c.Create(ctx, w.root, "f", nfs.Unchecked(0o600))
		check(t, err)
		first, err := c.Write(ctx, file, 0, []byte("one"), nfs3.StableHowUnstable)
		check(t, err)
		w.restart(t)
		verf, err := c.Commit(ctx, file)
		if err != nil || verf == first.Verf {
			t.Errorf("the verifier is still %x after the restart, %v", verf, err)
		}
		check(t, nfs.Upload(ctx, c, file, random(1000), 100, 4))
	})
}
