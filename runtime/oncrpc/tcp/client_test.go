package tcp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// pipes makes connections of a Client to a server over pipes. Each gets the next element of
// answers; further ones get the last.
type pipes struct {
	mu      sync.Mutex
	dials   []time.Time
	xids    []uint32 // of the Calls received
	answers []answer
}

// answer says what a connection does with its Calls.
type answer int

const (
	fails  answer = iota // no connection is made
	closes               // the connection is closed at the first Call
	serves
	refuses // there is no listener
	once    // the connection is closed after the first reply
)

func (p *pipes) dial(_ context.Context, _ string, cfg *tcp.Config) (*tcp.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.answers[min(len(p.dials), len(p.answers)-1)]
	p.dials = append(p.dials, time.Now())
	switch a {
	case fails:
		return nil, errors.New("no route")
	case refuses:
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		for b := make([]byte, 48); ; {
			if _, err := io.ReadFull(theirs, b); err != nil {
				return
			}
			xid := binary.BigEndian.Uint32(b[4:])
			p.mu.Lock()
			p.xids = append(p.xids, xid)
			p.mu.Unlock()
			if a == closes {
				return
			}
			_, _ = theirs.Write(goodReply(xid))
			if a == once {
				return
			}
		}
	}()
	return tcp.NewConn(ours, cfg), nil
}

func newClient(t *testing.T, p *pipes, cfg tcp.ClientConfig) *tcp.Client {
	t.Helper()
	cfg.Dial = p.dial
	c, err := tcp.NewClient("", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A Call whose connection is lost is sent again on the next one, with the same XID. Failures to
// connect are waited through.
func TestLostCallIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{answers: []answer{fails, closes, fails, closes, serves}}
		c := newClient(t, p, tcp.ClientConfig{WaitForServer: true})
		double(t, c)
		double(t, c)
		if len(p.dials) != 5 || len(p.xids) != 4 || p.xids[0] != p.xids[1] || p.xids[1] != p.xids[2] || p.xids[2] == p.xids[3] {
			t.Errorf("%d connections, XIDs %#x", len(p.dials), p.xids)
		}
		if st := c.Stats(); st != (tcp.ClientStats{Connects: 3, DialFailures: 2, Lost: 2, Retransmissions: 2}) {
			t.Errorf("%+v", st)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := c.Stats().Lost; n != 2 {
			t.Errorf("%d connections are lost, want 2: Close counts the one that it closes", n)
		}
		_, err := c.Call(context.Background(), callOf(1, 0))
		wantError(t, err, oncrpc.ErrClosed, false)
	})
}

// Retransmits bounds how often a Call is sent, and the error says that it may have run.
// DialFailures bounds the attempts to connect; then it has not.
func TestClientGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{answers: []answer{closes}}
		c := newClient(t, p, tcp.ClientConfig{Retransmits: 2})
		_, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(7)[4:]}})
		wantError(t, err, tcp.ErrPeerClosed, true)
		if len(p.xids) != 3 {
			t.Errorf("it was sent %d times", len(p.xids))
		}
		_ = c.Close()

		for most, dials := range map[int]int{-1: 1, 2: 3} {
			p = &pipes{answers: []answer{fails}}
			c = newClient(t, p, tcp.ClientConfig{DialFailures: most})
			if _, err = c.Call(context.Background(), callOf(7, 0)); err == nil || len(p.dials) != dials {
				t.Errorf("%d attempts, want %d: %v", len(p.dials), dials, err)
			}
			_ = c.Close()
		}

		// Sent once, and then there is no server.
		p = &pipes{answers: []answer{closes, fails}}
		c = newClient(t, p, tcp.ClientConfig{})
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		_, err = c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(7)[4:]}})
		wantError(t, err, context.DeadlineExceeded, true)
		if n := len(p.dials); n < 5 || n > 20 {
			t.Errorf("%d attempts to connect in a minute", n)
		}
		_ = c.Close()
	})
}

