package admission

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Ten records a second are logged, errors always, and the next record has the number of those left
// out.
func TestLogLinesBeyondTenASecondAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := LimitLog(slog.New(slog.NewTextHandler(&out, nil))).With("peer", "a")
		for range 15 {
			log.Warn("noise")
		}
		log.Error("failure")
		if n := strings.Count(out.String(), "noise"); n != 10 || !strings.Contains(out.String(), "failure") {
			t.Errorf("%d lines of 15, want 10, and the error:\n%s", n, out.String())
		}
		out.Reset()
		time.Sleep(time.Second)
		log.Warn("noise")
		if !strings.Contains(out.String(), "omitted=5") {
			t.Errorf("after a second: %s", out.String())
		}
	})
}
