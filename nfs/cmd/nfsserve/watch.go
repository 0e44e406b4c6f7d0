package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
)

// watchPause is the time between two looks at the registrations.
const watchPause = 500 * time.Millisecond

// registry is the table of a port mapper. *rpcbind.Client implements it.
type registry interface {
	Dump(ctx context.Context) (rpcbind.Mappings, error)
	Set(ctx context.Context, prog, vers uint32, netID string, at netip.AddrPort, owner string) error
	Unset(ctx context.Context, prog, vers uint32, netID, owner string) error
}

// ownRegistry is the table of a port mapper of this process.
type ownRegistry struct{ server *rpcbind.Server }

// Dump implements registry.
func (o ownRegistry) Dump(ctx context.Context) (rpcbind.Mappings, error) {
	conn := mem.New(rpc.NewHandler(nil, o.server.Services()...), nil)
	defer conn.Close()
	return rpcbind.NewClient(conn, nil).Dump(ctx)
}

// Set implements registry.
func (o ownRegistry) Set(_ context.Context, prog, vers uint32, netID string, at netip.AddrPort, _ string) error {
	return o.server.Set(prog, vers, netID, at, rpcbind.Superuser)
}

// Unset implements registry.
func (o ownRegistry) Unset(_ context.Context, prog, vers uint32, netID, _ string) error {
	return o.server.Unset(prog, vers, netID, rpcbind.Superuser)
}

// watcher registers the lock manager again where another one has replaced it. The kernel's does so
// when this host mounts NFS with locks, and removes the registration when the last such mount is
// gone. Without the watcher all clients would then lock their files at the kernel, which does not
// have them, and wait without end.
type watcher struct {
	all    []service // of the lock manager
	former map[service]netip.AddrPort
	open   func(ctx context.Context) (reg registry, leave func(), err error)
	warn   io.Writer
	said   bool

	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// watch watches the registrations of the lock manager among all, until end.
func watch(all []service, warn io.Writer, open func(ctx context.Context) (registry, func(), error)) *watcher {
	w := &watcher{former: map[service]netip.AddrPort{}, open: open, warn: warn}
	for _, s := range all {
		if s.prog == nlm4.Program {
			w.all = append(w.all, s)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.tasks.Go(func() {
		for ctx.Err() == nil && len(w.all) > 0 {
			_ = w.with(ctx, w.look) // a port mapper that does not answer is asked again
			select {
			case <-time.After(watchPause):
			case <-ctx.Done():
			}
		}
	})
	return w
}

// end ends watch and calls unset, which removes the registrations of this server. Then it registers
// again what the watcher has replaced.
func (w *watcher) end(ctx context.Context, unset func(ctx context.Context, reg registry) error) error {
	w.halt()
	return w.with(ctx, func(ctx context.Context, reg registry) error {
		return errors.Join(unset(ctx, reg), w.restore(ctx, reg))
	})
}

// halt ends watch.
func (w *watcher) halt() {
	w.stop()
	w.tasks.Wait()
}

// with calls f with the registrations.
func (w *watcher) with(ctx context.Context, f func(ctx context.Context, reg registry) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reg, leave, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return f(ctx, reg)
}

// look registers the services again that are not registered, or for another port.
func (w *watcher) look(ctx context.Context, reg registry) error {
	table, err := reg.Dump(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range w.all {
		old, registered := s.find(table)
		if registered && old.Port() == s.at.Port() {
			continue
		}
		if registered {
			w.former[s] = old
			w.tell(old)
			errs = append(errs, reg.Unset(ctx, s.prog, s.vers, s.netID, ""))
		} else {
			delete(w.former, s)
		}
		errs = append(errs, reg.Set(ctx, s.prog, s.vers, s.netID, s.at, ""))
	}
	return errors.Join(errs...)
}

// tell logs once that another lock manager took the registration.
func (w *watcher) tell(at netip.AddrPort) {
	if w.said {
		return
	}
	w.said = true
	fmt.Fprintf(w.warn, "nfsserve: another lock manager (port %d) took the place of this one at the port mapper, as the kernel does when this host mounts NFS; it is replaced again. "+
		"Mount on this host with -o nolock, or start rpc.statd before nfsserve\n", at.Port())
}

// restore registers the other lock managers again.
func (w *watcher) restore(ctx context.Context, reg registry) error {
	var errs []error
	for s, at := range w.former {
		errs = append(errs, reg.Set(ctx, s.prog, s.vers, s.netID, at, ""))
	}
	return errors.Join(errs...)
}
