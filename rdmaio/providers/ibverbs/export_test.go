package ibverbs

import (
	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// OpenWithWindows is Open for a device whose windows do not protect the memory around them, as
// those of rxe.
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
	q.WindowsUnbounded = false
	return open(l, cfg, &q)
}
