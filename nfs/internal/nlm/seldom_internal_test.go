package nlm

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A flood of warnings is one line in a second, and the next says how many were left out. Errors are
// written.
func TestWarningsAreSeldom(t *testing.T) {
	var out strings.Builder
	h := &seldom{Handler: slog.NewTextHandler(&out, nil)}
	write := func(level slog.Level, after time.Duration) string {
		out.Reset()
		if err := h.Handle(context.Background(), slog.NewRecord(time.Unix(1000, 0).Add(after), level, "text", 0)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if !strings.Contains(write(slog.LevelWarn, 0), "text") {
		t.Error("the first warning is left out")
	}
	if got := write(slog.LevelWarn, time.Millisecond) + write(slog.LevelWarn, 999*time.Millisecond); got != "" {
		t.Errorf("found %q, expected nothing", got)
	}
	if !strings.Contains(write(slog.LevelError, time.Millisecond), "text") {
		t.Error("an error is left out")
	}
	if got := write(slog.LevelWarn, time.Second); !strings.Contains(got, "omitted=2") {
		t.Errorf("found %q, expected omitted=2", got)
	}
}
