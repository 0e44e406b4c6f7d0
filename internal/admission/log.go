package admission

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxRecords is the number of log records in a second that a peer can cause.
const maxRecords = 10

// limited is a slog.Handler that omits records below slog.LevelError when there are more than
// maxRecords in a second. The next record has the number of those omitted.
type limited struct {
	slog.Handler
	state *limitState
}

type limitState struct {
	mu      sync.Mutex
	began   time.Time
	records int
	omitted int
}

// LimitLog returns a logger for records that a peer can cause.
func LimitLog(l *slog.Logger) *slog.Logger {
	return slog.New(limited{l.Handler(), new(limitState)})
}

// Handle implements slog.Handler.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		omitted, ok := l.state.allow(r.Time)
		if !ok {
			return nil
		}
		if omitted > 0 {
			r.AddAttrs(slog.Int("omitted", omitted))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.state}
}

// WithGroup implements slog.Handler.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.state}
}

// allow reports whether a record may be logged, and how many were omitted before it.
func (s *limitState) allow(now time.Time) (omitted int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= time.Second {
		s.began, s.records = now, 0
	}
	if s.records == maxRecords {
		s.omitted++
		return 0, false
	}
	s.records++
	omitted, s.omitted = s.omitted, 0
	return omitted, true
}
