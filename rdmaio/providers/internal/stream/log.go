package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// limitedLog writes log lines that peers cause, at most Config.LogRate in a second.
type limitedLog struct {
	to         *slog.Logger // nil: no output
	rate       admission.Bucket
	suppressed atomic.Int64 // lines left out
	unreported atomic.Int64 // those of them since the last line
}

// write writes a line unless the rate is exceeded. The caller holds no lock, because
// the handler may block.
func (j *limitedLog) write(what string, attrs ...slog.Attr) {
	if j.to == nil {
		return
	}
	if !j.rate.Allow(time.Now()) {
		j.suppressed.Add(1)
		j.unreported.Add(1)
		return
	}
	if n := j.unreported.Swap(0); n > 0 {
		attrs = append(attrs, slog.Int64("suppressed", n))
	}
	j.to.LogAttrs(context.Background(), slog.LevelWarn, what, attrs...)
}

// logRefused counts and logs a connection that was refused.
func (d *Device) logRefused(counter *atomic.Int64, conn net.Conn, why error) {
	counter.Add(1)
	d.log.write("connection refused",
		slog.String("device", d.cfg.Attrs.Name), slog.Any("at", conn.LocalAddr()), slog.Any("peer", conn.RemoteAddr()), slog.Any("error", why))
}

// logEnd logs the error that broke a connection. It does not log an orderly close.
func (q *queues) logEnd(c *Conn) {
	err := q.Err()
	if !errors.Is(err, verbs.ErrConnectionBroken) {
		return
	}
	q.dev.log.write("connection broken", slog.String("device", q.dev.cfg.Attrs.Name), slog.Any("peer", c.conn.RemoteAddr()), slog.Any("error", err))
}
