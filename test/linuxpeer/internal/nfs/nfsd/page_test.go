package nfsd_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/page"
)

// Each command of docs/nfs.md does what the page says.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	root, err := page.Root()
	check(t, err)
	commands, err := page.Lines(root, "console")
	check(t, err)
	dev, err := iwarp.Open(nil)
	check(t, err)
	t.Cleanup(func() { check(t, dev.Close()) })
	s := nfsd.New()
	server, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", s.Handler(), nil)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	for _, command := range commands {
		out, err := page.Run(context.Background(), root, command, page.Server{RDMA: server.Addr(), Mount: mountServer(t, s)})
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		for _, want := range page.Expect(command) {
			if !strings.Contains(out, want) {
				t.Errorf("%s: found\n%s\nexpected it to contain %q", command, out, want)
			}
		}
	}
}
