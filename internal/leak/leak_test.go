package leak

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

type fakeTests int

func (f fakeTests) Run() int { return int(f) }

// holdOpen is the function of the goroutine that leaks.
func holdOpen(started, stop, done chan struct{}) {
	defer close(done)
	close(started)
	<-stop
}

// leakOne starts a goroutine that leaks, and returns when it runs: before, its stack may not name
// holdOpen.
func leakOne(stop, done chan struct{}) {
	started := make(chan struct{})
	go holdOpen(started, stop, done)
	<-started
}

const holdOpenPath = modulePath + "internal/leak.holdOpen"

func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tests fakeTests
		path  string
		leak  bool
		want  int
		said  string
	}{
		{"clean", 0, holdOpenPath, false, 0, ""},
		{"tests failed", 2, holdOpenPath, true, 2, ""},
		{"leak", 0, holdOpenPath, true, 1, "holdOpen"}, // the canary: a leak must be seen
		{"goroutine of another module", 0, "example.org/other/", true, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stop, done := make(chan struct{}), make(chan struct{})
			if tc.leak {
				leakOne(stop, done)
			} else {
				close(done)
			}
			var out strings.Builder
			got := run(tc.tests, tc.path, 5*time.Millisecond, &out)
			close(stop)
			<-done
			if got != tc.want || !strings.Contains(out.String(), tc.said) || tc.said == "" && out.Len() > 0 {
				t.Errorf("exit code %d, want %d; output %q", got, tc.want, out.String())
			}
		})
	}
}

func TestWaitIsPatient(t *testing.T) {
	stop, done := make(chan struct{}), make(chan struct{})
	leakOne(stop, done)
	time.AfterFunc(20*time.Millisecond, func() { close(stop) })
	if left := Wait(holdOpenPath, 5*time.Second); len(left) > 0 {
		t.Errorf("still there:\n%s", strings.Join(left, "\n\n"))
	}
	<-done
}

// closing is an io.Closer whose Close ends when the test lets it.
type closing struct {
	release chan struct{}
	err     error
}

func (c *closing) Close() error { <-c.release; return c.err }

// recorded is a testing.TB that records errors.
type recorded struct {
	testing.TB
	errors []string
}

func (r *recorded) Helper() {}
func (r *recorded) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// A Close that does not return fails the test with the stack in which it waits, and so does an
// error.
func TestCloseThatHangsFailsTheTest(t *testing.T) {
	t.Setenv("PATIENCE", "10ms")
	hung := &closing{release: make(chan struct{})}
	defer close(hung.release)
	ended := &closing{release: make(chan struct{}), err: errors.New("out of coffee")}
	close(ended.release)
	for _, tt := range []struct {
		c    io.Closer
		want string
	}{{hung, "(*closing).Close"}, {ended, "out of coffee"}} {
		r := &recorded{TB: t}
		if Close(r, tt.c); len(r.errors) != 1 || !strings.Contains(r.errors[0], tt.want) {
			t.Errorf("found %q, want one error with %q", r.errors, tt.want)
		}
	}
	fine := &closing{release: ended.release}
	r := &recorded{TB: t}
	if Close(r, fine); len(r.errors) != 0 {
		t.Errorf("found %q, want no error", r.errors)
	}
	t.Setenv("PATIENCE", "")
	if got := Patience(); got != time.Minute {
		t.Errorf("the default is %v", got)
	}
}
