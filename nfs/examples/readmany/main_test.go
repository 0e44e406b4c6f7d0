package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A file of any size arrives as it is, and what the server refuses is said.
func TestFilesArriveWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := nfsd.New(nfsd.Config{Dir: dir, State: filepath.Join(t.TempDir(), "state"), Export: "/data", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // after its listeners
	listen := func(cfg *tcp.Config) string {
		s, err := tcp.Listen(t.Context(), "127.0.0.1:0", server.Handler(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.Addr()
	}
	addr := listen(nil)
	short := listen(&tcp.Config{MaxReply: 20_000}) // its READs are shorter than a block
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, block, block + 1, 100*block + 77} {
		want := make([]byte, size)
		_, _ = random.Read(want)
		if err := os.WriteFile(filepath.Join(dir, "file"), want, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, addr := range []string{addr, short} {
			var got bytes.Buffer
			if err := run(t.Context(), addr, "/data", "file", &got); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("of %d bytes %d arrived: %v", size, got.Len(), err)
			}
		}
	}
	for _, tt := range [][3]string{
		{"/other", "file", "MNT of /other: "},
		{"/data", "none", "LOOKUP of none: "},
		{"/data", "secret", "READ at byte 0: "},
	} {
		if tt[1] == "secret" {
			if err := os.WriteFile(filepath.Join(dir, tt[1]), []byte("1"), 0); err != nil {
				t.Fatal(err)
			}
		}
		var got bytes.Buffer
		if err := run(t.Context(), addr, tt[0], tt[1], &got); err == nil || !strings.Contains(err.Error(), tt[2]) || got.Len() > 0 {
			t.Errorf("%v: %v, with %d bytes", tt, err, got.Len())
		}
	}
}
