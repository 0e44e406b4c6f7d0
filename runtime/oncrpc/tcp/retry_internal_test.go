package tcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// nullCall returns a Call without arguments.
func nullCall(t *testing.T, xid uint32) *oncrpc.Call {
	t.Helper()
	b, err := oncrpc.NewCall(xid, 2, 3, 0, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &oncrpc.Call{Message: oncrpc.Message{Inline: b}}
}

// listed is a source of connections in an order.
type listed struct {
	conns []*Conn
	inUse int
}

var errNoMore = errors.New("no further connection")

func (l *listed) Acquire(context.Context, bool) (*Conn, error) {
	if len(l.conns) == 0 {
		return nil, errNoMore
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	l.inUse++
	return c, nil
}

func (l *listed) TryAcquire() (*Conn, bool, error) {
	c, err := l.Acquire(nil, false)
	return c, err == nil, nil
}

func (l *listed) Release(*Conn) { l.inUse-- }

// connected returns a connection to a peer that closes it when a Call has come, serves Calls, lacks
// the TLS that is required, or else does nothing.
func connected(t *testing.T, does string) *Conn {
	ours, theirs := net.Pipe()
	var cfg Config
	if does == "no TLS" {
		cfg.TLS.Mode = TLSRequired
	}
	c := NewConn(ours, &cfg)
	go func() {
		defer theirs.Close()
		b := make([]byte, 44)
		for does == "ends" || does == "serves" {
			if _, err := io.ReadFull(theirs, b); err != nil || does == "ends" {
				return
			}
			reply, _ := oncrpc.NewReply(uint32(b[4])<<24|uint32(b[5])<<16|uint32(b[6])<<8|uint32(b[7]), oncrpc.Success).AppendBinary(appendMark(nil, 24))
			_, _ = theirs.Write(reply)
		}
		<-t.Context().Done()
	}()
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// forms are the ways to make a Call.
var forms = map[string]func(*testing.T, *resend.Retrier[*Conn], *oncrpc.Call) (*oncrpc.Reply, error){
	"blocking": func(t *testing.T, r *resend.Retrier[*Conn], call *oncrpc.Call) (*oncrpc.Reply, error) {
		return r.Call(t.Context(), call)
	},
	"submitted": func(t *testing.T, r *resend.Retrier[*Conn], call *oncrpc.Call) (*oncrpc.Reply, error) {
		type result struct {
			reply *oncrpc.Reply
			err   error
		}
		results := make(chan result, 2)
		if err := r.Submit(t.Context(), call, func(reply *oncrpc.Reply, err error) { results <- result{reply, err} }); err != nil {
			return nil, err
		}
		got := <-results
		r.Wait()
		if len(results) > 0 {
			t.Error("the Call was completed twice")
		}
		return got.reply, got.err
	},
}

// A Call is sent again only where its connection is lost, and gets a new message for each time that
// it was sent. Every connection is given back. That holds for Calls that block and for those that
// are submitted.
func TestCallIsSentAgainOnlyAfterALoss(t *testing.T) {
	refused := errors.New("no further message")
	for _, tt := range []struct {
		name    string
		conns   []string // what their peers do; "down" is lost before
		losses  int
		busy    bool // the XID is in use on each
		renewal error
		want    error
		run     bool
		renewed int
		again   uint64
	}{
		{name: "served", conns: []string{"serves"}},
		{name: "lost", conns: []string{"ends", "serves"}, losses: 1, renewed: 1, again: 1},
		{name: "lost twice", conns: []string{"ends", "ends", "serves"}, losses: 2, renewed: 2, again: 2},
		{name: "lost once too often", conns: []string{"ends", "ends", "serves"}, losses: 1, want: ErrPeerClosed, run: true, renewed: 1, again: 1},
		{name: "not sent", conns: []string{"down", "down", "serves"}},
		{name: "lost, not sent", conns: []string{"ends", "down", "down", "serves"}, losses: 1, renewed: 1, again: 1},
		{name: "lost, and no further connection", conns: []string{"ends"}, losses: 1, want: errNoMore, run: true},
		{name: "no connection", want: errNoMore},
		{name: "no TLS", conns: []string{"no TLS", "serves"}, losses: 1, want: ErrTLS},
		{name: "lost, and then no TLS", conns: []string{"ends", "no TLS"}, losses: 1, want: ErrTLS, run: true, renewed: 1},
		{name: "no further message", conns: []string{"ends", "serves"}, losses: 1, renewal: refused, want: refused, run: true, renewed: 1},
		{name: "XID in use", conns: []string{"nothing", "serves"}, losses: 1, busy: true, want: oncrpc.ErrXIDInUse},
	} {
		for form, makeCall := range forms {
			t.Run(tt.name+", "+form, func(t *testing.T) {
				src := new(listed)
				for _, does := range tt.conns {
					c := connected(t, does)
					if does == "down" {
						_ = c.Close()
					}
					if tt.busy {
						c.mu.Lock()
						p := c.caller.pool.Get().(*pending)
						p.call = nullCall(t, 7)
						c.calls.Put(7, p)
						c.mu.Unlock()
					}
					src.conns = append(src.conns, c)
				}
				renewed := 0
				call := nullCall(t, 7)
				call.Renew = func(context.Context) (oncrpc.Message, error) {
					renewed++
					return nullCall(t, 7).Message, tt.renewal
				}
				r := newRetrier(src, tt.losses)
				_, err := makeCall(t, r, call)
				var ce *oncrpc.CallError
				if (err == nil) != (tt.want == nil) || !errors.Is(err, tt.want) || errors.As(err, &ce) && (ce.MayHaveRun != tt.run || ce.XID != 7) {
					t.Errorf("%v, want %v, may have run: %v", err, tt.want, tt.run)
				}
				if renewed != tt.renewed || r.Again() != tt.again || src.inUse != 0 {
					t.Errorf("renewed %d times, want %d; %d retransmissions, want %d; %d connections in use", renewed, tt.renewed, r.Again(), tt.again, src.inUse)
				}
			})
		}
	}
}

// A reply to a cancelled Call that was never sent is a stray one, and one to a Call that was sent
// is not.
func TestAbandonedCalls(t *testing.T) {
	for _, state := range []state{queued, sent} {
		c := bare(settings{Config: Config{NoCancel: true}})
		p := c.newPending().(*pending)
		p.call = nullCall(t, 7)
		c.calls.Put(7, p)
		if c.out.queue.push(&p.out); state == sent {
			c.out.queue.remove(&p.out)
			p.out.state = sent
		}
		c.giveUp(p, context.Canceled)
		if len(p.done) != 1 || p.sent != (state == sent) || c.abandoned.has(7) != p.sent || c.calls.Len() != 0 || c.out.queue.first != nil {
			t.Errorf("state %d: %+v, abandoned %v, %d Calls", state, p, c.abandoned.has(7), c.calls.Len())
		}
		for strays := range uint64(2) {
			c.reply(7, make([]byte, 24))
			want := strays
			if state == queued {
				want++
			}
			if c.counts.strayReplies != want {
				t.Errorf("state %d: %d stray replies, want %d", state, c.counts.strayReplies, want)
			}
		}
	}
}

// Marks count among the bytes that must come in each RecordTimeout, so fragments without data renew
// it as others do.
func TestMarksAreProgress(t *testing.T) {
	const fragments = 2 + 2*progress/markSize
	stream := bytes.Repeat([]byte{0, 0, 0, 0}, fragments-1)
	set, removed := 0, 0
	rd := &records{
		r:       input{src: iotest.OneByteReader(bytes.NewReader(append(stream, fragment(0, true)...)))},
		maxSize: 100, maxFragments: fragments, timeout: time.Hour, grow: func(int, bool) error { return nil },
		deadline: func(at time.Time) {
			if at.IsZero() {
				removed++
			} else {
				set++
			}
		},
	}
	if b, err := rd.next(nil); err != nil || len(b) != 0 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if set != 3 || removed != 1 {
		t.Errorf("the limit was set %d times and removed %d times, want 3 and 1", set, removed)
	}
}

// A Client that is closed while it connects logs no failure.
func TestClosedClientLogsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, err := NewClient("", &ClientConfig{
			Conn: &Config{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			Dial: func(ctx context.Context, _ string, _ *Config) (*Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
		})
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { _, err := c.Call(context.Background(), nullCall(t, 7)); failed <- err }()
		synctest.Wait()
		_ = c.Close()
		if err := <-failed; !errors.Is(err, oncrpc.ErrClosed) || log.Len() != 0 {
			t.Errorf("%v, and logged: %s", err, log.String())
		}
	})
}

// A Call of 2 GiB, which cannot be sent, is not tried on a further connection.
func TestCallThatIsTooLongIsTriedOnce(t *testing.T) {
	down := connected(t, "nothing")
	_ = down.Close()
	src := &listed{conns: []*Conn{down, connected(t, "serves")}}
	call := nullCall(t, 7)
	data := make([]byte, 1<<20)
	for range 1 << 11 {
		at := uint64(len(call.Inline)) + uint64(len(call.Items))<<20
		call.Items = append(call.Items, xdr.Item{Position: at, Inline: len(call.Inline), Data: data})
	}
	if _, err := newRetrier(src, 1).Call(t.Context(), call); !errors.Is(err, oncrpc.ErrMessage) || len(src.conns) != 1 || src.inUse != 0 {
		t.Errorf("%v, with %d connections not tried, want 1; %d in use", err, len(src.conns), src.inUse)
	}
}

// A Call that waits for the end of a pause fails at once when the Client is closed.
func TestCloseDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		c, err := NewClient("", &ClientConfig{
			WaitForServer: true, MinBackoff: time.Hour, MaxBackoff: time.Hour,
			Dial: func(context.Context, string, *Config) (*Conn, error) { return nil, refused },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		failed := make(chan error, 1)
		go func() { _, err := c.Call(ctx, nullCall(t, 7)); failed <- err }()
		synctest.Wait()
		start := time.Now()
		_ = c.Close()
		if err := <-failed; !errors.Is(err, oncrpc.ErrClosed) || time.Since(start) != 0 {
			t.Errorf("%v after %v, want %v at once", err, time.Since(start), oncrpc.ErrClosed)
		}
	})
}

// Close of a Client waits for the done function of a Call that had no connection.
func TestCloseWaitsForDoneFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewClient("", &ClientConfig{
			WaitForServer: true, MinBackoff: time.Hour, MaxBackoff: time.Hour,
			Dial: func(context.Context, string, *Config) (*Conn, error) { return nil, errors.New("refused") },
		})
		if err != nil {
			t.Fatal(err)
		}
		var gate, closed = make(chan struct{}), make(chan error, 1)
		if err := c.Submit(t.Context(), nullCall(t, 7), func(*oncrpc.Reply, error) { <-gate }); err != nil {
			t.Fatal(err)
		}
		go func() { closed <- c.Close() }()
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("Close returned while a done function ran")
		}
		close(gate)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// Without a connection, too, a done function may panic or exit its goroutine: the process lives,
