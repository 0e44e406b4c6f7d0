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

// A limit holds for all its loggers together, at its own rate. A record says how many were left out
// since the last one, once. Records that a handler discards are not counted.
func TestLoggersShareALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		limit := NewLogLimit(2)
		to := slog.New(slog.NewTextHandler(&out, nil))
		loggers := []*slog.Logger{limit.Logger(to), limit.Logger(to).With("peer", "a"), limit.Logger(to).WithGroup("conn")}
		write := func(n int) {
			for i := range n {
				loggers[i%len(loggers)].Warn("line")
			}
		}
		for _, n := range []int{5, 1, 1, 0, 3} {
			if write(n); n != 1 {
				time.Sleep(time.Second)
			}
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, "msg=line")
			got = append(got, strings.TrimSpace(rest))
		}
		if text := strings.Join(got, ","); text != ",peer=a,omitted=3,,,peer=a" || limit.Omitted() != 4 {
			t.Errorf("records %q; %d are left out, want 4", text, limit.Omitted())
		}
		silent := NewLogLimit(1)
		for range 3 {
			silent.Logger(slog.New(slog.DiscardHandler)).Warn("line")
		}
		if silent.Omitted() != 0 {
			t.Errorf("%d are left out of none", silent.Omitted())
		}
	})
}
