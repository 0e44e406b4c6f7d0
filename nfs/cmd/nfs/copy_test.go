package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a served directory, and a proxy before the server.
type fixture struct {
	base, dir  string
	mount, nfs string // addresses
	flags      []string
	calls      [22]atomic.Int64 // answered, by procedure, with more than 100,000 bytes
	answered   func(proc uint32, n int64)
}

func serve(t *testing.T, transport string) *fixture {
	t.Helper()
	f := &fixture{base: t.TempDir(), answered: func(uint32, int64) {}}
	f.dir = filepath.Join(f.base, "served")
	check(t, os.Mkdir(f.dir, 0o755))
	s, err := nfsd.New(nfsd.Config{Dir: f.dir, State: filepath.Join(f.base, "state"), Async: true, AllowRoot: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	f.listen(t, transport, rpc.NewHandler(&rpc.HandlerConfig{Next: s.Handler(), Events: func(c *rpc.Served) {
		if number, _ := c.Program(); number == nfs3.Program && c.ArgBytes+c.ResultBytes > 100_000 {
			f.answered(c.Procedure(), f.calls[c.Procedure()].Add(1))
		}
	}}, nfs3rpc.NewService(s)))
	return f
}

// listen serves over a transport, with MOUNT over TCP.
func (f *fixture) listen(t *testing.T, transport string, h oncrpc.Handler) {
	t.Helper()
	byTCP, err := tcp.Listen(t.Context(), "127.0.0.1:0", h, nil)
	check(t, err)
	t.Cleanup(func() { check(t, byTCP.Close()) })
	f.mount, f.nfs = byTCP.Addr(), byTCP.Addr()
	if transport == "rdma" {
		dev, err := iwarp.Open(nil)
		check(t, err)
		t.Cleanup(func() { check(t, dev.Close()) })
		byRDMA, err := rdmaio.Listen(t.Context(), dev, "127.0.0.1:0", h, nil)
		check(t, err)
		t.Cleanup(func() { check(t, byRDMA.Close()) })
		f.nfs = byRDMA.Addr()
	}
	f.flags = []string{"-transport", transport, "-port", port(f.nfs), "-mountport", port(f.mount)}
}

func port(addr string) string { _, p, _ := net.SplitHostPort(addr); return p }

// run runs a command with the flags of the fixture, and returns its output and exit code.
func (f *fixture) run(ctx context.Context, command string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs}
	code = p.report(p.run(ctx, append(append([]string{command}, f.flags...), args...)))
	return out.String(), errs.String(), code
}

// done runs a command that must succeed, and returns its output.
func (f *fixture) done(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, errs, code := f.run(t.Context(), command, args...)
	if code != 0 {
		t.Fatalf("%s %q: exit code %d: %s", command, args, code, errs)
	}
	return out
}

// write writes a file of n random bytes.
func write(t *testing.T, name string, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(data)
	check(t, os.WriteFile(name, data, 0o640))
	return data
}

// same checks the data of a file.
func same(t *testing.T, name string, want []byte) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, %v, others than the %d expected", name, len(got), err, len(want))
	}
}

const target = "127.0.0.1:/export"

