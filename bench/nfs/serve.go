package nfs

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gonfs "github.com/willscott/go-nfs"
	"github.com/willscott/go-nfs/helpers"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// serverEnv is the variable of a server's process: the kind of the server and the directory.
const serverEnv = "NFSBENCH_SERVER"

// The kinds of servers.
const (
	kindNFSD  = "nfsd"
	kindGoNFS = "go-nfs"
)

// Names of listeners.
const (
	listenTCP     = "tcp"
	listenRDMATCP = "rdmatcp"
	listenIWARP   = "iwarp"
	listenFramed  = "framed"
)

// IsServer reports whether this process was started as a server. Then main must call Serve, and
// nothing else.
func IsServer() bool { return process.Is(serverEnv) }

// Serve runs the server until in ends. It does not close its listeners: the process ends.
func Serve(in io.Reader, out io.Writer) error {
	kind, dir, _ := strings.Cut(os.Getenv(serverEnv), ":")
	serve := serveNFSD
	if kind == kindGoNFS {
		serve = serveGoNFS
	}
	addrs, err := serve(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return process.Answer(in, out, addrs)
}

// start starts the process of a server.
func start(kind, dir string) (*process.Server, error) {
	return process.StartWith(serverEnv, kind+":"+dir)
}

// serveNFSD serves by nfsd over all carriers, and the messages of framed.
func serveNFSD(dir string) (map[string]string, error) {
	server, err := nfsd.New(nfsd.Config{Dir: dir, State: state(dir), AllowRoot: true})
	if err != nil {
		return nil, err
	}
	handler := server.Handler()
	byTCP, err := tcp.Listen(context.Background(), "127.0.0.1:0", handler, nil)
	if err != nil {
		return nil, err
	}
	addrs := map[string]string{listenTCP: byTCP.Addr()}
	for _, provider := range []string{listenRDMATCP, listenIWARP} {
		dev, err := device(provider)
		if err != nil {
			return nil, err
		}
		byRDMA, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", handler, nil)
		if err != nil {
			return nil, err
		}
		addrs[provider] = byRDMA.Addr()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addrs[listenFramed] = ln.Addr().String()
	go bench.ServeTCP(ln)
	return addrs, nil
}

// device opens a device of a provider.
func device(provider string) (verbs.Device, error) {
	if provider == listenIWARP {
		return iwarp.Open(nil)
	}
	return rdmatcp.Open(nil)
}

// handles is the number of handles that go-nfs keeps: more than the listing has entries, so that
// none goes stale.
const handles = 1 << 18

// serveGoNFS serves by go-nfs, as its example osnfs does.
func serveGoNFS(dir string) (map[string]string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	handler := helpers.NewCachingHandler(helpers.NewNullAuthHandler(changeable{osfs.New(dir)}), handles)
	go func() { _ = gonfs.Serve(ln, handler) }() // until the process ends
	return map[string]string{listenTCP: ln.Addr().String()}, nil
}
