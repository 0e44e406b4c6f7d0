package carriers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Grace is the time that handlers have to answer when Serve stops.
const Grace = 10 * time.Second

// ServerError is the error of one of several servers. It unwraps to the reason.
type ServerError struct {
	Carrier string // the name of the carrier
	Addr    string // the address of the server
	Err     error  // the reason
}

// Error returns the carrier, the address and the reason.
func (e *ServerError) Error() string {
	return fmt.Sprintf("carriers: %s at %s: %v", e.Carrier, e.Addr, e.Err)
}

// Unwrap returns the reason.
func (e *ServerError) Unwrap() error { return e.Err }

// Served describes one of several servers.
type Served struct {
	Carrier string // the name of the carrier
	Addr    string // the address that clients connect to
}

// Servers are servers of several carriers with one handler. Start makes them. All methods are safe
// for concurrent use.
//
//	serving ──┬── Shutdown, or a server fails ──> draining ──┬──> closed
//	          └── Close ─────────────────────────────────────┘
//
// While they drain, no server takes connections or Calls, and handlers answer those that they have.
type Servers struct {
	list    []started
	skipped []*ServerError
	ctx     context.Context // ends when draining begins
	stop    context.CancelCauseFunc
	wait    context.Context // of the drains; ends with Close
	hurry   context.CancelFunc
	wg      sync.WaitGroup // a goroutine for each server, until it is closed
	down    chan struct{}  // closed when all servers are closed

	mu   sync.Mutex
	errs []error // of the servers' Close
}

// started is a server that runs.
type started struct {
	Served
	server Server
	down   chan struct{} // closed when the server is closed
}

// Start starts a server for each Listener, in their order and all with the same handler: a
// replycache.Cache before it then knows a Call that comes again over another carrier. Each server
// has the limits in its Config. ctx bounds the call of Start, not the servers. If a server does
// not start, those before it are closed, and the error is a *ServerError. The caller must Close the
// Servers.
func Start(ctx context.Context, h oncrpc.Handler, listeners ...Listener) (*Servers, error) {
	s := &Servers{down: make(chan struct{})}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.wait, s.hurry = context.WithCancel(context.Background())
	err := errors.New("carriers: Start has no Listener")
	if h == nil {
		err = errors.New("carriers: Start has no Handler")
	} else if len(listeners) > 0 {
		err = nil
	}
	for _, l := range listeners {
		switch {
		case err != nil && l.Discard != nil:
			err = errors.Join(err, l.Discard())
		case err == nil:
			err = s.start(ctx, h, l)
		}
	}
	if err == nil && len(s.list) == 0 {
		for _, e := range s.skipped {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		for _, one := range s.list {
			err = errors.Join(err, one.server.Close())
		}
		return nil, err
	}
	for _, one := range s.list {
		s.wg.Go(func() { s.attend(one) })
	}
	go func() {
		s.wg.Wait()
		close(s.down)
	}()
	return s, nil
}

// start starts one server.
func (s *Servers) start(ctx context.Context, h oncrpc.Handler, l Listener) error {
	if l.Start == nil {
		return &ServerError{l.Carrier, l.Addr, errors.New("the Listener has no Start")}
	}
	server, err := l.Start(ctx, h)
	if err != nil && l.Optional && errors.Is(err, ErrNoDevice) {
		s.skipped = append(s.skipped, &ServerError{l.Carrier, l.Addr, err})
		return nil
	}
	if err != nil {
		return &ServerError{l.Carrier, l.Addr, err}
	}
	s.list = append(s.list, started{Served{l.Carrier, server.Addr()}, server, make(chan struct{})})
	return nil
}

// attend stops all servers when one takes no more connections, and drains and closes that one when
// they stop.
func (s *Servers) attend(one started) {
	defer close(one.down)
	select {
	case <-one.server.Done():
		s.stop(&ServerError{one.Carrier, one.Addr, one.server.Err()}) // no effect after Shutdown
	case <-s.ctx.Done():
	}
	_ = one.server.Shutdown(s.wait) // Close returns its errors
	if err := one.server.Close(); err != nil {
		s.mu.Lock()
		s.errs = append(s.errs, &ServerError{one.Carrier, one.Addr, err})
		s.mu.Unlock()
	}
}

// List returns the servers, in the order of their Listeners.
func (s *Servers) List() []Served {
	list := make([]Served, len(s.list))
	for i, one := range s.list {
		list[i] = one.Served
	}
	return list
}

// Skipped returns the reasons why Listeners with Optional are left out, in their order.
func (s *Servers) Skipped() []*ServerError { return slices.Clone(s.skipped) }

// String returns carriers and addresses, as in "tcp 127.0.0.1:2049, rdma 127.0.0.1:20049".
func (s *Servers) String() string {
	var text []string
	for _, one := range s.list {
		text = append(text, one.Carrier+" "+one.Addr)
	}
	return strings.Join(text, ", ")
}

// Done returns a channel that is closed when draining begins. Err then returns the reason.
func (s *Servers) Done() <-chan struct{} { return s.ctx.Done() }

// Err returns the reason why the servers drain: oncrpc.ErrClosed after Shutdown or Close, or a
// *ServerError if one of them has failed, for example because its device was removed. It returns
// nil before Done is closed.
func (s *Servers) Err() error { return context.Cause(s.ctx) }

// Shutdown drains all servers at the same time, as tcp.Server.Shutdown does: it stops listening,
// waits until handlers have answered the Calls that they have, and closes. If ctx ends first, the
// error names the servers that are left and wraps the cause of ctx, and Close must be called.
// Shutdown must not be called from a handler or a done function, because it waits for them.
func (s *Servers) Shutdown(ctx context.Context) error {
	s.stop(oncrpc.ErrClosed)
	select {
	case <-s.down:
		return s.closeErrors()
	case <-ctx.Done():
	}
	var left []string
	for _, one := range s.list {
		select {
		case <-one.down:
		default:
			left = append(left, one.Carrier+" "+one.Addr)
		}
	}
	if left == nil {
		<-s.down
		return s.closeErrors()
	}
	return fmt.Errorf("carriers: shutdown: handlers have not answered their Calls over %s; Close ends Request.Context and waits for the handlers: %w", strings.Join(left, ", "), context.Cause(ctx))
}

// Close closes all servers at once: the contexts of handlers are done, and Close waits for the
// handlers. It returns the errors of the servers' Close, each a *ServerError. Further calls return
// the same.
func (s *Servers) Close() error {
	s.stop(oncrpc.ErrClosed)
	s.hurry()
	<-s.down
	return s.closeErrors()
}

// closeErrors returns the errors of the servers' Close.
func (s *Servers) closeErrors() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// Serve starts a server for each Listener as Start does, and serves until ctx is done or a server
// fails. Then all of them drain, for Grace at most, and are closed. It returns nil if ctx was done
// and all handlers have answered in that time. If a server has failed, the error has its
// *ServerError. Where the addresses, or another time for draining, matter, use Start.
func Serve(ctx context.Context, h oncrpc.Handler, listeners ...Listener) error {
	s, err := Start(ctx, h, listeners...)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-s.Done():
		err = s.Err()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
	defer cancel()
	late := s.Shutdown(ending)
	if ending.Err() != nil {
		late = errors.Join(late, s.Close())
	}
	return errors.Join(err, late)
}
