package client

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Over TCP the reply of a READ comes in memory that the next READ uses again. A carrier that may
// place data gets none.
func TestRepliesUseMemoryAgain(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	dir := filepath.Join(base, "dir")
	check(os.Mkdir(dir, 0o755))
	want := bytes.Repeat([]byte("text"), 50_000)
	check(os.WriteFile(filepath.Join(dir, "file"), want, 0o644))
	server, err := nfsd.New(nfsd.Config{Dir: dir, State: filepath.Join(base, "state"), AllowRoot: true})
	check(err)
	defer server.Close()
	handler := server.Handler()
	ln, err := tcp.Listen(t.Context(), "127.0.0.1:0", handler, nil)
	check(err)
	defer ln.Close()
	reconnecting, err := tcp.NewClient(ln.Addr(), nil)
	check(err)
	defer reconnecting.Close()
	conn, err := tcp.Dial(t.Context(), ln.Addr(), nil)
	check(err)
	defer conn.Close()
	inMemory := mem.New(handler, nil)
	defer inMemory.Close()
	for name, tt := range map[string]struct {
		over oncrpc.Carrier
		use  bool
	}{"a client": {reconnecting, true}, "a connection": {conn, true}, "memory": {inMemory, false}} {
		m, err := mount3rpc.NewClient(tt.over, &rpc.ClientConfig{}).Mount(t.Context(), mount3.DirPath("/export"))
		check(err)
		c, err := New(t.Context(), tt.over, nfs3.Handle{Data: m.OK.Handle}, nil)
		check(err)
		f, err := c.Open(t.Context(), "file")
		check(err)
		kept := false
		for range 50 { // the race detector makes a sync.Pool lose memory at random
			got := make([]byte, len(want))
			_, err := f.ReadAt(got, 0)
			check(err)
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: other data", name)
			}
			if b, ok := c.replies.pool.Get().(*[]byte); ok {
				kept = len(*b) == len(want)+readHead
				break
			}
		}
		if kept != tt.use {
			t.Errorf("%s: the memory of a reply is kept: %v, expected %v", name, kept, tt.use)
		}
		check(f.Close())
	}
}

// Memory for fewer bytes is not used.
func TestRepliesHaveRoom(t *testing.T) {
	r := replies{use: true}
	r.put(make([]byte, 10+readHead))
	if got := len(r.get(20)); got != 20+readHead {
		t.Errorf("%d bytes, expected %d", got, 20+readHead)
	}
}