// A copy that a signal has stopped resumes where it was: it calls READ or WRITE for the rest alone,
// and the file is the same.
func TestResume(t *testing.T) {
	for _, transport := range []string{"tcp", "rdma"} {
		for command, proc := range map[string]uint32{"get": nfs3.ProcRead, "put": nfs3.ProcWrite} {
			t.Run(transport+" "+command, func(t *testing.T) {
				f := serve(t, transport)
				here, there := filepath.Join(f.base, "file"), filepath.Join(f.dir, "file")
				source, copied, args := there, here, []string{target + "/file", here}
				if command == "put" {
					source, copied, args = here, there, []string{here, target + "/file"}
				}
				data := write(t, source, 20<<20) // 20 calls
				args = append([]string{"-depth", "1", "-window", "2097152", "-resume"}, args...)

				ctx, cancel := context.WithCancelCause(t.Context())
				f.answered = func(p uint32, n int64) {
					if p == proc && n == 13 {
						cancel(&interrupted{os.Interrupt})
					}
				}
				out, errs, code := f.run(ctx, command, args...)
				if code != 130 || !strings.Contains(errs, "-resume goes on") {
					t.Fatalf("exit code %d, %q, %q", code, out, errs)
				}
				if _, err := os.Stat(copied); !errors.Is(err, os.ErrNotExist) {
					t.Error("the copy has its name before it is complete")
				}
				f.answered = func(uint32, int64) {}
				before := f.calls[proc].Load()
				if out := f.done(t, command, args...); !strings.HasPrefix(out, "files: 1 copied") {
					t.Error(out)
				}
				if n := f.calls[proc].Load() - before; n < 5 || n > 10 {
					t.Errorf("%d of 20 calls for the rest, expected 5 to 10", n)
				}
				same(t, copied, data)
				if list, _ := filepath.Glob(copied + ".nfs3part*"); len(list) > 0 {
					t.Errorf("left %q", list)
				}
				if out := f.done(t, command, args...); out != "files: 0 copied, 1 unchanged, 0 skipped; 0 bytes copied\n" {
					t.Error(out)
				}
			})
		}
	}
}

// A part of another source is not used.
func TestResumeOfChangedSource(t *testing.T) {
	f := serve(t, "tcp")
	data := write(t, filepath.Join(f.dir, "file"), 300_000)
	here := filepath.Join(f.base, "file")
	check(t, os.WriteFile(here+".nfs3part", make([]byte, 200_000), 0o600))
	info, err := os.Stat(filepath.Join(f.dir, "file"))
	check(t, err)
	for name, change := range map[string]func(*note){
		"size": func(n *note) { n.Size++ }, "time": func(n *note) { n.Time = n.Time.Add(1) },
		"file": func(n *note) { n.FileID++ }, "stored": func(n *note) { n.Stored = 1 << 40 }, "negative": func(n *note) { n.Stored = -1 },
	} {
		n := noteOf(info)
		out := f.done(t, "ls", "-json", target)
		var entry struct{ FileID uint64 }
		check(t, json.Unmarshal([]byte(out), &entry))
		n.FileID, n.Stored = entry.FileID, 100_000
		change(&n)
		text, err := json.Marshal(n)
		check(t, err)
		check(t, os.WriteFile(here+".nfs3part.json", text, 0o600))
		check(t, os.WriteFile(here+".nfs3part", make([]byte, 200_000), 0o600))
		if out := f.done(t, "get", "-resume", "-window", "100000", target+"/file", here); !strings.Contains(out, "; 300000 bytes") {
			t.Errorf("%s: %s", name, out)
		}
		same(t, here, data)
		check(t, os.Remove(here))
	}
}

// proxy passes connections on to a server that may change.
type proxy struct {
	net.Listener
	to    atomic.Pointer[string]
	mu    sync.Mutex
	conns []net.Conn
	limit func(total int64) // called for each piece with the bytes passed to the server or from it
	total atomic.Int64
	wg    sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &proxy{Listener: ln, limit: func(int64) {}}
	p.to.Store(&to)
	p.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", *p.to.Load())
			if err != nil {
				conn.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, conn, up)
			p.mu.Unlock()
			p.wg.Go(func() { p.pass(up, conn) })
			p.wg.Go(func() { p.pass(conn, up) })
		}
	})
	t.Cleanup(func() { ln.Close(); p.cut(); p.wg.Wait() })
	return p
}

