package use4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// Scripts for the server's machine. The grace period lasts 90 s, or until endGrace.
const (
	stopServer  = "rpc.nfsd 0; echo 10 >/proc/fs/nfsd/nfsv4leasetime; echo 90 >/proc/fs/nfsd/nfsv4gracetime; "
	startServer = "rpc.nfsd 8; "
	endGrace    = "echo Y >/proc/fs/nfsd/v4_end_grace; "
	listenRDMA  = "grep -q rdma /proc/fs/nfsd/portlist || echo 'rdma 20049' >/proc/fs/nfsd/portlist; "
	expireAll   = "for c in /proc/fs/nfsd/clients/*/ctl; do echo expire >$c; done; "
)

// Restart restarts the server while files are open, with a grace period and without one, and makes
// it drop the clients' state.
func Restart(ctx context.Context, s *Server, minor uint32) (text string, err error) {
	if text, err = s.restart(ctx, minor); err == nil {
		err = s.leftovers(ctx) // the clients are closed: they hold no delegations
	}
	return text, err
}

// restart is Restart without the look at what the server keeps.
func (s *Server) restart(ctx context.Context, minor uint32) (text string, err error) {
	remove, err := s.work(ctx, "restart")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	config := func() *client4.Config { return &client4.Config{Session: &nfs4.Config{Minor: minor, Cred: user()}} }
	c, err := s.Client(ctx, config())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	other, err := s.Client(ctx, config())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	f, err := c.OpenFile(ctx, s.name("restart", "data"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	w := &writer{f: f}
	if err := w.write(); err != nil {
		return "", err
	}
	if err := s.grace(ctx, w, other); err != nil {
		return "", fmt.Errorf("restart with a grace period: %w", err)
	}
	for _, loss := range []struct{ what, script string }{
		{"restart without a grace period", stopServer + startServer + endGrace + listenRDMA},
		{"the clients' state is dropped", expireAll},
	} {
		if err := s.lose(ctx, w, loss.script); err != nil {
			return "", fmt.Errorf("%s: %w", loss.what, err)
		}
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	out, err := s.Shell(ctx, "sha256sum <"+s.path("restart", "data"))
	if err != nil {
		return "", err
	}
	if err := w.same(out); err != nil {
		return "", err
	}
	if err := s.successor(ctx, minor); err != nil {
		return "", fmt.Errorf("a client that comes back: %w", err)
	}
	return fmt.Sprintf("%d KiB written through 2 restarts and a loss of state", len(w.data)>>10), nil
}

// grace restarts the server with a grace period. The file stays in use, and another client that
// opens one waits for the end.
func (s *Server) grace(ctx context.Context, w *writer, other *client4.Client) error {
	if _, err := s.Shell(ctx, stopServer+startServer+listenRDMA); err != nil {
		return err
	}
	var ended atomic.Bool
	var g group
	g.Go(func() error {
		f, err := other.Create(ctx, s.name("restart", "other"), 0o600)
		if err != nil {
			return fmt.Errorf("a new file: %w", err)
		}
		if !ended.Load() {
			return errors.Join(errors.New("a new file was opened within the grace period"), f.Close())
		}
		return f.Close()
	})
	err := w.write()
	ended.Store(true)
	_, failed := s.Shell(ctx, endGrace)
	return errors.Join(err, failed, g.Wait())
}

// lose runs a script that makes the server lose state, in the middle of writing.
func (s *Server) lose(ctx context.Context, w *writer, script string) error {
	var g group
	g.Go(func() error {
		_, err := s.Shell(ctx, script)
		return err
	})
	g.Go(w.write)
	err := g.Wait()
	return errors.Join(err, w.write())
}

// successor makes a session of the same owner as another one: the server drops the state of the
// first, and the end of the first does no harm to the second.
func (s *Server) successor(ctx context.Context, minor uint32) error {
	config := func() *nfs4.Config { return &nfs4.Config{Minor: minor, Cred: user(), Owner: "use4 successor"} }
	first, err := s.Dial(ctx, config())
	if err != nil {
		return err
	}
	dir, err := s.handle(ctx, first, "restart")
	if err != nil {
		return errors.Join(err, first.Close())
	}
	if _, err := open(ctx, first, dir, "data", nfs42.OpenShareAccessBoth|nfs42.OpenShareAccessWantNoDeleg); err != nil {
		return errors.Join(err, first.Close())
	}
	second, err := s.Dial(ctx, config())
	if err != nil {
		return errors.Join(err, first.Close())
	}
	err = s.leftovers(ctx)
	err = errors.Join(err, first.Close())
	if _, failed := s.handle(ctx, second, "restart"); failed != nil {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, second.Close())
}

// writer appends to a file, and compares its bytes.
type writer struct {
	f    *client4.File
	data []byte
}

// write appends 512 KiB, stores them, and reads all.
func (w *writer) write() error {
	more := random(len(w.data), 512<<10)
	if _, err := w.f.WriteAt(more, int64(len(w.data))); err != nil {
		return err
	}
	w.data = append(w.data, more...)
	if err := w.f.Sync(); err != nil {
		return err
	}
	got := make([]byte, len(w.data))
	if _, err := w.f.ReadAt(got, 0); err != nil {
		return err
	}
	if !bytes.Equal(got, w.data) {
		return errors.New("other bytes were read than written")
	}
	return nil
}

// same compares the digest of the server's file.
func (w *writer) same(out string) error {
	if want := digest(w.data); strings.Fields(out + " none")[0] != want {
		return fmt.Errorf("the server's file has the digest %s, expected %s", out, want)
	}
	return nil
}