// Before the first connection a Call fails with the first failure to connect, and the next Call
// makes a new attempt and fails with that attempt's error. After it, and with WaitForServer, Calls
// wait through failures.
func TestClientFirstConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{answers: []answer{refuses, refuses, fails, fails, fails, fails, closes, refuses, refuses, serves}}
		c := newClient(t, p, tcp.ClientConfig{MinBackoff: time.Second, MaxBackoff: time.Hour})
		start := time.Now()
		for range 6 {
			if _, err := c.Call(context.Background(), callOf(7, 0)); err == nil {
				t.Error("a Call succeeds without a connection")
			} else if n := len(p.dials); n <= 2 {
				wantError(t, err, syscall.ECONNREFUSED, false)
			}
		}
		// Pauses do not grow: each Call finds out about the server.
		if d := time.Since(start); len(p.dials) != 6 || d < 2500*time.Millisecond || d > 5*time.Second {
			t.Errorf("%d attempts in %v, want one for each of 6 Calls, with pauses of 500 ms to 1 s", len(p.dials), d)
		}
		double(t, c)
		if st := c.Stats(); st != (tcp.ClientStats{Connects: 2, DialFailures: 8, Lost: 1, Retransmissions: 1}) {
			t.Errorf("%+v", st)
		}
		_ = c.Close()

		p = &pipes{answers: []answer{refuses, fails, serves}}
		c = newClient(t, p, tcp.ClientConfig{WaitForServer: true, MinBackoff: time.Second, MaxBackoff: time.Hour})
		start = time.Now()
		double(t, c)
		// The pauses are 1 s and 2 s, each shortened.
		if d := time.Since(start); d < 1500*time.Millisecond || d > 3*time.Second {
			t.Errorf("connected after %v", d)
		}
		_ = c.Close()
	})
}

// All Calls that wait for one attempt to connect fail with it.
func TestClientFirstConnectionOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		c, err := tcp.NewClient("", &tcp.ClientConfig{Dial: func(ctx context.Context, _ string, _ *tcp.Config) (*tcp.Conn, error) {
			attempts++
			<-ctx.Done()
			return nil, ctx.Err()
		}, DialTimeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		start := time.Now()
		var wg sync.WaitGroup
		for i := range uint32(3) {
			wg.Go(func() {
				_, err := c.Call(context.Background(), callOf(i, 0))
				wantError(t, err, context.DeadlineExceeded, false)
				if !strings.Contains(err.Error(), "ClientConfig.DialTimeout (3s)") || time.Since(start) != 3*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			})
		}
		if wg.Wait(); attempts != 1 {
			t.Errorf("%d attempts", attempts)
		}
	})
}

// Each failure to connect is logged, with the server, the reason and the pause.
func TestClientLogsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		p := &pipes{answers: []answer{refuses, fails, serves}}
		c := newClient(t, p, tcp.ClientConfig{WaitForServer: true, Conn: &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}})
		double(t, c)
		_ = c.Close()
		got := regexp.MustCompile(`time=\S+ |pause=\S+`).ReplaceAllString(log.String(), "")
		if want := `level=WARN msg="tcp: an attempt to connect failed" server="" failures=1 reason="dial: connect: connection refused" ` + "\n" +
			`level=WARN msg="tcp: an attempt to connect failed" server="" failures=2 reason="no route" ` + "\n"; got != want {
			t.Errorf("found\n%swant\n%s", got, want)
		}
		if n := strings.Count(log.String(), " pause="); n != 2 {
			t.Errorf("%d pauses in\n%s", n, log.String())
		}
	})
}

// The first Call fails even without a deadline if the name does not resolve or nothing listens at
// the port.
func TestClientWithoutServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := ln.Addr().String()
	_ = ln.Close()
	for _, addr := range []string{closed, "nohost.invalid:20049"} {
		c, err := tcp.NewClient(addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(context.Background(), callOf(7, 0))
		var op *net.OpError
		var ce *oncrpc.CallError
		if !errors.As(err, &ce) || ce.MayHaveRun || !errors.As(err, &op) {
			t.Errorf("%s: %v", addr, err)
		}
		_ = c.Close()
	}
}

