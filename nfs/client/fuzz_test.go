package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// errSilent is the error of a call that a script does not answer.
var errSilent = errors.New("the script is over")

// scripted is a server that answers the calls one by one with the results of a script: each is a
// length of two bytes and the bytes.
type scripted struct {
	script []byte
	xid    uint32
}

func (s *scripted) XID() uint32 { s.xid++; return s.xid }

func (s *scripted) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if len(s.script) < 2 {
		return nil, &oncrpc.CallError{Err: errSilent}
	}
	n := min(int(binary.BigEndian.Uint16(s.script)), len(s.script)-2) &^ 3
	results := s.script[2 : 2+n]
	s.script = s.script[2+n:]
	head, err := oncrpc.NewReply(call.XID(), oncrpc.Success).AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	call.Reply = oncrpc.Reply{Message: append(head, results...)}
	return &call.Reply, nil
}

// recorder records the results of a real server as a script.
type recorder struct {
	oncrpc.Carrier
	script []byte
}

func (r *recorder) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	call.Results = nil // all results inline
	reply, err := r.Carrier.Call(ctx, call)
	if err == nil {
		var head oncrpc.Header
		d := xdr.NewDecoder(reply.Message, nil)
		if err := head.DecodeXDR(d); err != nil {
			return nil, &oncrpc.CallError{Err: err}
		}
		r.script = binary.BigEndian.AppendUint16(r.script, uint16(len(d.Rest())))
		r.script = append(r.script, d.Rest()...)
	}
	return reply, err
}

// uses are programs that use a Client. Each checks its results, whatever the server answers.
var uses = []func(t testing.TB, c *client.Client){
	func(t testing.TB, c *client.Client) {
		for info, err := range c.ReadDir(context.Background(), "dir") {
			if err != nil {
				return
			}
			if name := info.Name(); name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
				t.Errorf("a listing has the name %q", name)
			}
			_, _, _ = info.Mode(), info.ModTime(), info.Size()
		}
	},
	func(t testing.TB, c *client.Client) {
		f, err := c.Open(context.Background(), "file")
		if err != nil {
			return
		}
		buf := make([]byte, 6000)
		if n, err := f.ReadAt(buf, 10); n < 0 || n > len(buf) || n < len(buf) && err == nil {
			t.Errorf("ReadAt: %d bytes, %v", n, err)
		}
		_ = f.Close()
	},
	func(t testing.TB, c *client.Client) {
		f, err := c.OpenFile(context.Background(), "new", os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return
		}
		if n, err := f.WriteAt(make([]byte, 6000), 0); n < 0 || n > 6000 || n < 6000 && err == nil {
			t.Errorf("WriteAt: %d bytes, %v", n, err)
		}
		_ = f.Sync()
		_ = f.CopyFrom(bytes.NewReader(make([]byte, 9000)), 0, 9000, nil)
		_ = f.Close()
	},
	func(_ testing.TB, c *client.Client) {
		ctx := context.Background()
		if info, err := c.Stat(ctx, "link"); err == nil {
			_ = info.Sys()
		}
		_, _ = c.ReadLink(ctx, "link")
		_ = c.Mkdir(ctx, "made", 0o700)
		_ = c.Symlink(ctx, "to", "made/link")
		_ = c.Link(ctx, "file", "made/hard")
		_ = c.Rename(ctx, "made/hard", "made/other")
		_ = c.SetAttr(ctx, "made/other", client.SetMode(0o644))
		_ = c.Remove(ctx, "made/other")
		_ = c.Rmdir(ctx, "made")
	},
}

// fuzzConfig makes one call at a time, so that a script answers them in order, and waits for
// nothing.
var fuzzConfig = client.Config{Depth: 1, MaxIO: 2000, Window: 4000, MaxEntries: 1000, RetryPause: 1, Cred: &oncrpc.AuthSysParms{UID: 1000}}

// FuzzServer uses a Client whose server answers with any bytes. It ends without a panic, returns no
// name that leads elsewhere and no more data than was asked for, and takes memory that follows the
// bytes of the server.
//
//fuzz:floor 500 each execution makes several calls and measures memory
func FuzzServer(f *testing.F) {
	base := f.TempDir()
	dir := filepath.Join(base, "dir")
	check(f, os.MkdirAll(filepath.Join(dir, "dir"), 0o755))
	check(f, os.WriteFile(filepath.Join(dir, "file"), make([]byte, 5000), 0o644))
	check(f, os.WriteFile(filepath.Join(dir, "dir/below"), nil, 0o644))
	check(f, os.Symlink("file", filepath.Join(dir, "link")))
	server, err := nfsd.New(nfsd.Config{Dir: dir, State: filepath.Join(base, "state"), Async: true, AllowRoot: true})
	check(f, err)
	f.Cleanup(func() { check(f, server.Close()) })
	conn := mem.New(server.Handler(), nil)
	f.Cleanup(func() { check(f, conn.Close()) })
	mounted, err := mount3rpc.NewClient(conn, nil).Mount(f.Context(), mount3.DirPath("/export"))
	check(f, err)
	root := nfs3.Handle{Data: mounted.OK.Handle}
	for i, use := range uses {
		cfg := fuzzConfig
		cfg.Cred = &oncrpc.AuthSysParms{}
		r := &recorder{Carrier: conn}
		c, err := client.New(f.Context(), r, root, &cfg)
		check(f, err)
		use(f, c)
		f.Add(byte(i), r.script)
		f.Add(byte(i), r.script[:len(r.script)-8])
	}
	f.Fuzz(func(t *testing.T, which byte, script []byte) {
		if len(script) > 1<<16 {
			return
		}
		cfg := fuzzConfig
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if c, err := client.New(t.Context(), &scripted{script: script}, nfs3.Handle{Data: []byte("root")}, &cfg); err == nil {
			uses[int(which)%len(uses)](t, c)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+uint64(len(script))*64 {
			t.Errorf("%d bytes of memory for a script of %d", n, len(script))
		}
	})
}
