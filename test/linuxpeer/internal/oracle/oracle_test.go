package oracle_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/oracle"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve serves a new directory twice, with root and without. change, if not nil, changes the
// handlers.
func serve(t *testing.T, change func(oncrpc.Handler) oncrpc.Handler) *oracle.Server {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to have files of several users")
	}
	dir, state := t.TempDir(), t.TempDir()
	check(t, os.Chmod(dir, 0o777))
	var s oracle.Server
	for name, e := range map[string]*oracle.Export{"plain": &s.Plain, "squashed": &s.Squashed} {
		server, err := nfsd.New(nfsd.Config{Dir: dir, State: filepath.Join(state, name), Async: true, AllowRoot: name == "plain"})
		check(t, err)
		t.Cleanup(func() { check(t, server.Close()) })
		handler := server.Handler()
		if change != nil {
			handler = change(handler)
		}
		listener, err := tcp.Listen(t.Context(), "127.0.0.1:0", handler, nil)
		check(t, err)
		t.Cleanup(func() { check(t, listener.Close()) })
		cred, err := nfs.Cred(1000, 1000)
		check(t, err)
		root, err := nfs.Mount(t.Context(), listener.Addr(), "/export", cred)
		check(t, err)
		conn, err := tcp.Dial(t.Context(), listener.Addr(), nil)
		check(t, err)
		t.Cleanup(func() { check(t, conn.Close()) })
		*e = oracle.Export{Carrier: conn, Root: nfs3.Handle{Data: root.Data}}
	}
	return &s
}

// A server agrees with itself, and no difference is allowed.
func TestServerAgreesWithItself(t *testing.T) {
	cfg := oracle.Config{Seed: 1}
	if testing.Short() {
		cfg.Share = 100
	}
	a, err := oracle.Ask(t.Context(), serve(t, nil), cfg)
	check(t, err)
	b, err := oracle.Ask(t.Context(), serve(t, nil), cfg)
	check(t, err)
	wrong, _ := oracle.Compare(a, b, nil)
	for _, line := range wrong {
		t.Error(line)
	}
	seen := map[string]bool{}
	for _, answer := range a {
		if seen[answer.Question] {
			t.Errorf("the question %s twice", answer.Question)
		}
		seen[answer.Question] = true
		if strings.Contains(answer.Text, "does not give") || strings.Contains(answer.Text, "error:") {
			t.Errorf("%s: %s", answer.Question, answer.Text)
		}
	}
	t.Logf("%d questions", len(a))
}

// A server that checks no search permission is found out: the canary of the questions.
func TestWrongServerIsFoundOut(t *testing.T) {
	cfg := oracle.Config{Seed: 1, Share: 100}
	a, err := oracle.Ask(t.Context(), serve(t, nil), cfg)
	check(t, err)
	b, err := oracle.Ask(t.Context(), serve(t, func(next oncrpc.Handler) oncrpc.Handler { return generous{next} }), cfg)
	check(t, err)
	wrong, _ := oracle.Compare(a, b, oracle.Linux(""))
	if !slices.ContainsFunc(wrong, func(line string) bool { return strings.Contains(line, "ACCESS of the directory by other") }) {
		t.Errorf("%d differences, but not in ACCESS", len(wrong))
	}
}

// generous is a handler that lets every caller of ACCESS be root.
type generous struct{ oncrpc.Handler }

// ServeRPC implements oncrpc.Handler.
func (g generous) ServeRPC(r *oncrpc.Request) {
	prog, _, proc, _ := oncrpc.Procedure(r.Message)
	if prog == nfs3.Program && proc == nfs3.ProcAccess {
		at := 24 + 8 + 4 // the body of AUTH_SYS: its stamp, then the name of the machine
		name := int(binary.BigEndian.Uint32(r.Message[at:]))
		if len(r.Message) > at+12+name && name == len("oracle") {
			clear(r.Message[at+4+(name+3)&^3:][:8])
		}
	}
	g.Handler.ServeRPC(r)
}
