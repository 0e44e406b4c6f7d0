package conform_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program/programrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// pretend is a client over TCP that reports one outcome for each case, and calls TRY so many times.
func pretend(t *testing.T, addr string, tries int, report func(number uint32) *program.Report) {
	c, err := tcp.Dial(t.Context(), addr, &tcp.Config{Logger: quiet})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	calls := programrpc.NewClientVersion1Client(c, nil)
	for {
		next, err := calls.Next(t.Context())
		if err != nil || next.Number == 0 {
			return
		}
		for range tries {
			limit, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _ = calls.Try(limit, next.Number)
			cancel()
		}
		r := report(next.Number)
		if r == nil {
			continue
		}
		if err := calls.Report(t.Context(), r); err != nil {
			return
		}
	}
}

// only returns the cases with these names.
func only(t *testing.T, names ...string) []conform.Reply {
	t.Helper()
	var list []conform.Reply
	for _, r := range conform.RepliesOver(conform.TCP) {
		for _, name := range names {
			if r.Name == name {
				list = append(list, r)
			}
		}
	}
	if len(list) != len(names) {
		t.Fatalf("found %d of %v", len(list), names)
	}
	return list
}

// Each way in which a client can be wrong is seen, and named.
func TestWrongClientsAreSeen(t *testing.T) {
	for _, tt := range []struct {
		name, run string
		tries     int
		report    func(number uint32) *program.Report
		came      string
	}{
		{"a result in place of a refusal", "reply/status-PROC_UNAVAIL", 1, func(n uint32) *program.Report {
			return &program.Report{Number: n, Came: program.CameResult, First: n}
		}, "RESULT"},
		{"the result of another call", "reply/other-xid-first", 1, func(n uint32) *program.Report {
			return &program.Report{Number: n, Came: program.CameResult, First: n + 1}
		}, "another result"},
		{"other versions", "reply/status-PROG_MISMATCH", 1, func(n uint32) *program.Report {
			return &program.Report{Number: n, Came: program.CameProgMismatch, First: 3, Second: 3}
		}, "PROG_MISMATCH 3 to 3"},
		{"another reason", "reply/status-AUTH_BADCRED", 1, func(n uint32) *program.Report {
			return &program.Report{Number: n, Came: program.CameAuthError, First: 2}
		}, "AUTH_ERROR AUTH_REJECTEDCRED"},
		{"a time-out", "reply/good", 1, func(n uint32) *program.Report { return &program.Report{Number: n, Came: program.CameNothing} }, "no reply"},
		{"no call", "reply/good", 0, func(n uint32) *program.Report {
			return &program.Report{Number: n, Came: program.CameResult, First: n}
		}, "a report without a call"},
		{"no report", "reply/good", 1, func(uint32) *program.Report { return nil }, "no report"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := conform.Listen(t.Context(), conform.TCP, nil, "127.0.0.1:0", 20*time.Second, only(t, tt.run))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { defer close(done); pretend(t, l.Addr(), tt.tries, tt.report) }()
			var got []*conform.Result
			err = l.Run(t.Context(), func(r *conform.Result) { got = append(got, r) })
			<-done
			if err != nil || len(got) != 1 || got[0].Passed || got[0].Came != tt.came || got[0].Expected == "" {
				t.Errorf("%v, %+v", err, got)
			}
		})
	}
}

// The run is over when a client makes no more calls, and its case has no report. Before the first
// call there is no limit but the context.
func TestSilentClientEndsTheRun(t *testing.T) {
	l, err := conform.Listen(t.Context(), conform.TCP, nil, "127.0.0.1:0", 300*time.Millisecond, only(t, "reply/good", "reply/twice"))
	if err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		pretend(t, l.Addr(), 1, func(uint32) *program.Report { <-hold; return nil })
	}()
	var got []*conform.Result
	if err := l.Run(t.Context(), func(r *conform.Result) { got = append(got, r) }); !errors.Is(err, conform.ErrGone) {
		t.Error(err)
	}
	close(hold)
	<-done
	if len(got) != 1 || got[0].Passed || got[0].Came != "no report" {
		t.Errorf("%+v", got)
	}
	l, err = conform.Listen(t.Context(), conform.UDP, nil, "127.0.0.1:0", time.Millisecond, only(t, "reply/good"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := l.Run(ctx, func(r *conform.Result) { t.Errorf("%+v", r) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A client may have a connection for each call, and begin with the same XID on each. One that sends
// a NEXT or a REPORT once more gets the same answer.
func TestClientsMayUseAnXIDAgain(t *testing.T) {
	names := []string{"reply/good", "reply/twice"}
	l, err := conform.Listen(t.Context(), conform.TCP, nil, "127.0.0.1:0", 20*time.Second, only(t, names...))
	if err != nil {
		t.Fatal(err)
	}
	call := func(of func(*programrpc.ClientVersion1Client) error) {
		c, err := tcp.Dial(t.Context(), l.Addr(), &tcp.Config{Logger: quiet})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		if err := of(programrpc.NewClientVersion1Client(sameXID{c}, nil)); err != nil {
			t.Error(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for want := range uint32(3) {
			for range 2 { // the second one is the same call once more
				call(func(c *programrpc.ClientVersion1Client) error {
					next, err := c.Next(t.Context())
					if err == nil && next.Number != (want+1)%3 {
						t.Errorf("case %d, want %d", next.Number, (want+1)%3)
					}
					return err
				})
			}
			if want == 2 {
				return
			}
			n := want + 1
			call(func(c *programrpc.ClientVersion1Client) error { _, err := c.Try(t.Context(), n); return err })
			for range 2 {
				call(func(c *programrpc.ClientVersion1Client) error {
					return c.Report(t.Context(), &program.Report{Number: n, Came: program.CameResult, First: n})
				})
			}
		}
	}()
	var got []*conform.Result
	err = l.Run(t.Context(), func(r *conform.Result) { got = append(got, r) })
	<-done
	if err != nil || len(got) != 2 || !got[0].Passed || !got[1].Passed {
		t.Errorf("%v, %+v", err, got)
	}
}

// sameXID is a connection all of whose calls have the XID 1.
type sameXID struct{ oncrpc.Carrier }

func (sameXID) XID() uint32 { return 1 }

// A client that calls TRY without end gets no more answers of the case.
func TestTriesAreLimited(t *testing.T) {
	l, err := conform.Listen(t.Context(), conform.TCP, nil, "127.0.0.1:0", 20*time.Second, only(t, "reply/good"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := tcp.Dial(t.Context(), l.Addr(), &tcp.Config{Logger: quiet})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		calls := programrpc.NewClientVersion1Client(c, nil)
		if _, err := calls.Next(t.Context()); err != nil {
			t.Error(err)
		}
		answers := 0
		for range 150 {
			if _, err := calls.Try(t.Context(), 1); err == nil {
				answers++
			}
		}
		if answers != 100 {
			t.Errorf("%d answers, want 100", answers)
		}
		if err := calls.Report(t.Context(), &program.Report{Number: 1, Came: program.CameResult, First: 1}); err != nil {
			t.Error(err)
		}
		_, _ = calls.Next(t.Context()) // the end
	}()
	var got []*conform.Result
	err = l.Run(t.Context(), func(r *conform.Result) { got = append(got, r) })
	<-done
	if err != nil || len(got) != 1 || !got[0].Passed {
		t.Errorf("%v, %+v", err, got)
	}
}
