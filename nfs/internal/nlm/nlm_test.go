package nlm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/internal/locks"
	"github.com/rpcrdma/rpcrdma/nfs/internal/nlm"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errGone is the error for a client that is gone.
var errGone = errors.New("no route to host")

// host is a client's host, with what the server calls there.
type host struct {
	granted  chan nlm4.TestArgs
	status   chan nlm4.Status // what GRANTED is answered
	results  chan nlm4.Res
	notified chan nlm4.Notify
	from     chan nlm.Address
	gone     chan struct{} // gets one for each try to reach a host that is gone
}

// lab is a lock manager over TCP, and hosts by address.
type lab struct {
	t     *testing.T
	cfg   nlm.Config
	addr  string
	mu    sync.Mutex
	hosts map[string]*host
	close func()
}

const badFile = "bad file"

func newLab(t *testing.T, cfg nlm.Config) *lab {
	l := &lab{t: t, cfg: cfg, hosts: map[string]*host{}}
	l.cfg.Check = func(_ *rpc.Request, file []byte, _ bool) nlm4.Status {
		if string(file) == badFile {
			return nlm4.StatusStaleFH
		}
		return nlm4.StatusGranted
	}
	l.cfg.Reach = l.reach
	if cfg.Retry == 0 {
		l.cfg.Retry = time.Millisecond
	}
	if cfg.Logger == nil {
		l.cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	l.start()
	t.Cleanup(func() { l.close() })
	return l
}

// start starts the server, which listens at another port each time.
func (l *lab) start() {
	l.t.Helper()
	s, err := nlm.New(l.cfg)
	check(l.t, err)
	server, err := tcp.Listen(context.Background(), "127.0.0.1:0", rpc.NewHandler(nil, s.Services()...), nil)
	check(l.t, err)
	l.addr = server.Addr()
	l.close = func() { check(l.t, errors.Join(server.Close(), s.Close())) }
}

// host returns the host with an address.
func (l *lab) host(addr string) *host {
	h := &host{make(chan nlm4.TestArgs, 100), make(chan nlm4.Status, 100), make(chan nlm4.Res, 100), make(chan nlm4.Notify, 100), make(chan nlm.Address, 100), nil}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts[addr] = h
	return h
}

// leave makes a host be gone, and returns what gets one for each try.
func (l *lab) leave(addr string) chan struct{} {
	gone := make(chan struct{}, 1000)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts[addr] = &host{gone: gone}
	return gone
}

func (l *lab) reach(_ context.Context, at nlm.Address, program, _ uint32) (nlm.Carrier, error) {
	l.mu.Lock()
	h := l.hosts[at.Host]
	l.mu.Unlock()
	switch {
	case h == nil:
		return nil, errGone
	case h.gone != nil:
		h.gone <- struct{}{}
		return nil, errGone
	}
	manager, monitor := rpc.NewService(nlm4rpc.Program()), rpc.NewService(nlm.Monitor())
	rpc.Handle(manager, nlm4.ProcGranted, func(_ *rpc.Request, args *nlm4.TestArgs, res *nlm4.Res) error {
		c := *args
		c.Cookie, c.Lock.Owner = append(nlm4.Object{}, args.Cookie...), append(nlm4.Object{}, args.Lock.Owner...)
		c.Lock.FH, c.Lock.CallerName = append(nlm4.Object{}, args.Lock.FH...), append([]byte{}, args.Lock.CallerName...)
		h.granted <- c
		res.Stat.Stat = <-h.status
		return nil
	})
	rpc.Handle(manager, nlm4.ProcLockRes, func(_ *rpc.Request, args *nlm4.Res, _ *oncrpc.Void) error {
		h.results <- nlm4.Res{Cookie: append(nlm4.Object{}, args.Cookie...), Stat: args.Stat}
		return nil
	})
	rpc.Handle(monitor, 6, func(_ *rpc.Request, args *nlm4.Notify, _ *oncrpc.Void) error {
		h.notified <- nlm4.Notify{Name: append([]byte{}, args.Name...), State: args.State}
		return nil
	})
	h.from <- at
	if program != nlm4.Program {
		manager = nil
		return mem.New(rpc.NewHandler(nil, monitor), nil), nil
	}
	return mem.New(rpc.NewHandler(nil, manager), nil), nil
}

// caller calls the server from an address.
type caller struct {
	*nlm4rpc.Client
	conn *tcp.Conn
	t    *testing.T
	name string
}

func (l *lab) client(addr, name string) *caller {
	l.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
	nc, err := d.DialContext(l.t.Context(), "tcp", l.addr)
	check(l.t, err)
	conn := tcp.NewConn(nc, nil)
	l.t.Cleanup(func() { _ = conn.Close() })
	return &caller{nlm4rpc.NewClient(conn, nil), conn, l.t, name}
}

// of returns a process's lock for the bytes from an offset.
func (c *caller) of(process int32, offset, length uint64) nlm4.Lock {
	return nlm4.Lock{CallerName: []byte(c.name), FH: nlm4.Object("file"), Owner: nlm4.Object("1@host"), SVID: process, Offset: offset, Len: length}
}

// tries calls LOCK for an exclusive lock, and checks the status.
func (c *caller) tries(l nlm4.Lock, block bool, want nlm4.Status) {
	c.t.Helper()
	c.locks(nlm4.LockArgs{Cookie: nlm4.Object("cookie"), Lock: l, Exclusive: true, Block: block}, want)
}

func (c *caller) locks(args nlm4.LockArgs, want nlm4.Status) {
	c.t.Helper()
	res, err := c.Lock(c.t.Context(), &args)
	check(c.t, err)
	if res.Stat.Stat != want || string(res.Cookie) != string(args.Cookie) {
		c.t.Fatalf("LOCK: %v with the cookie %q, expected %v with %q", res.Stat.Stat, res.Cookie, want, args.Cookie)
	}
}

func (c *caller) unlocks(l nlm4.Lock, want nlm4.Status) {
	c.t.Helper()
	res, err := c.Unlock(c.t.Context(), &nlm4.UnlockArgs{Lock: l})
	check(c.t, err)
	if res.Stat.Stat != want {
		c.t.Fatalf("UNLOCK: %v, expected %v", res.Stat.Stat, want)
	}
}

// finds calls TEST, and checks the status.
func (c *caller) finds(l nlm4.Lock, want nlm4.Status) nlm4.Holder {
	c.t.Helper()
	res, err := c.Test(c.t.Context(), &nlm4.TestArgs{Cookie: nlm4.Object("cookie"), Lock: l, Exclusive: true})
	check(c.t, err)
	if res.Stat.Stat != want || string(res.Cookie) != "cookie" {
		c.t.Fatalf("TEST: %v with the cookie %q, expected %v", res.Stat.Stat, res.Cookie, want)
	}
	return res.Stat.Holder
}

// await waits until TEST has a status.
func (c *caller) await(l nlm4.Lock, want nlm4.Status) {
	c.t.Helper()
	for {
		res, err := c.Test(c.t.Context(), &nlm4.TestArgs{Lock: l, Exclusive: true})
		check(c.t, err)
		if res.Stat.Stat == want {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

const granted, denied, blocked = nlm4.StatusGranted, nlm4.StatusDenied, nlm4.StatusBlocked

// A request that waits is granted when the lock is free: the server calls GRANTED at the client's
// host, from the address that the client called, with the arguments of the request. One that the
// client does not want is given to the next.
func TestWaitingRequestsAreGrantedByCalls(t *testing.T) {
	l := newLab(t, nlm.Config{})
	two, three := l.host("127.0.0.2"), l.host("127.0.0.3")
	a, b, c := l.client("127.0.0.1", "a"), l.client("127.0.0.2", "b"), l.client("127.0.0.3", "c")
	a.tries(a.of(1, 0, 0), true, granted)
	b.tries(b.of(2, 5, 10), true, blocked)
	b.tries(b.of(2, 5, 10), true, blocked)
	c.tries(c.of(3, 5, 10), true, blocked)
	for range 20 { // the memory of the arguments is used again
		other := b.of(9, 7, 1)
		other.Owner, other.FH, other.CallerName = nlm4.Object("9@HOST"), nlm4.Object("elif"), []byte("B")
		b.finds(other, granted)
	}
	if h := b.finds(b.of(2, 7, 1), denied); h.SVID != 1 || !h.Exclusive || h.Offset != 0 || h.Len != 0 || len(h.Owner) > 0 {
		t.Errorf("the holder is %+v", h)
	}
	a.unlocks(a.of(1, 0, 0), granted)
	got := <-two.granted
	if want := b.of(2, 5, 10); got.Lock.SVID != 2 || got.Lock.Offset != 5 || got.Lock.Len != 10 || !got.Exclusive ||
		string(got.Lock.CallerName) != "b" || string(got.Lock.Owner) != string(want.Owner) || string(got.Lock.FH) != "file" || string(got.Cookie) != "cookie" {
		t.Errorf("GRANTED of %+v", got)
	}
	if at := <-two.from; at.Host != "127.0.0.2" || at.From != "127.0.0.1" {
		t.Errorf("called at %+v", at)
	}
	a.finds(a.of(1, 5, 1), denied)             // b has it from then on
	two.status <- nlm4.StatusDeniedGracePeriod // later, then
	<-two.granted
	two.status <- denied
	<-three.granted
	three.status <- granted
	if h := a.finds(a.of(1, 0, 0), denied); h.SVID != 3 || h.Offset != 5 || h.Len != 10 {
		t.Errorf("the holder is %+v", h)
	}
	c.unlocks(c.of(3, 5, 10), granted)
	a.finds(a.of(1, 0, 0), granted)
}

// A client that is gone keeps a lock that it was granted until Patience is over. One that cannot be
// called, and asks again, has the lock.
func TestClientsThatCannotBeCalled(t *testing.T) {
	l := newLab(t, nlm.Config{Patience: 50 * time.Millisecond})
	a, b, c := l.client("127.0.0.1", "a"), l.client("127.0.0.2", "b"), l.client("127.0.0.3", "c")
	gone, three := l.leave("127.0.0.2"), l.host("127.0.0.3")
	a.tries(a.of(1, 0, 1), true, granted)
	b.tries(b.of(2, 0, 1), true, blocked)
	c.tries(c.of(3, 0, 1), true, blocked)
	a.unlocks(a.of(1, 0, 1), granted)
	<-gone
	<-gone // again
	<-three.granted
	three.status <- granted
	a.finds(a.of(1, 0, 1), denied)
	c.unlocks(c.of(3, 0, 1), granted)

	l = newLab(t, nlm.Config{})
	a, b = l.client("127.0.0.1", "a"), l.client("127.0.0.2", "b")
	gone = l.leave("127.0.0.2")
	a.tries(a.of(1, 0, 1), true, granted)
	b.tries(b.of(2, 0, 1), true, blocked)
	a.unlocks(a.of(1, 0, 1), granted)
	<-gone
	b.tries(b.of(2, 0, 1), true, granted)
	a.finds(a.of(1, 0, 1), denied)
}

// CANCEL takes back a request that waits, and succeeds for one that does not.
func TestCancelledRequestsAreNotGranted(t *testing.T) {
	l := newLab(t, nlm.Config{})
	three := l.host("127.0.0.3")
	a, b, c := l.client("127.0.0.1", "a"), l.client("127.0.0.2", "b"), l.client("127.0.0.3", "c")
	a.tries(a.of(1, 0, 1), true, granted)
	b.tries(b.of(2, 0, 1), true, blocked)
	c.tries(c.of(3, 0, 1), true, blocked)
	for range 2 {
		res, err := b.Cancel(t.Context(), &nlm4.CancelArgs{Block: true, Exclusive: true, Lock: b.of(2, 0, 1)})
		check(t, err)
		if res.Stat.Stat != granted {
			t.Errorf("CANCEL: %v", res.Stat.Stat)
		}
	}
	a.unlocks(a.of(1, 0, 1), granted)
	<-three.granted
	three.status <- granted
}

// A call touches no locks that came from another address, whatever name it has.
func TestForgedCallersReleaseNothing(t *testing.T) {
	l := newLab(t, nlm.Config{})
	a, b := l.client("127.0.0.1", "a"), l.client("127.0.0.2", "a")
	a.tries(a.of(1, 0, 0), false, granted)
	b.unlocks(b.of(1, 0, 0), granted) // without effect
	check(t, b.FreeAll(t.Context(), &nlm4.Notify{Name: []byte("a"), State: 3}))
	notify(t, b, "a", 3)
	b.finds(b.of(1, 0, 0), denied)
	b.tries(b.of(1, 5, 1), false, denied)
	check(t, a.FreeAll(t.Context(), &nlm4.Notify{Name: []byte("other")}))
	b.finds(b.of(1, 0, 0), denied)
	check(t, a.FreeAll(t.Context(), &nlm4.Notify{Name: []byte("a")}))
	b.finds(b.of(1, 0, 0), granted)
}

// notify sends SM_NOTIFY.
func notify(t *testing.T, c *caller, name string, state int32) {
	t.Helper()
	args := nlm4.Notify{Name: []byte(name), State: state}
	check(t, rpc.NewClient(c.conn, nlm.Monitor(), nil).Call(t.Context(), 6, &args, nil, nil))
}

// SM_NOTIFY of a client that has started again frees its locks, also if it names its domain, and
// those that wait are called. Locks that it has taken since, with the new state, stay.
func TestStartOfAClientFreesItsLocks(t *testing.T) {
	l := newLab(t, nlm.Config{})
	two := l.host("127.0.0.2")
	a, b := l.client("127.0.0.1", "Host"), l.client("127.0.0.2", "b")
	lock := func(process int32, offset uint64, state int32) {
		a.locks(nlm4.LockArgs{Exclusive: true, Lock: a.of(process, offset, 1), State: state}, granted)
	}
	lock(1, 0, 3)
	lock(2, 1, 5)
	b.tries(b.of(1, 0, 1), true, blocked)
	notify(t, a, "host.example.org", 5)
	<-two.granted
	two.status <- granted
	b.finds(b.of(1, 1, 1), denied)
	notify(t, a, "127.0.0.1", 7) // another name
	b.finds(b.of(1, 1, 1), denied)
	notify(t, a, "host", 7)
	b.finds(b.of(1, 1, 1), granted)
}

// After a restart clients with locks are called, with another number each time, and may reclaim
// their locks, while new ones are refused. After the grace period it is the other way round.
func TestLocksAreReclaimedAfterARestart(t *testing.T) {
	l := newLab(t, nlm.Config{State: t.TempDir(), Grace: time.Hour})
	one := l.host("127.0.0.1")
	a := l.client("127.0.0.1", "a name\nwith \"quotes\"")
	reclaim := nlm4.LockArgs{Exclusive: true, Lock: a.of(1, 0, 1), Reclaim: true}
	a.locks(reclaim, nlm4.StatusDeniedGracePeriod) // the first start has no grace period
	a.tries(a.of(1, 0, 1), false, granted)
	var before int32
	for range 2 {
		l.close()
		l.start()
		got := <-one.notified
		if got.State%2 != 1 || got.State <= before || len(got.Name) == 0 {
			t.Errorf("SM_NOTIFY of %q with state %d, expected an odd one after %d", got.Name, got.State, before)
		}
		before = got.State
		a = l.client("127.0.0.1", a.name)
		b := l.client("127.0.0.2", "b")
		b.tries(b.of(1, 0, 1), false, nlm4.StatusDeniedGracePeriod)
		// It had no locks before the restart.
		b.locks(nlm4.LockArgs{Exclusive: true, Lock: b.of(1, 0, 1), Reclaim: true}, denied)
		b.finds(b.of(1, 0, 1), nlm4.StatusDeniedGracePeriod)
		b.unlocks(b.of(1, 0, 1), granted)
		a.locks(reclaim, granted)
		a.locks(reclaim, granted) // again
		l.cfg.Grace = time.Second
	}
	b := l.client("127.0.0.2", "b")
	b.await(b.of(1, 0, 1), denied)
	a.locks(reclaim, nlm4.StatusDeniedGracePeriod)
	a.unlocks(a.of(1, 0, 1), granted)
	l.close() // without locks
	l.start()
	l.client("127.0.0.2", "b").tries(b.of(1, 0, 1), false, granted)
}

// A server that is killed has noted its clients. One that is closed in the grace period keeps those
// that have not reclaimed their locks yet.
func TestClientsAreNotedBeforeTheirLocks(t *testing.T) {
	l := newLab(t, nlm.Config{State: t.TempDir(), Grace: time.Hour})
	one := l.host("127.0.0.1")
	a := l.client("127.0.0.1", "a")
	a.tries(a.of(1, 0, 1), false, granted)
	killed, err := os.ReadFile(filepath.Join(l.cfg.State, "lockers"))
	check(t, err)
	l.close()
	l.cfg.State = t.TempDir()
	check(t, os.WriteFile(filepath.Join(l.cfg.State, "lockers"), killed, 0o600))
	for range 2 {
		l.start()
		<-one.notified
		a = l.client("127.0.0.1", "a")
		a.tries(a.of(1, 0, 1), false, nlm4.StatusDeniedGracePeriod)
		l.close()
	}
	l.start()
	<-one.notified
}

// A client that gets no lock is not noted: another one's lock is in the way, or it is one too many.
func TestClientsWithoutLocksAreNotNoted(t *testing.T) {
	l := newLab(t, nlm.Config{State: t.TempDir(), Limits: locks.Limits{SourceClients: 2}})
	a := l.client("127.0.0.1", "a")
	a.tries(a.of(1, 0, 1), false, granted)
	for i := range 20 {
		a.name = fmt.Sprint("denied ", i)
		a.tries(a.of(2, 0, 1), false, denied)
	}
	a.name = "waits"
	a.tries(a.of(2, 0, 1), true, blocked)
	for i := range 20 {
		a.name = fmt.Sprint("too many ", i)
		a.tries(a.of(2, 10, 1), false, nlm4.StatusDeniedNoLocks)
	}
	text, err := os.ReadFile(filepath.Join(l.cfg.State, "lockers"))
	check(t, err)
	if want := "lockers of start 1\n\"127.0.0.1\" \"a\"\n\"127.0.0.1\" \"waits\"\n"; string(text) != want {
		t.Errorf("the file is %q, expected %q", text, want)
	}
}

// NM_LOCK is a lock as by LOCK, and its client is not called after a restart.
func TestLocksWithoutMonitorAreNotReclaimed(t *testing.T) {
	l := newLab(t, nlm.Config{State: t.TempDir(), Grace: time.Hour})
	a := l.client("127.0.0.1", "a")
	res, err := a.NMLock(t.Context(), &nlm4.LockArgs{Exclusive: true, Lock: a.of(1, 0, 1)})
	check(t, err)
	if res.Stat.Stat != granted {
		t.Errorf("NM_LOCK: %v", res.Stat.Stat)
	}
	l.client("127.0.0.2", "b").tries(a.of(1, 0, 1), false, denied)
}

// LOCK_MSG is answered by a call of LOCK_RES with its cookie.
func TestMessagesAreAnsweredByCalls(t *testing.T) {
	l := newLab(t, nlm.Config{})
	one := l.host("127.0.0.1")
	a := l.client("127.0.0.1", "a")
	for i, want := range []nlm4.Status{granted, denied} {
		check(t, a.LockMsg(t.Context(), &nlm4.LockArgs{Cookie: nlm4.Object{byte(i)}, Exclusive: true, Lock: a.of(int32(i), 0, 1)}))
		if got := <-one.results; got.Stat.Stat != want || len(got.Cookie) != 1 || got.Cookie[0] != byte(i) {
			t.Errorf("LOCK_RES of %v, cookie %x, expected %v", got.Stat.Stat, got.Cookie, want)
		}
	}
	check(t, a.UnlockMsg(t.Context(), &nlm4.UnlockArgs{Lock: a.of(0, 0, 1)}))
	a.finds(a.of(1, 0, 1), granted)
}

// Ranges that no file has are refused, and all others are locked.
func TestRangesOfLocks(t *testing.T) {
	l := newLab(t, nlm.Config{})
	a, b := l.client("127.0.0.1", "a"), l.client("127.0.0.2", "b")
	const most = 1<<64 - 1
	a.tries(a.of(1, most, 2), false, nlm4.StatusFbig)
	a.finds(a.of(1, 2, most), nlm4.StatusFbig)
	a.unlocks(a.of(1, 2, most), nlm4.StatusFbig)
	a.tries(a.of(1, 1<<63, 1<<63), false, granted)
	b.finds(b.of(1, most, 1), denied)
	b.finds(b.of(1, 0, 1<<63), granted)
	a.unlocks(a.of(1, most, 0), granted)
	if h := b.finds(b.of(1, 0, 0), denied); h.Offset != 1<<63 || h.Len != 1<<63-1 {
		t.Errorf("the holder is %+v", h)
	}
	a.unlocks(a.of(2, 1<<63, 5), granted) // another process, without locks
	b.finds(b.of(1, 1<<63, 1), denied)
	bad := a.of(1, 0, 1)
	bad.FH = nlm4.Object(badFile)
	a.tries(bad, false, nlm4.StatusStaleFH)
	a.finds(bad, nlm4.StatusStaleFH)
	a.unlocks(bad, granted)
	long := a.of(1, 0, 1)
	long.Owner = make(nlm4.Object, nlm4.ObjectSize)
	a.locks(nlm4.LockArgs{Cookie: make(nlm4.Object, nlm4.ObjectSize), Lock: long, Exclusive: true}, granted)
}

// recorder keeps the records of a log.
type recorder struct {
	slog.Handler
	limits chan string
}

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key == "limit" {
			select {
			case r.limits <- a.Value.String():
			default:
			}
		}
		return true
	})
	return nil
}

// A client that never unlocks gets NLM4_DENIED_NOLOCKS at its limit, which the log names. What it
// has stays, and others lock.
func TestClientThatNeverUnlocks(t *testing.T) {
	log := &recorder{slog.NewTextHandler(io.Discard, nil), make(chan string, 1)}
	l := newLab(t, nlm.Config{Limits: locks.Limits{SourceLocks: 100}, Logger: slog.New(log)})
	a, b := l.client("127.0.0.1", "a"), l.client("127.0.0.2", "b")
	for i := range uint64(150) {
		want := granted
		if i >= 100 {
			want = nlm4.StatusDeniedNoLocks
		}
		a.tries(a.of(1, 2*i, 1), true, want)
	}
	if limit := <-log.limits; limit != "SourceLocks" {
		t.Errorf("the log names the limit %q", limit)
	}
	b.tries(b.of(1, 198, 1), false, denied)
	b.tries(b.of(1, 200, 1), false, granted)
	a.unlocks(a.of(1, 0, 0), granted)
	a.tries(a.of(1, 0, 1), false, granted)
}