// R292: an idle connection is closed, and made again on demand; one with a Call in progress is not
// idle.
func TestClientIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			time.Sleep(15 * time.Second)
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), nil)
		c, err := tcp.NewClient("", &tcp.ClientConfig{IdleTimeout: 4 * time.Second, Dial: ln.connect})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(3) {
			double(t, c)
			if st := c.Stats(); st.IdleCloses != i || st.Connects != i+1 {
				t.Errorf("closed under a Call: %+v", st)
			}
			time.Sleep(3900 * time.Millisecond)
			if st := c.Stats(); st.IdleCloses != i || s.Stats().Conns != 1 {
				t.Errorf("closed too early: %+v", st)
			}
			time.Sleep(200 * time.Millisecond)
			if st := c.Stats(); st.IdleCloses != i+1 || st.Lost != 0 || s.Stats().Conns != 0 {
				t.Errorf("not closed: %+v", st)
			}
		}
		_, _ = c.Close(), s.Close()
	})
}

// Closing an idle connection does not count as a failure, even if it brought no reply: the next
// Call connects at once.
func TestClientIdleWithoutReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, newService(), nil)
		c, err := tcp.NewClient("", &tcp.ClientConfig{
			IdleTimeout: time.Minute, DialFailures: -1, MinBackoff: time.Hour, MaxBackoff: time.Hour, Dial: ln.connect,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		unanswered := oncrpc.Message{Inline: record(1, 0, 2, 400001, 3, 2, 0, 0, 0, 0)[4:]}
		_, err = c.Call(ctx, &oncrpc.Call{Message: unanswered})
		wantError(t, err, context.DeadlineExceeded, true)
		time.Sleep(2 * time.Minute)
		double(t, c)
		if st := c.Stats(); st.IdleCloses != 1 || st.Connects != 2 {
			t.Errorf("%+v", st)
		}
		_, _ = c.Close(), s.Close()
	})
}

// R279: a server that answers the Call of ClientConfig.Connected and then closes each connection
// does not make a Client with a ReverseHandler connect without a pause.
func TestClientKeepsNoUseless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			conn := r.Conn().(*tcp.Conn)
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, func(error) { go conn.Close() })
		}), nil)
		c, err := tcp.NewClient("", &tcp.ClientConfig{
			Conn: &tcp.Config{ReverseHandler: newService()}, Dial: ln.connect, MinBackoff: time.Second, MaxBackoff: 8 * time.Second,
			Connected: func(ctx context.Context, c *tcp.Conn) error {
				_, err := c.Call(ctx, callOf(c.XID(), 0))
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		_, _ = c.Call(ctx, callOf(c.XID(), 0))
		before := c.Stats().Connects
		time.Sleep(time.Minute)
		if n := c.Stats().Connects - before; n < 5 || n > 30 {
			t.Errorf("%d connections in a minute without a Call", n)
		}
		_, _ = c.Close(), s.Close()
	})
}

