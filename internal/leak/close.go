package leak

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Close closes c, at the end of a test for example. If that takes longer than Patience, the test
// fails with the stacks of this module's goroutines. Otherwise a test that hangs in Close would say
// nothing before the process is at the time limit of all tests.
func Close(t testing.TB, c io.Closer) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	timer := time.NewTimer(Patience())
	defer timer.Stop()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("Close of a %T: %v", c, err)
		}
	case <-timer.C:
		t.Errorf("Close of a %T has not returned after %v:\n\n%s", c, Patience(), strings.Join(Goroutines(modulePath), "\n\n"))
	}
}

// Patience is the time after which a test gives up waiting: a minute, or the duration in the
// environment variable PATIENCE, which internal/mutants sets.
func Patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("PATIENCE")); err == nil {
		return d
	}
	return time.Minute
}