func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.limit(p.total.Add(int64(n)))
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// A copy continues when the connection is cut, and the file is the same.
func TestCut(t *testing.T) {
	size, least := 16_000_001, int64(8)
	if testing.Short() {
		size, least = 5_000_001, 2
	}
	for _, transport := range []string{"tcp", "rdma"} {
		t.Run(transport, func(t *testing.T) {
			f := serve(t, transport)
			p := newProxy(t, f.nfs)
			f.flags[3] = port(p.Addr().String())
			var cuts atomic.Int64
			p.limit = func(total int64) {
				if n := cuts.Load(); total > 3_000_000*(n+1) && n < 10 && cuts.CompareAndSwap(n, n+1) {
					p.cut()
				}
			}
			here := filepath.Join(f.base, "file")
			data := write(t, here, size)
			f.done(t, "put", here, target+"/copy")
			same(t, filepath.Join(f.dir, "copy"), data)
			f.done(t, "get", target+"/copy", here+"2")
			same(t, here+"2", data)
			if cuts.Load() < least {
				t.Errorf("%d cuts, expected %d or more", cuts.Load(), least)
			}
		})
	}
}

// A server that is killed between WRITE and COMMIT, and loses the data as a crash of its machine
// does, gets them again.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server")
	}
	base := t.TempDir()
	program, dir := filepath.Join(base, "nfsserve"), filepath.Join(base, "served")
	if out, err := exec.Command("go", "build", "-o", program, "../nfsserve").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check(t, os.Mkdir(dir, 0o755))
	start := func() (*exec.Cmd, string, error) {
		cmd := exec.Command(program, "-tcp", "127.0.0.1:0", "-rdma", "", "-portmap", "off", "-allow-root", dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, "", err
		}
		line := make([]byte, 1000)
		n, err := out.Read(line)
		ready, _, _ := strings.Cut(string(line[:n]), "\n")
		_, addr, _ := strings.Cut(ready, "tcp ")
		addr, _, _ = strings.Cut(addr, ",")
		return cmd, addr, err
	}
	server, addr, err := start()
	check(t, err)
	defer func() { check(t, server.Process.Kill()); _ = server.Wait() }()
	p := newProxy(t, addr)
	crash := make(chan struct{})
	var once sync.Once
	p.limit = func(total int64) {
		if total > 14_000_000 { // in the second window of 8 MB
			once.Do(func() { close(crash) })
		}
	}
	var crashed sync.WaitGroup
	var lost int64
	crashed.Go(func() {
		<-crash
		_ = server.Process.Kill()
		_ = server.Wait() // killed
		p.cut()
		var n note
		text, err := os.ReadFile(filepath.Join(dir, "copy.nfs3part.json"))
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		part := filepath.Join(dir, "copy.nfs3part")
		info, e := os.Stat(part)
		if err = errors.Join(err, e); err == nil {
			lost = info.Size() - n.Stored
			err = os.Truncate(part, n.Stored)
		}
		server, addr, e = start()
		if err = errors.Join(err, e); err != nil {
			t.Error(err)
		}
		p.to.Store(&addr)
	})
	f := &fixture{flags: []string{"-transport", "tcp", "-port", port(p.Addr().String()), "-mountport", port(p.Addr().String())}}
	here := filepath.Join(base, "file")
	data := write(t, here, 40_000_001)
	f.done(t, "put", "-depth", "1", "-window", "8000000", here, target+"/copy")
	crashed.Wait()
	same(t, filepath.Join(dir, "copy"), data)
	if lost == 0 {
		t.Error("the crash lost nothing: the test does not show that data are written again")
	}
	t.Logf("the crash lost %d bytes", lost)
}