// A Client with a ReverseHandler replaces a connection at once if it has lasted longer than the
// pause before it, and otherwise after twice that pause, whatever MinBackoff is.
func TestClientPausesForShortConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lives := []time.Duration{0, 0, 1500 * time.Millisecond, time.Minute, 0, time.Hour}
		var begun []time.Time
		s, ln := servePipes(t, newService(), &tcp.Config{IdleTimeout: -1})
		c, err := tcp.NewClient("", &tcp.ClientConfig{
			Conn: &tcp.Config{ReverseHandler: newService()}, Dial: ln.connect, MinBackoff: time.Second, MaxBackoff: time.Hour,
			Connected: func(_ context.Context, c *tcp.Conn) error {
				double(t, c)
				life := lives[min(len(begun), len(lives)-1)]
				begun = append(begun, time.Now())
				for _, conn := range s.Conns() { // the server's end
					time.AfterFunc(life, func() { _ = conn.Close() })
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		double(t, c) // the first connection is made for a Call
		time.Sleep(10 * time.Minute)
		_, _ = c.Close(), s.Close()
		if len(begun) != len(lives) {
			t.Fatalf("%d connections were made, want %d", len(begun), len(lives))
		}
		// Each pause is shortened by up to half.
		for i, longest := range []time.Duration{1, 2, 4, 0, 1} {
			longest *= time.Second
			if d := begun[i+1].Sub(begun[i]) - lives[i]; d > longest || d < longest/2 {
				t.Errorf("after connection %d, which lasted %v: %v, want %v to %v", i+1, lives[i], d, longest/2, longest)
			}
		}
	})
}

// R279, R292: with a ReverseHandler a connection is kept although there are no Calls, and replaced
// when it is lost, for the server to call. The client announces itself in Connected.
func TestClientKeepsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := tcp.NewBackchannel(nil)
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			back.Bind(r.Conn().(*tcp.Conn))
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), nil)
		connected := 0
		c, err := tcp.NewClient("", &tcp.ClientConfig{
			Conn: &tcp.Config{ReverseHandler: newService()}, IdleTimeout: time.Minute, Dial: ln.connect,
			Connected: func(ctx context.Context, c *tcp.Conn) error {
				if connected++; connected == 2 {
					return errors.New("refused")
				}
				_, err := c.Call(ctx, callOf(c.XID(), 0))
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if st := c.Stats(); st.Connects != 0 {
			t.Errorf("connected before the first Call: %+v", st)
		}
		double(t, c)
		time.Sleep(time.Hour)
		double(t, back)
		if st := c.Stats(); st.Connects != 1 || st.IdleCloses != 0 {
			t.Errorf("%+v", st)
		}
		for _, conn := range s.Conns() {
			_ = conn.Close()
		}
		double(t, back) // waits for the client
		synctest.Wait() // Connected has returned
		if st := c.Stats(); st != (tcp.ClientStats{Connects: 2, Lost: 1, DialFailures: 1}) {
			t.Errorf("not replaced: %+v", st)
		}
		_, _ = c.Close(), s.Close()
	})
}

// Without DialFailures a Call fails at once during a pause.
func TestNoDialFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{answers: []answer{fails, serves}}
		c := newClient(t, p, tcp.ClientConfig{DialFailures: -1, MinBackoff: 10 * time.Second})
		start := time.Now()
		for range 3 {
			if _, err := c.Call(context.Background(), callOf(7, 0)); err == nil || time.Since(start) != 0 {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
		time.Sleep(10 * time.Second)
		double(t, c)
		if len(p.dials) != 2 {
			t.Errorf("%d attempts, want 2", len(p.dials))
		}
		_ = c.Close()
	})
}

// DialFailures does not turn off Retransmits: a Call whose connection was lost is sent again, the
// first of a connection too, whose loss begins a pause.
func TestLostCallIsSentAgainWithAnyDialFailures(t *testing.T) {
	for _, most := range []int{0, 3, -1} {
		for _, before := range []answer{closes, once} {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{answers: []answer{before, serves}}
				c := newClient(t, p, tcp.ClientConfig{DialFailures: most, MinBackoff: time.Second})
				defer c.Close()
				double(t, c)
				double(t, c)
				if st := c.Stats(); st.Connects != 2 || before == closes && st.Retransmissions != 1 {
					t.Errorf("DialFailures %d: %+v", most, st)
				}
			})
		}
	}
}

