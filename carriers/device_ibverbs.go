//go:build ibverbs

package carriers

import (
	"context"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// OpenDevice opens the RDMA device that has an IP address of this machine, by the provider ibverbs;
// the only device if local is the zero Addr. A program that is built without the tag ibverbs has no
// such provider, since it would link the program to the system's C library: OpenDevice then returns
// an error.
func OpenDevice(_ context.Context, local netip.Addr) (verbs.Device, error) {
	var cfg ibverbs.Config
	if local.IsValid() {
		cfg.Addr = local.WithZone("").String()
	}
	dev, err := ibverbs.Open(&cfg)
	if err != nil {
		return nil, err
	}
	return dev, nil
}