// Trees keep contents, permissions, times and links; other files are skipped and reported.
func TestTree(t *testing.T) {
	f := serve(t, "rdma")
	tree := filepath.Join(f.dir, "tree")
	check(t, os.MkdirAll(filepath.Join(tree, "a/b"), 0o755))
	for i := range 30 {
		write(t, filepath.Join(tree, "a/b", fmt.Sprint("file", i)), i*100)
	}
	write(t, filepath.Join(tree, strings.Repeat("n", 255)), 7)
	check(t, os.WriteFile(filepath.Join(tree, "x.nfs3part"), nil, 0o600))
	check(t, os.Symlink("../../outside", filepath.Join(tree, "a/link")))
	check(t, os.Chmod(filepath.Join(tree, "a"), 0o700))
	ln, err := net.Listen("unix", filepath.Join(tree, "sock"))
	check(t, err)
	defer ln.Close()
	here := filepath.Join(f.base, "out")
	out, errs, code := f.run(t.Context(), "get", "-r", target+"/tree", here)
	if want := "files: 32 copied, 0 unchanged, 1 skipped; 43507 bytes copied\n"; out != want || code != 0 || !strings.Contains(errs, "sock: the command copies no socket") {
		t.Errorf("found %q, %q, %d, expected %q", out, errs, code, want)
	}
	f.done(t, "put", "-r", here, target+"/back")
	list := func(dir string) (out string) {
		check(t, filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
			if err != nil || info.Mode()&os.ModeSocket != 0 || strings.HasSuffix(name, ".nfs3part") {
				return err
			}
			rel, _ := filepath.Rel(dir, name)
			var data []byte
			when := info.ModTime()
			switch {
			case info.Mode().IsRegular():
				data, err = os.ReadFile(name)
			case !info.IsDir():
				target, _ := os.Readlink(name)
				data, when = []byte(target), when.Truncate(1<<62)
			}
			out += fmt.Sprintf("%s %v %d %x\n", rel, info.Mode(), when.UnixNano(), data)
			return err
		}))
		return out
	}
	if a, b, c := list(tree), list(here), list(filepath.Join(f.dir, "back")); a != b || a != c {
		t.Errorf("the trees differ:\n%s\n%s\n%s", a, b, c)
	}
	if out := f.done(t, "get", "-r", "-resume", target+"/tree", here); out != "files: 0 copied, 32 unchanged, 1 skipped; 0 bytes copied\n" {
		t.Error(out)
	}
}

// A hostile server cannot make a copy of a tree write outside the destination.
func TestHostileTree(t *testing.T) {
	base := t.TempDir()
	dest, outside := filepath.Join(base, "dest"), filepath.Join(base, "outside")
	for _, dir := range []string{dest, outside, filepath.Join(base, "served")} {
		check(t, os.Mkdir(dir, 0o755))
	}
	s, err := nfsd.New(nfsd.Config{Dir: filepath.Join(base, "served"), State: filepath.Join(base, "state"), Async: true, AllowRoot: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	check(t, os.WriteFile(filepath.Join(base, "served", "real"), []byte("data"), 0o644))
	h := &hostile{Server: s}
	f := &fixture{base: base}
	f.listen(t, "tcp", rpc.NewHandler(&rpc.HandlerConfig{Next: s.Handler()}, nfs3rpc.NewService(h)))
	for name, entries := range map[string][]string{
		"name":             {"../outside/x"},
		"absolute":         {outside + "/x"},
		"link":             {"@../outside", "a/x"},
		"link to a file":   {"@../outside/x", "a"},
		"link then a tree": {"@../outside", "a"},
		"part":             {"@../outside/x>b.nfs3part", "b"},
		"note":             {"@../outside/x>b.nfs3part.json", "b"},
	} {
		h.mu.Lock()
		h.entries = entries
		h.mu.Unlock()
		check(t, os.RemoveAll(dest))
		f.run(t.Context(), "get", "-r", "-window", "2", target, dest)
		if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
			t.Fatalf("%s: outside the destination: %v, %v", name, list, err)
		}
		if _, err := os.Lstat(dest); err != nil || h.listed.Swap(0) == 0 {
			t.Errorf("%s: the server was not asked, %v", name, err)
		}
	}
}

// hostile lists entries that lead out of a directory: "@TARGET" is the link a, "@TARGET>NAME"
// another, and the others are files with the data of the file real.
type hostile struct {
	*nfsd.Server
	listed atomic.Int64

	mu      sync.Mutex
	entries []string
	link    string
}

func (h *hostile) ReadDirPlus(_ *rpc.Request, _ *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed.Add(1)
	res.OK.Reply.EOF = true
	for i, name := range h.entries {
		e := nfs3.EntryPlus{Cookie: nfs3.Cookie(i + 1), Name: nfs3.Filename(name)}
		e.NameAttributes.AttributesFollow = true
		e.NameAttributes.Attributes = nfs3.Attr{Type: nfs3.FileTypeReg, Size: 4}
		if link, ok := strings.CutPrefix(name, "@"); ok {
			target, as, named := strings.Cut(link, ">")
			if e.Name = nfs3.Filename("a"); named {
				e.Name = nfs3.Filename(as)
			}
			h.link, e.NameAttributes.Attributes.Type = target, nfs3.FileTypeLnk
		}
		res.OK.Reply.Entries = append(res.OK.Reply.Entries, e)
	}
	return nil
}

func (h *hostile) Lookup(r *rpc.Request, args *nfs3.LookupArgs, res *nfs3.LookupRes) error {
	args.What.Name = nfs3.Filename("real")
	return h.Server.Lookup(r, args, res)
}

func (h *hostile) ReadLink(_ *rpc.Request, _ *nfs3.ReadLinkArgs, res *nfs3.ReadLinkRes) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	res.OK.Path = nfs3.Path(h.link)
	return nil
}