// A Client connects again and continues when the server restarts at the same address.
func TestServerRestarts(t *testing.T) {
	s := listen(t, newService(), nil)
	addr := s.Addr()
	c, err := tcp.NewClient(addr, &tcp.ClientConfig{MinBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	double(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		again, err := tcp.Serve(ln, newService(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = again.Close() })
	})
	double(t, c)
}

// Shutdown waits for the answers to Calls in progress, which the clients get. Later Calls are not
// executed.
func TestShutdownWaitsForAnswers(t *testing.T) {
	gate, open := context.WithCancel(t.Context())
	came := make(chan struct{}, 1)
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		came <- struct{}{}
		<-gate.Done()
		*res = 2 * *args
		return nil
	})
	s := listen(t, rpc.NewHandler(nil, svc), nil)
	c := dial(t, s.Addr(), nil)
	answered := make(chan struct{})
	go func() { defer close(answered); double(t, c) }()
	<-came
	short, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	if err := s.Shutdown(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	waitFor(t, func() bool {
		nc, err := net.Dial("tcp", s.Addr())
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	_, err := c.Call(short, callOf(9, 0))
	wantError(t, err, context.DeadlineExceeded, false)
	open()
	<-answered
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-c.Done()
	if !errors.Is(s.Err(), oncrpc.ErrClosed) || !errors.Is(c.Err(), tcp.ErrPeerClosed) {
		t.Error(s.Err(), c.Err())
	}
}

// A small call allocates no more than this, at both ends together.
func TestSmallCallAllocatesLittle(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector makes pools forget")
	}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	for nonBlocking, most := range map[bool]float64{false: 3, true: 2} {
		s := listen(t, rpc.NewHandler(nil, svc), &tcp.Config{NonBlocking: nonBlocking})
		c := rpc.NewClient(dial(t, s.Addr(), nil), program, nil)
		args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
		n := testing.AllocsPerRun(200, func() {
			if err := c.Call(context.Background(), 1, &args, &res, nil); err != nil || res != 42 {
				t.Error(res, err)
			}
		})
		if n > most {
			t.Errorf("%v allocations a call, at most %v; handlers that never block: %v", n, most, nonBlocking)
		}
	}
}

// After a connection that brought a reply there is no pause; after others they grow, up to
// MaxBackoff, and the next useful connection resets them.
func TestClientPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{answers: []answer{once, once, closes, closes, closes, closes, once, closes, serves}}
		c := newClient(t, p, tcp.ClientConfig{MinBackoff: time.Second, MaxBackoff: 3 * time.Second, Retransmits: 10})
		for range 4 {
			double(t, c)
			synctest.Wait() // the end of the connection is noticed
		}
		_ = c.Close()
		// The longest pause before each connection. Each is shortened by up to half.
		for i, longest := range []time.Duration{0, 0, 0, 1, 2, 3, 3, 0, 1} {
			longest *= time.Second
			if i == 0 {
				continue
			}
			if d := p.dials[i].Sub(p.dials[i-1]); d > longest || d < longest/2 {
				t.Errorf("connection %d began after %v, want %v to %v", i, d, longest/2, longest)
			}
		}
	})
}

// A failure of Connected closes the connection and counts as a failure to connect. A connection
// resets the count of failures in a row. ErrTLS fails a Call at once, however long it would wait
// otherwise, because another attempt would fail, too.
func TestClientFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		p := &pipes{answers: []answer{serves, once, fails, serves}}
		var made []*tcp.Conn
		c := newClient(t, p, tcp.ClientConfig{
			WaitForServer: true, Conn: &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			Connected: func(_ context.Context, conn *tcp.Conn) error {
				if made = append(made, conn); len(made) == 1 {
					return errors.New("not now")
				}
				return nil
			},
		})
		double(t, c)
		synctest.Wait()
		double(t, c)
		if err := made[0].Err(); !errors.Is(err, oncrpc.ErrClosed) {
			t.Errorf("the connection of the failure: %v", err)
		}
		if n := strings.Count(log.String(), "failures=1 "); n != 2 {
			t.Errorf("found\n%swant each failure to be the first in a row", log.String())
		}
		_ = c.Close()

		attempts := 0
		c, err := tcp.NewClient("", &tcp.ClientConfig{WaitForServer: true, Dial: func(context.Context, string, *tcp.Config) (*tcp.Conn, error) {
			attempts++
			return nil, tcp.ErrTLS
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(context.Background(), callOf(1, 4))
		wantError(t, err, tcp.ErrTLS, false)
		if attempts != 1 {
			t.Errorf("%d attempts", attempts)
		}
		_ = c.Close()
	})
}
