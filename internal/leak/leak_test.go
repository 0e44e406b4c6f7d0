package leak

import (
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
