//go:build ibverbs

package provider

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A program with this provider is linked to the system's C library, so it has a build tag.
func init() {
	providers["ibverbs"] = provider{"ibverbs[=DEVICE]", func(device string) (verbs.Device, error) {
		return ibverbs.Open(&ibverbs.Config{Device: device})
	}}
}
