package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served is a directory that nfs/nfsd serves.
type served struct {
	dir     string
	handler oncrpc.Handler
}

func serve(t testing.TB, cfg nfsd.Config) *served {
	t.Helper()
	base := t.TempDir()
	cfg.Dir, cfg.State, cfg.Async, cfg.AllowRoot = filepath.Join(base, "dir"), filepath.Join(base, "state"), true, true
	check(t, os.Mkdir(cfg.Dir, 0o755))
	server, err := nfsd.New(cfg)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	return &served{cfg.Dir, server.Handler()}
}

func port(t testing.TB, addr string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(addr)
	check(t, err)
	n, err := strconv.Atoi(text)
	check(t, err)
	return n
}

// overTCP serves over TCP, and returns the port.
func (s *served) overTCP(t testing.TB) int {
	t.Helper()
	server, err := tcp.Listen(t.Context(), "127.0.0.1:0", s.handler, nil)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	return port(t, server.Addr())
}

// overRDMA serves over RDMA, and returns the port.
func (s *served) overRDMA(t testing.TB, provider string) int {
	t.Helper()
	var dev verbs.Device
	var err error
	if provider == "iwarp" {
		dev, err = iwarp.Open(nil)
	} else {
		dev, err = rdmatcp.Open(nil)
	}
	check(t, err)
	t.Cleanup(func() { check(t, dev.Close()) })
	server, err := rdmaio.Listen(t.Context(), dev, "127.0.0.1:0", s.handler, nil)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	return port(t, server.Addr())
}

// dial mounts the export. The test closes the Client.
func dial(t testing.TB, target string, cfg *client.Config) (*client.Client, string) {
	t.Helper()
	c, name, err := client.Dial(t.Context(), target, cfg)
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	return c, name
}

// overAll runs a test over each transport.
func overAll(t *testing.T, f func(t *testing.T, s *served, c *client.Client)) {
	for _, provider := range []string{"tcp", "rdmatcp", "iwarp"} {
		t.Run(provider, func(t *testing.T) {
			s := serve(t, nfsd.Config{})
			cfg := &client.Config{Transport: "tcp", MountPort: s.overTCP(t)}
			if cfg.Port = cfg.MountPort; provider != "tcp" {
				cfg.Transport, cfg.Provider, cfg.Port = "rdma", provider, s.overRDMA(t, provider)
			}
			c, name := dial(t, "127.0.0.1:/export", cfg)
			if name != "." {
				t.Fatalf("found name %q, expected .", name)
			}
			f(t, s, c)
		})
	}
}

