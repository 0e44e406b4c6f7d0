package use4

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Server is a server, and the way to it.
type Server struct {
	// Dial makes a session over the carrier that is tested.
	Dial func(ctx context.Context, cfg *nfs4.Config) (*nfs4.Session, error)
	// Client makes a client over the same carrier.
	Client func(ctx context.Context, cfg *client4.Config) (*client4.Client, error)
	// Shell runs a script on the server's machine, and returns its output.
	Shell func(ctx context.Context, script string) (string, error)
	// Cut cuts all connections of the carrier.
	Cut func(ctx context.Context) error
	// Logf adds to the log.
	Logf func(format string, args ...any)

	Export string // the folder that the server has as the root of its names
	Dir    string // below Export, what this server is used for
	Local  string // a folder of this machine
	Tester string // the program mounttest of this machine
}

// name returns the name of a file for a client.
func (s *Server) name(elem ...string) string { return path.Join(append([]string{s.Dir}, elem...)...) }

// path returns the path of a file on the server's machine.
func (s *Server) path(elem ...string) string { return path.Join(s.Export, s.name(elem...)) }

// work makes a folder for one use, and returns the function that removes it. Linux gives no
// delegations in the grace period of its lock manager, 50 s, which work cuts short.
func (s *Server) work(ctx context.Context, name string) (remove func() error, err error) {
	dir := s.path(name)
	_, err = s.Shell(ctx, "echo Y >/proc/fs/lockd/nlm_end_grace; rm -rf "+dir+" && mkdir -m 777 "+dir)
	return func() error {
		_, err := s.Shell(context.WithoutCancel(ctx), "rm -rf "+dir)
		return err
	}, err
}

// user is root, whom the export does not squash.
func user() *oncrpc.AuthSysParms { return &oncrpc.AuthSysParms{MachineName: []byte("use4")} }

// random returns n bytes that look random.
func random(seed, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, seed))).Read(b) // never fails
	return b
}

// group runs functions at the same time, and keeps their errors.
type group struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// Go starts a function.
func (g *group) Go(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.mu.Lock()
			g.errs = append(g.errs, err)
			g.mu.Unlock()
		}
	})
}

// Wait waits for all functions.
func (g *group) Wait() error {
	g.wg.Wait()
	return errors.Join(g.errs...)
}

// handle returns the handle of a file.
func (s *Server) handle(ctx context.Context, do nfs4.Doer, elem ...string) (nfs42.Handle, error) {
	var c nfs4.Compound
	c.PutRootFH()
	for _, e := range elements(s.name(elem...)) {
		c.Lookup(e)
	}
	fh := c.GetFH()
	if err := do.Do(ctx, &c); err != nil {
		return nil, fmt.Errorf("LOOKUP %s: %w", s.name(elem...), err)
	}
	return fh.OK.Object, nil
}

// digest returns the SHA-256 of data in hexadecimal.
func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
