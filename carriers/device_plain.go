//go:build !ibverbs

package carriers

import (
	"context"
	"errors"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// OpenDevice opens the RDMA device that has an IP address of this machine, by the provider ibverbs;
// the only device if local is the zero Addr. A program that is built without the tag ibverbs has no
// such provider, since it would link the program to the system's C library: OpenDevice then returns
// an error.
func OpenDevice(context.Context, netip.Addr) (verbs.Device, error) { return nil, errNoProvider }

var errNoProvider = errors.New("this program has no provider ibverbs: build it with -tags ibverbs, or set Choice.Open")
