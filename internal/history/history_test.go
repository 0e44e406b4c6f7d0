package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
)

// logged returns a Log whose clock advances by a second with each entry.
func logged() *history.Log {
	now := time.Duration(0)
	return history.New(func() time.Duration {
		now += time.Second
		return now
	})
}

// Each history that a stack could make and must not is reported, with what happened, and the
// others are not.
func TestBrokenPromisesAreReported(t *testing.T) {
	once := history.Promise{Once: true}
	for _, tt := range []struct {
		name    string
		promise history.Promise
		run     func(l *history.Log)
		want    string
	}{
		{"answered", once, func(l *history.Log) {
			l.Executed(1, "server", 7)
			l.Returned(1, history.Answered, 7)
		}, ""},
		{"executed twice", once, func(l *history.Log) {
			l.Executed(1, "server, connection 1", 7)
			l.Executed(1, "server, connection 2", 8)
			l.Returned(1, history.Answered, 8)
		}, "Call 1 was executed 2 times, want once at most"},
		{"executed twice without a reply cache", history.Promise{}, func(l *history.Log) {
			l.Executed(1, "server", 7)
			l.Executed(1, "server", 8)
			l.Returned(1, history.Answered, 8)
		}, ""},
		{"executed twice, and the caller gave up", once, func(l *history.Log) {
			l.Executed(1, "server", 7)
			l.Returned(1, history.MayHaveRun, 0)
			l.Executed(1, "server", 8)
		}, "executed 2 times"},
		{"executed after the caller gave up", once, func(l *history.Log) {
			l.Returned(1, history.MayHaveRun, 0)
			l.Executed(1, "server", 7)
		}, ""},
		{"executed and not sent", history.Promise{}, func(l *history.Log) {
			l.Returned(1, history.NotSent, 0)
			l.Executed(1, "server", 7)
		}, "its error says that it was not"},
		{"a result without an execution", history.Promise{}, func(l *history.Log) {
			l.Returned(1, history.Answered, 7)
		}, "was not executed"},
		{"the result of another", history.Promise{}, func(l *history.Log) {
			l.Executed(1, "server", 7)
			l.Returned(1, history.Answered, 8)
		}, "has result 8, which no execution before its return gave"},
		{"the result of a later execution", history.Promise{}, func(l *history.Log) {
			l.Executed(1, "server", 7)
			l.Returned(1, history.Answered, 8)
			l.Executed(1, "server", 8)
		}, "no execution before its return"},
		{"no return", history.Promise{}, func(*history.Log) {}, "does not return"},
		{"two returns", history.Promise{}, func(l *history.Log) {
			l.Returned(1, history.NotSent, 0)
			l.Returned(1, history.NotSent, 0)
		}, "returns twice"},
		{"refused", once, func(l *history.Log) { l.Returned(1, history.Refused, 0) }, ""},
		{"never made", history.Promise{}, func(l *history.Log) {
			l.Returned(1, history.NotSent, 0)
			l.Executed(2, "server", 7)
		}, "Call 2 was executed 1 times and never made"},
		{"made twice", history.Promise{}, func(l *history.Log) {
			l.Called(1, "client")
			l.Returned(1, history.NotSent, 0)
		}, "made twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := logged()
			l.Called(1, "client")
			tt.run(l)
			expect(t, l.Check(tt.promise), tt.want)
		})
	}
}

// expect compares the first fault with a part of its text. Without want, nothing may be found.
func expect(t *testing.T, found []history.Fault, want string) {
	t.Helper()
	if want == "" {
		if len(found) > 0 {
			t.Errorf("found %v, want nothing", found)
		}
		return
	}
	if len(found) == 0 || !strings.Contains(found[0].String(), want) {
		t.Errorf("found %v, want %q", found, want)
	}
}

// Messages that overtake others, come twice, or do not come are reported.
func TestOrderOfMessagesIsChecked(t *testing.T) {
	for _, tt := range []struct {
		got       []uint64
		delivered bool
		want      string
	}{
		{got: []uint64{4, 5, 6}, delivered: true},
		{got: []uint64{4, 5}},
		{got: []uint64{4, 5}, delivered: true, want: "3 messages were sent, 2 have arrived"},
		{got: []uint64{4, 6}, want: "message 6 arrives in place 1, where 5 was sent"},
		{got: []uint64{4, 4}, want: "message 4 arrives in place 1"},
		{got: []uint64{4, 5, 6, 6}, want: "message 6 arrives in place 3, where none was sent"},
	} {
		l := logged()
		for n := range uint64(3) {
			l.Sent("server to client", 4+n)
		}
		for _, n := range tt.got {
			l.Got("server to client", n)
		}
		expect(t, l.Check(history.Promise{Delivered: tt.delivered}), tt.want)
	}
}

// A fault has the history of its Call, and of no other, and leaves out the middle of a long one.
func TestFaultHasTheHistoryOfItsCall(t *testing.T) {
	l := logged()
	l.Called(1, "client")
	l.Called(2, "client")
	l.Executed(1, "server, connection 3", 7)
	l.Note("connection 3 is lost", 1, 2)
	l.Executed(1, "server, connection 4", 8)
	l.Returned(2, history.NotSent, 0)
	l.Returned(1, history.Answered, 8)
	found := l.Check(history.Promise{Once: true})
	want := `Call 1 was executed 2 times, want once at most
		          1s  client calls
		          3s  server, connection 3 executes it, result 7
		          4s  connection 3 is lost
		          6s  server, connection 4 executes it, result 8
		          8s  the caller has result 8`
	if len(found) != 1 || found[0].String() != want {
		t.Errorf("found %v, want\n%s", found, want)
	}
	if n := l.Executions(1); n != 2 || l.Executions(9) != 0 {
		t.Errorf("Call 1 was executed %d times, Call 9 %d times", n, l.Executions(9))
	}
	l = logged()
	l.Called(1, "client")
	for n := range 40 {
		l.Note(fmt.Sprintf("entry %d", n), 1)
	}
	text := l.Check(history.Promise{})[0].String()
	if lines := strings.Count(text, "\n"); lines != 25 || !strings.Contains(text, "17 lines are left out") || !strings.HasSuffix(text, "entry 39") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
}
