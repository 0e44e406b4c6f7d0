package nlm

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/locks"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Config configures New.
type Config struct {
	// Check says whether the caller may lock a file: NLM4_GRANTED, or what the call is answered.
	Check func(r *rpc.Request, file []byte, exclusive bool) nlm4.Status

	// State is the directory for the client file. If empty, the server keeps no file, and clients
	// cannot reclaim their locks after a restart.
	State string

	// Grace is the time after a restart for which only locks that clients had before are granted.
	// If zero, the default is 45 s.
	Grace time.Duration

	// Limits are the limits of the table.
	Limits locks.Limits

	// Reach connects to a program of a client. If nil, the default is Dial.
	Reach func(ctx context.Context, at Address, program, version uint32) (Carrier, error)

	// Patience is the time for which the server tries to call a client that was granted a lock. If
	// zero, the default is 60 s. Retry is the time between: 5 s.
	Patience, Retry time.Duration

	// Logger receives warnings. If nil, the default is slog.Default.
	Logger *slog.Logger
}

// Server is a lock manager. It implements nlm4rpc.Server. All methods are safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	table   *locks.Table
	monitor *monitor
	calls   calls
	grace   atomic.Bool

	ctx   context.Context // until Close
	stop  context.CancelFunc
	tasks sync.WaitGroup
	begin sync.Once
}

var _ nlm4rpc.Server = (*Server)(nil)