// and Close returns.
func TestDoneFunctionFailsWithoutAConnection(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("planned") }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			c, err := NewClient("", &ClientConfig{
				WaitForServer: true, MinBackoff: time.Hour, MaxBackoff: time.Hour,
				Dial: func(context.Context, string, *Config) (*Conn, error) { return nil, errors.New("refused") },
			})
			if err != nil {
				t.Fatal(err)
			}
			ran := make(chan error, 1)
			if err := c.Submit(t.Context(), nullCall(t, 7), func(_ *oncrpc.Reply, err error) {
				ran <- err
				fail()
			}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			_ = c.Close()
			select {
			case err := <-ran:
				if !errors.Is(err, oncrpc.ErrClosed) {
					t.Errorf("%s: the Call ended with %v", name, err)
				}
			default:
				t.Errorf("%s: Close returned before the Call was over", name)
			}
		})
	}
}

// A Call whose deadline has passed is not made again, although its connection was lost as well.
func TestLateCallIsNotMadeAgain(t *testing.T) {
	for _, tt := range []struct {
		deadline time.Time
		err      error
		over     bool
	}{
		{time.Now(), context.DeadlineExceeded, true},
		{time.Now(), oncrpc.ErrClosed, false},
		{time.Time{}, context.DeadlineExceeded, false}, // of a write
	} {
		call := nullCall(t, 7)
		call.Deadline = tt.deadline
		if over := lasting(t.Context(), call, tt.err); over != tt.over {
			t.Errorf("deadline %v, %v: over is %v", tt.deadline, tt.err, over)
		}
	}
}