func TestUsage(t *testing.T) {
	f := serve(t, "tcp")
	write(t, filepath.Join(f.dir, "esc\x1b[31m"), 1)
	if out := f.done(t, "ls", target); out != "\"esc\\x1b[31m\"\n" {
		t.Errorf("a name with an escape sequence is shown as %q", out)
	}
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	closed := port(unused.Addr().String())
	check(t, unused.Close())
	for _, test := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"ls"}, 2, "ls: HOST:/PATH is missing, expected nfs ls [flags] HOST:/PATH"},
		{[]string{"get", target}, 2, "get: LOCAL is missing, expected nfs get [flags] HOST:/PATH LOCAL"},
		{[]string{"cat", target, "-json"}, 2, `cat: found the flag "-json" after an argument: flags come before the arguments: nfs cat [flags] HOST:/PATH`},
		{[]string{"cat", target, "json"}, 2, `cat: found "json" after HOST:/PATH, expected nfs cat [flags] HOST:/PATH`},
		{[]string{"get", target, "-q"}, 1, "copy it with -r"},
		{[]string{"ls", "-port", "nfs", target}, 2, `ls: -port: found "nfs", expected a number: nfs help ls`},
		{[]string{"-json", "ls", target}, 2, `found "-json", expected a command first: ls, cat, get or put`},
		{[]string{"cat", "-json", target}, 2, "no meaning"},
		{[]string{"get", "-no", target}, 2, "nfs help get lists"},
		{[]string{"cat", target + "/none"}, 7, "NFS3ERR_NOENT"},
		{[]string{"cat", target}, 4, "NFS3ERR_ISDIR: it is a directory"},
		{[]string{"put", "main.go", target + "/" + strings.Repeat("a", 300)}, 4, "no name of this length"},
		{[]string{"get", target, f.base}, 1, target + " is a directory: copy it with -r"},
		{[]string{"get", target, f.base + "/new"}, 1, "copy it with -r"},
		{[]string{"put", f.base, target}, 1, f.base + " is a directory: copy it with -r"},
		{[]string{"get", "-window", "0", target, f.base}, 2, "found -window 0"},
		{[]string{"get", "-depth", "-1", target, f.base}, 2, "found -depth -1"},
		{[]string{"ls", "-mountport", "70000", target}, 2, "-mountport 70000"},
		{[]string{"ls", "-timeout", "-1s", target}, 2, "found -timeout -1s"},
		{[]string{"ls", "-transport", "rdma", "-provider", "rdmatcp", "-timeout", "2s", target}, 6, "with the provider rdmatcp at port " + port(f.nfs)},
		{[]string{"get", "-h"}, 0, "Usage: nfs get [flags]"},
		{[]string{"ls", "127.0.0.1"}, 2, "expected HOST:/PATH"},
		{[]string{"cat", "127.0.0.1:export"}, 2, `found "127.0.0.1:export", expected HOST:/PATH: nfs help cat`},
		{[]string{"get", ":/export", f.base}, 2, "expected HOST:/PATH"},
		{[]string{"ls", "nfs://127.0.0.1/export"}, 2, `found "nfs://127.0.0.1/export", expected HOST:/PATH: nfs help ls`},
		{[]string{"get", "[]:/export", f.base}, 2, "expected HOST:/PATH"},
		{[]string{"put", target, f.base}, 2, `"` + f.base + `", expected HOST:/PATH`},
		{[]string{"put", f.base, "127.0.0.1"}, 2, "expected HOST:/PATH"},
		{[]string{"ls", "-vers", "4.0", target}, 2, `found -vers "4.0", expected 3, 4.1 or 4.2: nfs help ls`},
		{[]string{"ls", "-transport", "udp", target}, 2, `found -transport "udp", expected rdma or tcp: nfs help ls`},
		{[]string{"ls", "-transport", "rdma", "-provider", "siw", target}, 2, `found -provider "siw", expected iwarp or rdmatcp: nfs help ls`},
		{[]string{"ls", "-mountport", closed, target}, 6, "MOUNT over tcp at 127.0.0.1:" + closed + ": "},
		{[]string{"ls", "-mountport", closed, target}, 6, "is this the port of MOUNT? 0 asks the server's rpcbind"},
	} {
		if out, errs, code := f.run(t.Context(), test.args[0], test.args[1:]...); code != test.code || !strings.Contains(out+errs, test.text) {
			t.Errorf("%q: exit code %d, %q, expected %d and %q", test.args, code, errs, test.code, test.text)
		}
	}
	var noPort strings.Builder
	if code := (&program{stderr: &noPort}).report(fmt.Errorf("rpcbind: %w", client.ErrNoPort)); code != 1 || !strings.HasSuffix(noPort.String(), "set the ports of MOUNT and NFS, by -mountport and -port\n") {
		t.Errorf("exit code %d, %s", code, noPort.String())
	}
	out, errs, code := f.run(t.Context(), "ls", "-json", target+"/none")
	var e struct {
		V             int
		Type, Code    string
		Message, Help string
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || code != 7 || errs != "" || e.V != 1 || e.Type != "error" || e.Code != "NFS3ERR_NOENT" {
		t.Errorf("%q, %q, %d, %v", out, errs, code, err)
	}
	var p program
	p.stdout, p.stderr = io.Discard, io.Discard
	if code := p.report(p.run(t.Context(), nil)); code != 0 {
		t.Errorf("no command: exit code %d", code)
	}
}

