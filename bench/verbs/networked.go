package verbs

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	rdma "github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A provider that runs over IP takes part by a line in networked: client and
// server each open a device of it, and listen and dial on 127.0.0.1.
type provider struct {
	name string
	open func() (rdma.Device, error)
}

func networked() []provider {
	return []provider{
		{"rdmatcp", func() (rdma.Device, error) { return rdmatcp.Open(nil) }},
	}
}
