package nlm

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logPause is the time after a warning, for which others are left out: a client can cause any
// number.
const logPause = time.Second

// seldom is a slog.Handler that leaves out warnings, and counts them in the next one. Errors are
// all written.
type seldom struct {
	slog.Handler
	mu      sync.Mutex
	last    time.Time
	omitted int
}

// Handle implements slog.Handler.
func (s *seldom) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		s.mu.Lock()
		if r.Time.Sub(s.last) < logPause {
			s.omitted++
			s.mu.Unlock()
			return nil
		}
		if s.omitted > 0 {
			r.AddAttrs(slog.Int("omitted", s.omitted))
		}
		s.last, s.omitted = r.Time, 0
		s.mu.Unlock()
	}
	return s.Handler.Handle(ctx, r)
}
