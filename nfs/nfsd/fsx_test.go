package nfsd_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	nfsclient "github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/fsx"
	"github.com/rpcrdma/rpcrdma/nfs/fsx/fsxtest"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	memverbs "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// fsxOver tests an export with random operations through a client over a carrier, and compares the
// directory itself at the end.
func fsxOver(t *testing.T, e *export, over oncrpc.Carrier, cfg fsx.Config) *fsx.Tester {
	t.Helper()
	tester := fsx.New(fsxtest.FS(t.Context(), newClient(t, e, over)), cfg)
	check(t, tester.Run(t.Context()))
	check(t, tester.Compare(fsx.OS(e.dir)))
	return tester
}

// newClient returns a client of package client.
func newClient(t *testing.T, e *export, over oncrpc.Carrier) *nfsclient.Client {
	t.Helper()
	root := e.client(t, auth(t, 1000, 1000)).root
	c, err := nfsclient.New(t.Context(), over, root, &nfsclient.Config{Cred: &oncrpc.AuthSysParms{UID: 1000, GID: 1000}})
	check(t, err)
	return c
}

// steps returns the configuration of a run with a number of operations, of a twentieth in short
// tests.
func steps(seed uint64, n int) fsx.Config {
	if testing.Short() {
		n /= 20
	}
	return fsx.Config{Seed: seed, Steps: n}
}

// Random operations over memory and TCP leave the files as package fsx's model has them.
func TestFsx(t *testing.T) {
	t.Run("mem", func(t *testing.T) {
		e := newExport(t, nfsd.Config{Async: true})
		conn := mem.New(e.server.Handler(), nil)
		defer conn.Close()
		tester := fsxOver(t, e, conn, steps(1, 1000))
		for _, op := range []fsx.Op{fsx.Read, fsx.Write, fsx.Append, fsx.Truncate, fsx.Rename, fsx.Link, fsx.Remove, fsx.Sync, fsx.Reopen} {
			if tester.Count(op) == 0 && !testing.Short() {
				t.Errorf("no %s", op)
			}
		}
	})
	for name, cfg := range map[string]*tcp.Config{
		"tcp": nil,
		"tls": {TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: tlstest.NewAuthority(t).Config()}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExport(t, nfsd.Config{Async: true})
			server, err := tcp.Listen(t.Context(), "127.0.0.1:0", e.server.Handler(), cfg)
			check(t, err)
			defer server.Close()
			conn, err := tcp.Dial(t.Context(), server.Addr(), cfg)
			check(t, err)
			defer conn.Close()
			if peer := conn.Peer(); (peer.TLS != nil) != (cfg != nil) {
				t.Errorf("the connection has TLS: %v", peer.TLS != nil)
			}
			fsxOver(t, e, conn, steps(2, 1000))
		})
	}
}

// rdmaEnds is a listener and a connection to it.
type rdmaEnds struct {
	server *rdmaio.Server
	conn   *rdmaio.Conn
}

func overRDMA(t *testing.T, e *export, provider string, cfg *rdmaio.Config) rdmaEnds {
	t.Helper()
	var dev, peer verbs.Device
	var err error
	addr := "127.0.0.1:0"
	switch provider {
	case "memory":
		net := memverbs.New(nil)
		addr = "server"
		peer, err = net.Open("client", nil)
		check(t, err)
		dev, err = net.Open("server", nil)
	case "iwarp":
		dev, err = iwarp.Open(nil)
	case "rdmatcp":
		dev, err = rdmatcp.Open(nil)
	case "rdmatcp over TLS":
		dev, err = rdmatcp.Open(&rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config()})
	}
	check(t, err)
	if peer == nil {
		peer = dev
	} else {
		t.Cleanup(func() { check(t, peer.Close()) })
	}
	t.Cleanup(func() { check(t, dev.Close()) })
	server, err := rdmaio.Listen(t.Context(), dev, addr, e.server.Handler(), cfg)
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	conn, err := rdmaio.Dial(t.Context(), peer, server.Addr(), cfg)
	check(t, err)
	t.Cleanup(func() { check(t, conn.Close()) })
	return rdmaEnds{server, conn}
}

// Random operations over each provider and version of RPC-over-RDMA leave the files as package
// fsx's model has them. A large Config.Continue makes WRITE and READDIR go in parts instead of
// chunks.
func TestFsxRDMA(t *testing.T) {
	small := func(versions []int, send int) *rdmaio.Config {
		return &rdmaio.Config{Versions: versions, InlineSend: 4096, InlineRecv: 4096, Continue: send}
	}
	const many = 120 // names: a listing that does not fit inline
	for i, provider := range []string{"memory", "rdmatcp", "iwarp", "rdmatcp over TLS"} {
		for _, tt := range []struct {
			name    string
			cfg     *rdmaio.Config
			version int
			parts   bool
		}{
			{"version 1", nil, 1, false},
			{"version 2", small([]int{2}, 0), 2, false},
			{"version 2 with chunks", small([]int{2, 1}, -1), 2, false},
			{"version 2 in parts", small([]int{2, 1}, 1<<20), 2, true},
		} {
			if provider == "rdmatcp over TLS" && tt.name != "version 2" {
				continue
			}
			t.Run(provider+"/"+tt.name, func(t *testing.T) {
				e := newExport(t, nfsd.Config{Async: true})
				ends := overRDMA(t, e, provider, tt.cfg)
				fsxOver(t, e, ends.conn, steps(uint64(i), 300))
				for i := range many {
					check(t, os.WriteFile(fmt.Sprintf("%s/d0/a-long-name-%040d", e.dir, i), nil, 0o644))
				}
				names, err := fsxtest.FS(t.Context(), newClient(t, e, ends.conn)).ReadDir("d0")
				if err != nil || len(names) < many {
					t.Errorf("%d names, %v", len(names), err)
				}
				var st rdmaio.Stats
				used := func() bool {
					st = ends.server.Conns()[0].Stats() // as of the last time without work
					data := st.BytesRead > 0
					if tt.parts {
						data = st.PartsSent > 0 && st.PartsReceived > 0
					}
					return data && st.BytesWritten > 0
				}
				for deadline := time.Now().Add(20 * time.Second); !used() && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				if !used() || st.Version != tt.version {
					t.Errorf("version %d, %d parts sent and %d received, %d bytes by RDMA Read, %d by RDMA Write", st.Version, st.PartsSent, st.PartsReceived, st.BytesRead, st.BytesWritten)
				}
			})
		}
	}
}
