package ibverbs

import (
	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// OpenWithWindows is Open for a device whose windows do not protect the memory around them, such as
// rxe. The peer cannot invalidate them: an invalidation by both sides stops a kernel with
// rxe.
func OpenWithWindows(cfg *Config) (*Device, error) {
	l, err := lib.Open()
	if err != nil {
		return nil, err
	}
	all, err := l.Devices()
	if err != nil {
		return nil, err
	}
	ctx, err := choose(l, all, cfg)
	if err != nil {
		return nil, err
	}
	q := newDevice(l, ctx, rdmadev.System()).quirks
	q.WindowsUnbounded, q.UnreportedInvalidate = false, true
	return open(l, cfg, &q)
}