// A signal stops any command with the signal's exit code, and a copy says how to resume it. It
// never blames the source for a change.
func TestInterrupted(t *testing.T) {
	f := serve(t, "tcp")
	write(t, filepath.Join(f.dir, "a"), 10)
	for _, args := range [][]string{{"ls", target}, {"cat", target + "/a"}, {"get", "-r", target, f.base + "/copy"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&interrupted{os.Interrupt})
		if _, errs, code := f.run(ctx, args[0], args[1:]...); code != 130 || !strings.Contains(errs, "ended by signal") {
			t.Errorf("%q: exit code %d, %q, expected 130 and the signal", args, code, errs)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs}
	job := &copier{program: p, ctx: ctx, to: local{root(t, f.base)}}
	job.from = &stopping{side: local{root(t, f.dir)}, ctx: ctx, stop: func() { cancel(&interrupted{os.Interrupt}) }}
	job.data = func(string, string, int64, int64, func(int64) error) error { return nil }
	if code := p.report(job.copy("a", "b")); code != 130 || !strings.Contains(errs.String(), "-resume") || strings.Contains(errs.String(), "changed") {
		t.Errorf("exit code %d, %q, expected 130 and -resume", code, &errs)
	}
}

// root opens a directory until the end of the test.
func root(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	check(t, err)
	t.Cleanup(func() { check(t, r.Close()) })
	return r
}

// stopping is a side whose second stat, the one after the data, is interrupted.
type stopping struct {
	side
	ctx   context.Context
	stop  func()
	stats int
}

func (s *stopping) stat(name string) (fs.FileInfo, error) {
	if s.stats++; s.stats == 2 {
		s.stop()
		return nil, s.ctx.Err()
	}
	return s.side.stat(name)
}
