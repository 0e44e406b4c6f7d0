package verbs

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	rdma "github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// provider is a provider over IP. To measure another one, add a line to networked: client and
// server each open a device, and connect over 127.0.0.1.
type provider struct {
	name string
	open func() (rdma.Device, error)
}

func networked() []provider {
	return []provider{
		{"rdmatcp", func() (rdma.Device, error) { return rdmatcp.Open(nil) }},
		{"iwarp", func() (rdma.Device, error) { return iwarp.Open(nil) }},
	}
}