// A Client has its own cache of TLS sessions, unless the caller has one. The caller's Config stays
// as it is.
func TestClientKeepsSessionsOfItsOwn(t *testing.T) {
	given := tls.NewLRUClientSessionCache(1)
	for _, config := range []*tls.Config{nil, {}, {ClientSessionCache: given}} {
		cfg := &Config{TLS: TLS{Mode: TLSWanted, Config: config}}
		c, err := NewClient("192.0.2.1:1", &ClientConfig{Conn: cfg})
		if err != nil {
			t.Fatal(err)
		}
		had := config != nil && config.ClientSessionCache != nil
		if got := c.cfg.Conn.TLS.Config; got == nil || got.ClientSessionCache == nil || (got.ClientSessionCache == given) != had {
			t.Errorf("%+v: the Client has %+v", config, got)
		}
		if cfg.TLS.Config != config || config != nil && (config.ClientSessionCache != nil) != had {
			t.Errorf("the caller's Config is changed: %+v", cfg.TLS.Config)
		}
		_ = c.Close()
	}
}

// Without IdleTimeout a connection without Calls stays.
func TestNoIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewClient("", &ClientConfig{IdleTimeout: -1, Dial: func(context.Context, string, *Config) (*Conn, error) {
			ours, theirs := net.Pipe()
			server := ServeConn(theirs, nil, nil) // refuses Calls, which is a reply
			t.Cleanup(func() { _ = server.Close() })
			return NewConn(ours, nil), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := c.Call(t.Context(), nullCall(t, c.XID())); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if s := c.Stats(); s != (ClientStats{Connects: 1}) {
			t.Errorf("%+v", s)
		}
		_ = c.Close()
	})
}