// New returns a Server. The caller must Close it.
func New(cfg Config) (*Server, error) {
	set := func(d *time.Duration, standard time.Duration) {
		if *d == 0 {
			*d = standard
		}
	}
	set(&cfg.Grace, 45*time.Second)
	set(&cfg.Patience, time.Minute)
	set(&cfg.Retry, 5*time.Second)
	if cfg.Reach == nil {
		cfg.Reach = Dial
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{cfg: cfg, log: slog.New(&seldom{Handler: cfg.Logger.Handler()}), table: locks.New(cfg.Limits)}
	var err error
	if s.monitor, err = openMonitor(cfg.State); err != nil {
		return nil, err
	}
	s.grace.Store(len(s.monitor.former) > 0)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.calls = calls{server: s, callees: map[Address]*callee{}, turns: make(chan struct{}, maxCalls), results: make(chan struct{}, maxResults)}
	return s, nil
}

// Close cancels the calls to clients, and writes which clients have locks.
func (s *Server) Close() error {
	s.stop()
	s.tasks.Wait()
	if s.grace.Load() { // those that have not reclaimed their locks yet stay
		return s.monitor.close(nil)
	}
	return s.monitor.close(s.table.Clients)
}

// Services returns the services of the lock manager and of SM_NOTIFY, for a rpc.Handler. The first
// time starts the grace period, and calls the clients that had locks before the restart.
func (s *Server) Services() []*rpc.Service {
	s.begin.Do(s.restart)
	return []*rpc.Service{nlm4rpc.NewService(s), s.notifications()}
}

// client returns the client of a call, with the name that it gives itself.
func client(r *rpc.Request, name []byte) locks.Client {
	host, _ := oncrpc.HostOf(r.Peer().Addr)
	return locks.Client{Host: host, Name: string(name)}
}

// request returns the lock of a call. It fails if the range has a byte beyond the last one of the
// largest file. A length of zero is up to that byte.
func request(r *rpc.Request, l *nlm4.Lock, exclusive bool) (*locks.Request, nlm4.Status) {
	last := uint64(locks.End)
	if l.Len > 0 {
		if l.Len-1 > math.MaxUint64-l.Offset {
			return nil, nlm4.StatusFbig
		}
		last = l.Offset + l.Len - 1
	}
	_, source := oncrpc.HostOf(r.Peer().Addr)
	return &locks.Request{
		Client: client(r, l.CallerName), Source: source, File: string(l.FH), SVID: l.SVID, Owner: string(l.Owner),
		Range: locks.Range{First: l.Offset, Last: last}, Exclusive: exclusive,
	}, nlm4.StatusGranted
}

// granted has the arguments of GRANTED for a LOCK that waits.
type granted struct {
	at   Address
	args nlm4.TestArgs
}

func clone(l *nlm4.Lock) nlm4.Lock {
	c := *l
	c.CallerName, c.FH, c.Owner = bytes.Clone(l.CallerName), bytes.Clone(l.FH), bytes.Clone(l.Owner)
	return c
}

// test answers TEST.
func (s *Server) test(r *rpc.Request, args *nlm4.TestArgs) nlm4.TestReply {
	if s.grace.Load() {
		return nlm4.TestReply{Stat: nlm4.StatusDeniedGracePeriod}
	}
	q, status := request(r, &args.Lock, args.Exclusive)
	if status == nlm4.StatusGranted {
		status = s.cfg.Check(r, args.Lock.FH, args.Exclusive)
	}
	if status != nlm4.StatusGranted {
		return nlm4.TestReply{Stat: status}
	}
	held, conflict := s.table.Test(q)
	if !conflict {
		return nlm4.TestReply{Stat: nlm4.StatusGranted}
	}
	h := nlm4.Holder{Exclusive: held.Exclusive, SVID: held.SVID, Offset: held.First}
	if held.Last < locks.End {
		h.Len = held.Last - held.First + 1
	}
	// The name of the holder's process is the secret of its client, and is left out, as by Linux.
	return nlm4.TestReply{Stat: nlm4.StatusDenied, Holder: h}
}

// lock serves LOCK, and NM_LOCK if monitored is false. After a restart of the server a client
// reclaims only monitored locks.
func (s *Server) lock(r *rpc.Request, args *nlm4.LockArgs, monitored bool) nlm4.Status {
	q, status := request(r, &args.Lock, args.Exclusive)
	if status == nlm4.StatusGranted && s.grace.Load() != args.Reclaim {
		status = nlm4.StatusDeniedGracePeriod
	}
	if status == nlm4.StatusGranted {
		status = s.cfg.Check(r, args.Lock.FH, args.Exclusive)
	}
	if status == nlm4.StatusGranted && args.Reclaim && !s.monitor.has(q.Client) {
		status = nlm4.StatusDenied // it had no locks before the restart
	}
	if status != nlm4.StatusGranted {
		return status
	}
	q.State = args.State
	if monitored && !s.monitor.has(q.Client) {
		// Nothing is written for a call that is refused.
		if may, err := s.table.May(q, args.Block && !args.Reclaim); err != nil {
			return s.noRoom(err)
		} else if !may {
			return nlm4.StatusDenied
		}
		if err := s.monitor.add(q.Client, s.table.Clients); err != nil {
			s.log.Error("nlm: a lock is refused, because its client cannot be noted for a restart", "error", err)
			return nlm4.StatusDeniedNoLocks
		}
	}
	var tag any
	if args.Block && !args.Reclaim {
		tag = &granted{address(r), nlm4.TestArgs{Cookie: bytes.Clone(args.Cookie), Exclusive: args.Exclusive, Lock: clone(&args.Lock)}}
	}
	res, woken, err := s.table.Lock(q, tag)
	s.calls.grant(woken)
	switch {
	case err != nil:
		return s.noRoom(err)
	case res == locks.Denied:
		return nlm4.StatusDenied
	}
	if monitored { // again, because it had no locks, and may have been forgotten
		if err := s.monitor.add(q.Client, s.table.Clients); err != nil {
			s.log.Error("nlm: a client has a lock, and cannot be noted for a restart", "error", err)
		}
	}
	if res == locks.Waiting {
		return nlm4.StatusBlocked
	}
	return nlm4.StatusGranted
}

// noRoom logs the limit that a call exceeds, and returns the status for it.
func (s *Server) noRoom(err error) nlm4.Status {
	var limit *locks.LimitError
	if errors.As(err, &limit) {
		s.log.Warn("nlm: a call is refused", "error", err, "limit", limit.Limit, "source", limit.Source)
	}
	return nlm4.StatusDeniedNoLocks
}

// cancel answers CANCEL. It succeeds without such a request, as in Linux's server: the client that
// repeats a CANCEL would repeat it without end.
func (s *Server) cancel(r *rpc.Request, args *nlm4.CancelArgs) nlm4.Status {
	q, status := request(r, &args.Lock, args.Exclusive)
	if status == nlm4.StatusGranted {
		s.calls.grant(s.table.Cancel(q))
	}
	return status
}

// unlock answers UNLOCK. It succeeds for a range without locks, and for a file that is gone.
func (s *Server) unlock(r *rpc.Request, args *nlm4.UnlockArgs) nlm4.Status {
	q, status := request(r, &args.Lock, false)
	if status != nlm4.StatusGranted {
		return status
	}
	woken, err := s.table.Unlock(q)
	s.calls.grant(woken)
	if err != nil {
		return s.noRoom(err)
	}
	return status
}
