package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// warn logs what a peer caused, at most Config.LogRate lines in a second. The caller holds no lock,
// because the handler may block.
func (d *Device) warn(what string, attrs ...slog.Attr) {
	d.log.LogAttrs(context.Background(), slog.LevelWarn, what, attrs...)
}

// logRefused counts and logs a connection that was refused.
func (d *Device) logRefused(counter *atomic.Int64, conn net.Conn, why error) {
	counter.Add(1)
	d.warn("connection refused",
		slog.String("device", d.cfg.Attrs.Name), slog.Any("at", conn.LocalAddr()), slog.Any("peer", conn.RemoteAddr()), slog.Any("error", why))
}

// logEnd logs the error that broke a connection. It does not log an orderly close.
func (q *queues) logEnd(c *Conn) {
	err := q.Err()
	if !errors.Is(err, verbs.ErrConnectionBroken) {
		return
	}
	q.dev.warn("connection broken", slog.String("device", q.dev.cfg.Attrs.Name), slog.Any("peer", c.conn.RemoteAddr()), slog.Any("error", err))
}
