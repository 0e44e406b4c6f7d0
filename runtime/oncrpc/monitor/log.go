package monitor

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// Record is a warning or an error of a log.
type Record struct {
	Time  time.Time
	Level string
	Text  string // the message, and the attributes as name=value
}

// ring has the last records, oldest first.
type ring struct {
	most    int
	records []Record
	dropped uint64
}

func (r *ring) add(rec Record) {
	if len(r.records) == r.most {
		copy(r.records, r.records[1:])
		r.records[r.most-1] = rec
		r.dropped++
		return
	}
	r.records = append(r.records, rec)
}

// maxText limits a record's text, which may quote a peer, in bytes.
const maxText = 2 << 10

// Log returns a slog.Handler that passes all records to next, and keeps the last ones of level Warn
// and above for the page. next may be nil.
//
//	cfg.Logger = slog.New(m.Log(slog.Default().Handler()))
func (m *Monitor) Log(next slog.Handler) slog.Handler {
	if next == nil {
		next = slog.DiscardHandler
	}
	return &logHandler{m: m, next: next}
}

type logHandler struct {
	m      *Monitor
	next   slog.Handler
	attrs  string // of With, as text
	groups string // the prefix of further names
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		var b strings.Builder
		b.WriteString(r.Message)
		b.WriteString(h.attrs)
		r.Attrs(func(a slog.Attr) bool {
			writeAttr(&b, h.groups, a)
			return b.Len() < maxText
		})
		text := b.String()
		if len(text) > maxText {
			text = strings.ToValidUTF8(text[:maxText], "") + "..."
		}
		h.m.mu.Lock()
		h.m.last.add(Record{r.Time, r.Level.String(), text})
		h.m.mu.Unlock()
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&b, h.groups, a)
	}
	return &logHandler{h.m, h.next.WithAttrs(attrs), b.String(), h.groups}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{h.m, h.next.WithGroup(name), h.attrs, h.groups + name + "."}
}

// writeAttr writes an attribute, or a group's attributes.
func writeAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if !a.Equal(slog.Attr{}) {
			b.WriteString(" " + prefix + a.Key + "=" + v.String())
		}
		return
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, in := range v.Group() {
		writeAttr(b, prefix, in)
	}
}
