package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// absent makes the address of a server that is not there. Its port is not one of those that the
// system gives to listeners, as other tests have.
func absent(w *rdmaiotest.World) {
	w.T.Helper()
	if err := w.Serve(&rpctest.File{}, nil).Close(); err != nil {
		w.T.Fatal(err)
	}
	if host, _, err := net.SplitHostPort(w.Addr); err == nil {
		w.Addr = net.JoinHostPort(host, "1")
	}
}

// By default a Call fails with the first failed attempt to connect, as long as no connection was
// made. The next Call makes another attempt, after the first pause, which does not double.
func TestClientFailsWithoutServer(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		absent(w)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{MinBackoff: time.Millisecond, MaxBackoff: time.Hour})
		for n := uint64(1); n <= 40; n++ { // doubled, the pauses would be years
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			ce, ok := errors.AsType[*rdmaio.CallError](err)
			if !ok || ce.MayHaveRun || !errors.Is(err, verbs.ErrConnectionRefused) {
				t.Fatalf("%v, want %v of a Call that was not sent", err, verbs.ErrConnectionRefused)
			}
			if got := c.Stats().DialFailures; got != n {
				t.Errorf("%d attempts for %d Calls", got, n)
			}
		}
	})
}

// When an attempt has failed and no Call waits any more, there is no further attempt before the
// next Call.
func TestClientRestsAfterFailedCall(t *testing.T) {
	for range 20 { // the Call returns before the pause begins, or after
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			absent(w)
			c := rdmaiotest.NewClient(w, nil)
			if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); !errors.Is(err, verbs.ErrConnectionRefused) {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if st := c.Stats(); st.DialFailures != 1 {
				t.Errorf("%d attempts for one Call", st.DialFailures)
			}
		})
	}
}

// An unknown name, an error of Connected and an attempt that takes too long fail a Call as a
// refusal does.
func TestClientFailsWithoutServerInEachWay(t *testing.T) {
	refused := errors.New("this server is not mine")
	for _, tt := range []struct {
		name string
		cfg  rdmaio.ClientConfig
		make func(w *rdmaiotest.World)
		want error
	}{
		{"unknown name", rdmaio.ClientConfig{}, func(w *rdmaiotest.World) { w.Addr = "nohost.invalid:20049" }, nil},
		{
			"Connected", rdmaio.ClientConfig{Connected: func(context.Context, *rdmaio.Conn) error { return refused }},
			func(w *rdmaiotest.World) { w.Serve(&rpctest.File{T: w.T}, nil) }, refused,
		},
		{
			"Connected that takes too long", rdmaio.ClientConfig{DialTimeout: 100 * time.Millisecond, Connected: func(ctx context.Context, _ *rdmaio.Conn) error {
				if _, ok := ctx.Deadline(); !ok {
					return errors.New("Connected has no deadline")
				}
				<-ctx.Done()
				return ctx.Err()
			}},
			func(w *rdmaiotest.World) { w.Serve(&rpctest.File{T: w.T}, nil) }, context.DeadlineExceeded,
		},
		{
			"DialTimeout", rdmaio.ClientConfig{DialTimeout: 10 * time.Millisecond},
			func(w *rdmaiotest.World) { w.Addr = silentListener(w) }, context.DeadlineExceeded,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := rdmaiotest.NewTCP(t)
			tt.make(w)
			c := rdmaiotest.NewClient(w, &tt.cfg)
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			if ce, ok := errors.AsType[*rdmaio.CallError](err); !ok || ce.MayHaveRun || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v of a Call that was not sent", err, tt.want)
			}
			if st := c.Stats(); st.DialFailures != 1 || st.Connects != 0 {
				t.Errorf("%+v, want one failure", st)
			}
		})
	}
}

// Once a connection was made, and with WaitForServer before that, Calls wait through failures. The
// pauses double.
func TestClientWaitsForServer(t *testing.T) {
	for _, made := range []bool{false, true} {
		t.Run(fmt.Sprintf("a connection was made %v", made), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := rdmaiotest.New(t)
				cfg := &rdmaio.ClientConfig{WaitForServer: !made, MinBackoff: time.Second, MaxBackoff: 30 * time.Second}
				s := w.Serve(&rpctest.File{T: t}, nil)
				c := rdmaiotest.NewClient(w, cfg)
				if made {
					if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
					ended <- err
				}()
				time.Sleep(63 * time.Second)
				// Pauses of 1, 2, 4, 8, 16, 30 s, or half of each.
				if n := c.Stats().DialFailures; n < 6 || n > 8 {
					t.Errorf("%d attempts in a minute, want about 6", n)
				}
				w.Serve(&rpctest.File{T: t}, nil)
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// DialFailures is the number of failures in any case: before the first connection, and with
// WaitForServer too.
func TestClientDialFailures(t *testing.T) {
	for _, wait := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			absent(w)
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{DialFailures: 3, WaitForServer: wait})
			if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); !errors.Is(err, verbs.ErrConnectionRefused) {
				t.Errorf("%v, want %v", err, verbs.ErrConnectionRefused)
			}
			if n := c.Stats().DialFailures; n != 4 {
				t.Errorf("WaitForServer %v: the Call failed after %d attempts, want 4", wait, n)
			}
		})
	}
}

// Each failed attempt is logged with the address, how many failed in a row, the reason and the
// pause. A connection resets the count. An attempt that Close cancels is not logged.
func TestClientLogsFailedAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, nil))
		w := rdmaiotest.New(t)
		absent(w)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Conn: &rdmaio.Config{Logger: logger}, MinBackoff: time.Second, WaitForServer: true})
		ended := make(chan error, 1)
		call := func() {
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			ended <- err
		}
		go call()
		time.Sleep(1100 * time.Millisecond)
		s := w.Serve(&rpctest.File{T: t}, nil)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		go call()
		time.Sleep(100 * time.Millisecond)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		<-ended
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d records, want 3:\n%s", len(lines), out.String())
		}
		for i, failures := range []int{1, 2, 1} {
			for _, want := range []string{
				"level=WARN", `msg="rdmaio: an attempt to connect failed"`, "server=there", fmt.Sprintf("failures=%d ", failures), "no listener at the address", "pause=",
			} {
				if !strings.Contains(lines[i], want) {
					t.Errorf("record %d has no %s: %s", i, want, lines[i])
				}
			}
		}
	})
}

// silentListener returns the address of a listener that accepts no connection.
func silentListener(w *rdmaiotest.World) string {
	w.T.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() {
		if err := ln.Close(); err != nil {
			w.T.Error(err)
		}
	})
	return ln.Addr()
}
