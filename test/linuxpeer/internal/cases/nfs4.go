package cases

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/use4"
)

// uses4 are the uses of package use4, in the order in which the cases run.
var uses4 = []string{"files", "recall", "cut", "restart"}

// nfs4Cases use the kernel's NFS server by versions 4.1 and 4.2: from the host over TCP, TLS and
// the provider iwarp, and within the guest over the provider ibverbs.
func nfs4Cases() []Case {
	var all []Case
	for _, use := range uses4 {
		add := func(carrier string, run func(t *T)) {
			// A cut and a restart can hurt the server for later cases, see nfsRecovery.
			own := ownGuest(use)
			all = append(all, Case{Name: "nfs4/" + use + "-" + carrier, Own: own, Timeout: 4 * time.Minute, Run: func(t *T) {
				run(t)
				if own {
					t.judge()
				}
			}})
		}
		add("tcp", func(t *T) { use4TCP(t, use, 1, nil, "") })
		add("tls", func(t *T) {
			a := startTLSHD(t)
			exportTLS(t, "tls", 11)
			cfg := a.clientTLS()
			use4TCP(t, use, 2, &cfg, "fsid11")
		})
		add("iwarp", func(t *T) { use4IWARP(t, use) })
		for _, d := range verbsDevices() {
			add(d.kind, func(t *T) { use4Verbs(t, use, d) })
		}
	}
	return all
}

// server4 returns the kernel's server without a carrier. cutter may be nil.
func server4(t *T, cutter *nfs.Cutter) *use4.Server {
	local, err := os.MkdirTemp(t.Dir(), "local")
	t.Must(err)
	return &use4.Server{
		Shell: func(ctx context.Context, script string) (string, error) {
			res, err := t.Guest().Shell(ctx, script)
			t.Logf("guest$ %s\n%s%s", script, res.Stdout, res.Stderr)
			return res.Stdout, err
		},
		Cut: func(context.Context) error {
			if cutter.CutAll() == 0 {
				return errors.New("there is no connection to cut")
			}
			return nil
		},
		Logf: t.Logf, Export: "/export", Local: local, Tester: filepath.Join(t.env.Dir, "mounttest"),
	}
}

// cutter4 returns a cutter before a port of the guest, and its own port.
func cutter4(t *T, to int) (*nfs.Cutter, int) {
	cutter, err := nfs.NewCutter(t.Forward(to))
	t.Must(err)
	t.Cleanup(func() { t.Must(cutter.Close()) })
	_, text, err := net.SplitHostPort(cutter.Addr())
	t.Must(err)
	port, err := strconv.Atoi(text)
	t.Must(err)
	return cutter, port
}

// use4TCP uses the server over TCP, or over TLS.
func use4TCP(t *T, use string, minor uint32, secure *tcp.TLS, dir string) {
	cutter, port := cutter4(t, nfsTCP)
	s := server4(t, cutter)
	s.Dir = dir
	over := func() *tcp.ClientConfig {
		conn := &tcp.Config{}
		if secure != nil {
			conn.TLS = *secure
		}
		return &tcp.ClientConfig{Conn: conn, MinBackoff: 20 * time.Millisecond, MaxBackoff: time.Second}
	}
	s.Dial = func(ctx context.Context, cfg *nfs4.Config) (*nfs4.Session, error) {
		return nfs4.DialTCP(ctx, cutter.Addr(), cfg, over())
	}
	s.Client = func(ctx context.Context, cfg *client4.Config) (*client4.Client, error) {
		cfg.Port, cfg.TCP = port, over()
		c, _, err := client4.Dial(ctx, "127.0.0.1:/", cfg)
		return c, err
	}
	t.use4(s, use, minor)
}

// use4IWARP uses the server over the provider iwarp.
func use4IWARP(t *T, use string) {
	cutter, port := cutter4(t, nfsRDMA)
	s, dev := server4(t, cutter), device(t, true)
	s.Dial = func(ctx context.Context, cfg *nfs4.Config) (*nfs4.Session, error) {
		return nfs4.DialRDMA(ctx, dev, cutter.Addr(), cfg, use4.OneCredit(&rdmaio.ClientConfig{MinBackoff: 20 * time.Millisecond, MaxBackoff: time.Second}))
	}
	s.Client = func(ctx context.Context, cfg *client4.Config) (*client4.Client, error) {
		cfg.Port, cfg.Provider = port, "iwarp"
		c, _, err := client4.Dial(ctx, "127.0.0.1:/", cfg)
		return c, err
	}
	t.use4(s, use, 2)
}

// use4 uses the server.
func (t *T) use4(s *use4.Server, use string, minor uint32) {
	text, err := use4.Uses[use](t.Context(), s, minor)
	t.Must(err)
	t.saw4(use, fmt.Sprintf("4.%d: %s", minor, text))
}

// saw4 sets the case's text, and adds it to docs/interop.md.
func (t *T) saw4(use, text string) {
	t.Say("%s", text)
	t.Report(Finding{What: "use of the server by NFS version 4, " + use, Saw: text})
}

// use4Verbs uses the server over a device of the guest.
func use4Verbs(t *T, use string, d verbsDevice) {
	if !ownGuest(use) {
		t.leavesNothing(d)
	}
	cut := "ss -K '( sport = :20049 or dport = :20049 )'"
	minor := "1"
	if d.ib { // without TCP, the client cuts its own connections
		cut, minor = "", "2"
	}
	out, err := t.Background(d.verbspeer("nfs4", use, minor, d.addr, cut)...).Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, lastLine(out))
	}
	// Its log comes in between.
	_, text, _ := strings.Cut("\n"+out, "\n4.")
	t.saw4(use, "4."+firstLine(text))
}

func ownGuest(use string) bool { return use == "cut" || use == "restart" }
