package admission

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// maxRecords is the number of log records in a second that a peer can cause.
const maxRecords = 10

// LogLimit limits the log records that peers can cause. It leaves out records below
// slog.LevelError when there are too many in a second. The next record says how many were left out.
type LogLimit struct {
	rate    Bucket
	omitted atomic.Int64 // records left out since the last one
	all     atomic.Int64 // records left out
}

// NewLogLimit returns a limit of rate records in a second.
func NewLogLimit(rate int) *LogLimit { return &LogLimit{rate: Bucket{Rate: rate}} }

// LimitLog returns a logger for records that a peer can cause: at most ten in a second.
func LimitLog(l *slog.Logger) *slog.Logger { return NewLogLimit(maxRecords).Logger(l) }

// Logger returns a logger that writes to l. All loggers of a LogLimit share it.
func (m *LogLimit) Logger(l *slog.Logger) *slog.Logger { return slog.New(limited{l.Handler(), m}) }

// Omitted returns the number of records that were left out.
func (m *LogLimit) Omitted() int64 { return m.all.Load() }

// limited is the slog.Handler of a logger with a limit.
type limited struct {
	slog.Handler
	limit *LogLimit
}

// Handle implements slog.Handler.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		if !l.limit.rate.Allow(r.Time) {
			l.limit.all.Add(1)
			l.limit.omitted.Add(1)
			return nil
		}
		if n := l.limit.omitted.Swap(0); n > 0 {
			r.AddAttrs(slog.Int64("omitted", n))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.limit}
}

// WithGroup implements slog.Handler.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.limit}
}
