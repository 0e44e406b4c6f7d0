package reconnect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

// Conn is a connection of a Client.
type Conn interface {
	comparable
	Err() error            // nil while the connection is up
	Done() <-chan struct{} // closed when it is down
	Close() error          // closes it and waits for its handlers
}

// Config configures New. All fields are required unless they say otherwise.
type Config[C Conn] struct {
	machine.Rules[C]

	// Carrier is the name of the package, for the log.
	Carrier string

	// Log receives failures to connect.
	Log *slog.Logger

	// Dial makes a connection.
	Dial func(ctx context.Context) (C, error)

	// Connected is called on each connection before it is used. After an error, the connection is
	// closed and the attempt has failed. If nil, nothing is called.
	Connected func(ctx context.Context, conn C) error

	// DialTimeout is the longest time for Dial and Connected. If zero, there is no limit.
	DialTimeout time.Duration

	// Ended is called when a connection is down or was dropped, before it is closed. It reports
	// whether the server refused the connection after it was made.
	Ended func(conn C) (refused bool)

	// Turned reports whether the carrier has learnt since the last call that connections begin with
	// another version. If nil, it never has.
	Turned func() bool

	// Delayed is called, without locks, when a Call waits although a connection is up. If nil,
	// nothing is called.
	Delayed func()
}

// Pool has the connections of a Client. All methods are safe for concurrent use.
type Pool[C Conn] struct {
	cfg    Config[C]
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // the goroutine of each attempt

	mu      sync.Mutex
	machine *machine.Machine[C]
	dropped map[C]chan struct{} // has each connection; closed by Effects.Drop
	timer   *time.Timer         // calls tick
	wake    time.Time           // when it does or did, see machine.Effects; zero: never
	errs    error               // of connections' Close
}

