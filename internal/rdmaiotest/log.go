package rdmaiotest

import (
	"log/slog"
	"strings"
	"sync"
)

// Log collects the log of one side. Many goroutines may write.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Logger returns a Logger that writes to l.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns the text so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