// random returns bytes that a seed determines.
func random(seed int64, n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

func TestFiles(t *testing.T) {
	overAll(t, func(t *testing.T, s *served, c *client.Client) {
		ctx := t.Context()
		data := random(1, 5_000_001)
		check(t, c.Mkdir(ctx, "d", 0o750))
		f, err := c.Create(ctx, "d/a", 0o640)
		check(t, err)
		if n, err := f.WriteAt(data, 0); n != len(data) || err != nil {
			t.Fatal(n, err)
		}
		check(t, f.Close())
		if got, err := os.ReadFile(filepath.Join(s.dir, "d/a")); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("the server has %d bytes, %v", len(got), err)
		}
		f, err = c.Open(ctx, "/d//./a")
		check(t, err)
		buf := make([]byte, len(data)+10)
		if n, err := f.ReadAt(buf, 0); n != len(data) || err != io.EOF || !bytes.Equal(buf[:n], data) {
			t.Fatal(n, err)
		}
		if n, err := f.ReadAt(buf[:100], 3_000_000); n != 100 || err != nil || !bytes.Equal(buf[:n], data[3_000_000:][:100]) {
			t.Fatal(n, err)
		}
		if n, err := f.ReadAt(buf[:1], int64(len(data))); n != 0 || err != io.EOF {
			t.Fatal(n, err)
		}
		var out bytes.Buffer
		if n, err := f.CopyTo(&out, 1, int64(len(data)-1)); n != int64(len(data)-1) || err != nil || !bytes.Equal(out.Bytes(), data[1:]) {
			t.Fatal(n, err)
		}
		if n, err := f.CopyTo(&out, 1, int64(len(data))); n != int64(len(data)-1) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(n, err)
		}
		check(t, f.Truncate(10))
		when := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
		check(t, f.SetAttr(client.SetTimes(when, when)))
		check(t, f.SetAttr(client.SetMode(0o604)))
		info, err := c.Stat(ctx, "d/a")
		check(t, err)
		if info.Name() != "a" || info.Size() != 10 || info.Mode() != 0o604 || !info.ModTime().Equal(when) || info.IsDir() {
			t.Error(info)
		}
		check(t, c.Symlink(ctx, "../a", "d/l"))
		if target, err := c.ReadLink(ctx, "d/l"); target != "../a" || err != nil {
			t.Error(target, err)
		}
		check(t, c.Link(ctx, "d/a", "hard"))
		check(t, c.Rename(ctx, "hard", "d/b"))
		var names []string
		for e, err := range c.ReadDir(ctx, "d") {
			check(t, err)
			names = append(names, e.Name()+" "+e.Mode().String())
		}
		slices.Sort(names)
		if want := []string{"a -rw----r--", "b -rw----r--", "l Lrwxrwxrwx"}; !slices.Equal(names, want) {
			t.Errorf("found %q, expected %q", names, want)
		}
		if err := c.Rmdir(ctx, "d"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("RMDIR of a full directory: %v", err)
		}
		for _, name := range []string{"d/a", "d/b", "d/l"} {
			check(t, c.Remove(ctx, name))
		}
		check(t, c.Rmdir(ctx, "d"))
		if _, err := c.Stat(ctx, "d"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

func TestOpenFile(t *testing.T) {
	overAll(t, func(t *testing.T, s *served, c *client.Client) {
		ctx := t.Context()
		f, err := c.OpenFile(ctx, "x", os.O_CREATE|os.O_EXCL, 0o600)
		check(t, err)
		check(t, f.Close())
		if info, err := c.Stat(ctx, "x"); err != nil || info.Mode() != 0o600 {
			t.Error(info, err)
		}
		if _, err := c.OpenFile(ctx, "x", os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("exclusive CREATE of a file that exists: %v", err)
		}
		check(t, os.WriteFile(filepath.Join(s.dir, "x"), []byte("data"), 0o600))
		f, err = c.OpenFile(ctx, "x", os.O_CREATE, 0o600)
		check(t, err)
		if info, err := f.Stat(); err != nil || info.Size() != 4 {
			t.Error("O_CREATE without O_TRUNC changed the file", info, err)
		}
		f, err = c.Create(ctx, "x", 0o600)
		check(t, err)
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Error("Create left data", info, err)
		}
		for name, want := range map[string]error{"../x": client.ErrName, "a/../x": client.ErrName, "a\x00": client.ErrName, "no": fs.ErrNotExist} {
			if _, err := c.Open(ctx, name); !errors.Is(err, want) {
				t.Errorf("Open(%q): %v, expected %v", name, err, want)
			}
		}
		var status *client.StatusError
		if _, err := c.Open(ctx, "."); !errors.As(err, &status) || status.Status != nfs3.StatusIsdir {
			t.Errorf("Open of a directory: %v", err)
		}
		if _, err := c.Create(ctx, "", 0o600); !errors.Is(err, client.ErrName) {
			t.Errorf("Create of the root: %v", err)
		}
	})
}

// CopyFrom writes what ReadAt of its source returns, in windows, and says how far it is stored.
func TestCopyFrom(t *testing.T) {
	s := serve(t, nfsd.Config{})
	p := s.overTCP(t)
	c, _ := dial(t, "127.0.0.1:/export", &client.Config{Transport: "tcp", Port: p, MountPort: p, Window: 1_000_000, MaxIO: 70_000})
	data := random(2, 3_500_000)
	f, err := c.Create(t.Context(), "a", 0o644)
	check(t, err)
	var stored []int64
	check(t, f.CopyFrom(bytes.NewReader(data), 500_000, 3_000_000, func(n int64) error { stored = append(stored, n); return nil }))
	if want := []int64{1_500_000, 2_500_000, 3_500_000}; !slices.Equal(stored, want) {
		t.Errorf("stored up to %v, expected %v", stored, want)
	}
	got, err := os.ReadFile(filepath.Join(s.dir, "a"))
	if check(t, err); sha256.Sum256(got[500_000:]) != sha256.Sum256(data[500_000:]) {
		t.Error("the file differs")
	}
	if err := f.CopyFrom(bytes.NewReader(data), 0, 3_500_001, nil); !errors.Is(err, io.EOF) {
		t.Errorf("a source that is too short: %v", err)
	}
}

// Names below the export and names of directories that do not exist are found.
func TestDial(t *testing.T) {
	s := serve(t, nfsd.Config{})
	p := s.overTCP(t)
	check(t, os.MkdirAll(filepath.Join(s.dir, "a/b"), 0o755))
	cfg := &client.Config{Transport: "tcp", Port: p, MountPort: p}
	for target, want := range map[string]string{
		"127.0.0.1:/export": ".", "127.0.0.1:/export/a/b": "a/b", "[127.0.0.1]:/export/no/file": "no/file",
	} {
		if _, name := dial(t, target, cfg); name != want {
			t.Errorf("Dial(%q): name %q, expected %q", target, name, want)
		}
	}
	for target, want := range map[string]error{
		"127.0.0.1": client.ErrName, ":/a": client.ErrName, "127.0.0.1:/exported": fs.ErrNotExist,
	} {
		if _, _, err := client.Dial(t.Context(), target, cfg); !errors.Is(err, want) {
			t.Errorf("Dial(%q): %v, expected %v", target, err, want)
		}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	check(t, err)
	defer silent.Close()
	start := &client.Config{Transport: "tcp", Port: port(t, silent.Addr().String()), MountPort: p, DialTimeout: 100 * time.Millisecond}
	if _, _, err := client.Dial(t.Context(), "127.0.0.1:/export", start); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that never answers: %v", err)
	}
}

// A listing has each entry once, while other entries come and go.
func TestReadDirChanges(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			s := serve(t, nfsd.Config{StrictCookies: strict})
			p := s.overTCP(t)
			c, _ := dial(t, "127.0.0.1:/export", &client.Config{Transport: "tcp", Port: p, MountPort: p})
			want := map[string]int{}
			for i := range 1000 {
				name := fmt.Sprintf("stays%04d-%0100d", i, 0)
				check(t, os.WriteFile(filepath.Join(s.dir, name), nil, 0o644))
				want[name] = 1
			}
			got := map[string]int{}
			n := 0
			for e, err := range c.ReadDir(t.Context(), ".") {
				check(t, err)
				if n++; n == 300 || n == 600 {
					check(t, os.WriteFile(filepath.Join(s.dir, fmt.Sprint("new", n)), nil, 0o644))
				}
				if e.Name()[:3] != "new" {
					got[e.Name()]++
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("listed %d entries, expected %d once", len(got), len(want))
			}
		})
	}
}

// A port without a server fails Dial at once, and the error says what to check.
func TestRefusedPort(t *testing.T) {
	s := serve(t, nfsd.Config{})
	mount := s.overTCP(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	nfs := port(t, closed.Addr().String())
	check(t, closed.Close())
	for _, provider := range []string{"tcp", "rdmatcp", "iwarp"} {
		cfg := &client.Config{Transport: "rdma", Provider: provider, Port: nfs, MountPort: mount, DialTimeout: time.Hour}
		if provider == "tcp" {
			cfg.Transport, cfg.Provider = "tcp", ""
		}
		_, _, err := client.Dial(t.Context(), "127.0.0.1:/export", cfg)
		if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), fmt.Sprintf("does the server offer NFS over %s", cfg.Transport)) {
			t.Errorf("%s: %v", provider, err)
		}
	}
}