// New returns a Pool without connections. It makes the first one for the first Acquire.
func New[C Conn](cfg Config[C]) *Pool[C] {
	if cfg.Random == nil {
		cfg.Random = func(n time.Duration) time.Duration { return rand.N(n + 1) }
	}
	p := &Pool[C]{cfg: cfg, machine: machine.New(cfg.Rules), dropped: make(map[C]chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Acquire returns a connection that is up, for a Call. It waits for one, or returns why it cannot
// have one. again says that the Call was on a connection that was lost.
func (p *Pool[C]) Acquire(ctx context.Context, again bool) (C, error) {
	p.mu.Lock()
	if conn, ok := p.take(); ok {
		return conn, nil
	}
	call := &machine.Call[C]{Again: again, Over: make(chan struct{})}
	p.finish(&machine.Event[C]{Kind: machine.Ask, Call: call, Err: ctx.Err()})
	select {
	case <-call.Over:
	case <-ctx.Done():
		p.step(&machine.Event[C]{Kind: machine.Cancel, Call: call, Err: ctx.Err()})
		<-call.Over // closed by now
	}
	return call.Conn, call.Err
}

// TryAcquire is Acquire without a wait. Without a connection ok is false, and after Close there
// is an error.
func (p *Pool[C]) TryAcquire() (conn C, ok bool, err error) {
	p.mu.Lock()
	if conn, ok = p.take(); !ok {
		err = p.machine.Closed()
		p.mu.Unlock()
	}
	return conn, ok, err
}

// take returns a connection that is up and has room. p.mu must be held; if there is one, take
// unlocks it.
func (p *Pool[C]) take() (conn C, ok bool) {
	conn, crowded, ok := p.machine.Take()
	switch {
	case ok && crowded:
		p.finish(&machine.Event[C]{Kind: machine.Crowded})
	case ok:
		p.mu.Unlock()
	}
	return conn, ok
}

// Release takes back a connection that a Call used.
func (p *Pool[C]) Release(conn C) {
	p.step(&machine.Event[C]{Kind: machine.Release, Conn: conn})
}

// Room is called when a connection may have room for further Calls.
func (p *Pool[C]) Room() {
	p.mu.Lock()
	if p.machine.Waiting() == 0 {
		p.mu.Unlock()
		return
	}
	p.finish(&machine.Event[C]{Kind: machine.Room})
}

// Load returns the number of Calls that use a connection, and of those that wait, for tests.
func (p *Pool[C]) Load() (calls, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Calls(), p.machine.Waiting()
}

// Discard takes the connections that match from the Calls, and returns them. The caller must end
// them.
func (p *Pool[C]) Discard(matches func(C) bool) (list []C) {
	p.mu.Lock()
	for _, conn := range p.machine.Conns() {
		if matches(conn) {
			list = append(list, conn)
		}
	}
	p.mu.Unlock()
	for _, conn := range list {
		p.step(&machine.Event[C]{Kind: machine.Discard, Conn: conn})
	}
	return list
}

// Stats returns the counts.
func (p *Pool[C]) Stats() machine.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Stats()
}

// Close closes all connections, fails the Calls that wait, and returns the errors of the
// connections. Further calls return the same.
func (p *Pool[C]) Close() error {
	p.cancel()
	p.step(&machine.Event[C]{Kind: machine.Close})
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs
}

// step passes an event to the machine and does what it says.
func (p *Pool[C]) step(ev *machine.Event[C]) {
	p.mu.Lock()
	p.finish(ev)
}

// finish is step for a caller that holds p.mu. It unlocks p.mu.
func (p *Pool[C]) finish(ev *machine.Event[C]) {
	fx := p.machine.Step(time.Now(), ev)
	if fx.Dial {
		p.wg.Go(p.dial)
	}
	for _, conn := range fx.Drop {
		close(p.dropped[conn])
	}
	for _, call := range fx.Over {
		close(call.Over)
	}
	if !fx.Wake.Equal(p.wake) {
		p.setTimer(fx.Wake)
	}
	p.mu.Unlock()
	if fx.Delayed && p.cfg.Delayed != nil {
		p.cfg.Delayed()
	}
	if f := fx.Failure; f != nil {
		p.cfg.Log.Warn(p.cfg.Carrier+": an attempt to connect failed", "failures", f.InRow, "reason", f.Err, "pause", f.Pause)
	}
}

// setTimer makes tick run at a time. p.mu must be held.
func (p *Pool[C]) setTimer(at time.Time) {
	switch p.wake = at; {
	case p.timer == nil:
		p.timer = time.AfterFunc(time.Until(at), p.tick)
	case at.IsZero():
		p.timer.Stop()
	default:
		p.timer.Reset(time.Until(at))
	}
}

// tick is called by the timer.
func (p *Pool[C]) tick() { p.step(&machine.Event[C]{Kind: machine.Tick}) }

// dial makes a connection, and closes it when it is down.
func (p *Pool[C]) dial() {
	conn, err := p.connect()
	if err != nil {
		p.step(&machine.Event[C]{Kind: machine.Failed, Err: err, Turned: p.turned()})
		return
	}
	dropped := make(chan struct{})
	p.mu.Lock()
	p.dropped[conn] = dropped
	p.finish(&machine.Event[C]{Kind: machine.Dialled, Conn: conn})
	select {
	case <-conn.Done():
	case <-dropped:
	}
	ev := &machine.Event[C]{Kind: machine.Ended, Conn: conn, Err: conn.Err(), Refused: p.cfg.Ended(conn)}
	ev.Useful, ev.Turned = p.cfg.Vitals(conn).Replied, p.turned()
	p.mu.Lock()
	delete(p.dropped, conn)
	p.finish(ev)
	if err := conn.Close(); err != nil { // it waits for handlers, maybe long
		p.mu.Lock()
		p.errs = errors.Join(p.errs, err)
		p.mu.Unlock()
	}
}

// connect makes a connection that Calls can use.
func (p *Pool[C]) connect() (conn C, err error) {
	ctx, stop := p.ctx, context.CancelFunc(func() {})
	if p.cfg.DialTimeout > 0 {
		ctx, stop = context.WithTimeout(ctx, p.cfg.DialTimeout)
	}
	defer stop()
	conn, err = p.cfg.Dial(ctx)
	if err == nil && p.cfg.Connected != nil {
		if err = p.cfg.Connected(ctx, conn); err != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not connected within ClientConfig.DialTimeout (%v): %w", p.cfg.DialTimeout, err)
	}
	return conn, err
}

// turned reports whether the next attempt uses another version.
func (p *Pool[C]) turned() bool { return p.cfg.Turned != nil && p.cfg.Turned() }
