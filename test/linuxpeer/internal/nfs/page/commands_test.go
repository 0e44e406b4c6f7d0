package page

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Each command of docs/nfs.md does what the page says.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	root, err := Root()
	check(t, err)
	commands, err := Lines(root, File, "console")
	check(t, err)
	dev, err := iwarp.Open(nil)
	check(t, err)
	t.Cleanup(func() { check(t, dev.Close()) })
	dir := t.TempDir()
	s, err := nfsd.New(nfsd.Config{Dir: dir, State: t.TempDir(), AllowRoot: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	handler := s.Handler()
	server, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", handler, nil)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	mounts, err := tcp.Listen(context.Background(), "127.0.0.1:0", handler, nil)
	check(t, err)
	t.Cleanup(func() { check(t, mounts.Close()) })
	copies := t.TempDir()
	for _, command := range commands {
		out, err := Run(context.Background(), root, copies, command, Server{RDMA: server.Addr(), Mount: mounts.Addr()})
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		for _, want := range Expect(command) {
			if !strings.Contains(out, want) {
				t.Errorf("%s: found\n%s\nexpected it to contain %q", command, out, want)
			}
		}
	}
	for name, copied := range map[string]string{"README.md": dir + "/readme", "docs/nfs.md": copies + "/docs/nfs.md"} {
		want, err := os.ReadFile(filepath.Join(root, name))
		check(t, err)
		if got, err := os.ReadFile(copied); !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v, expected the %d of %s", copied, len(got), err, len(want), name)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
