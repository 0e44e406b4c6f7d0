package transport

import (
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// provider is a provider over IP: client and server each open a device, with its defaults, and
// connect over 127.0.0.1.
type provider struct {
	name     string
	open     func() (verbs.Device, error)
	versions []int // of RPC-over-RDMA; nil: the default, version 1
	whole    bool  // bulk data is in a continued message, not in chunks
}

func networked() []provider {
	return []provider{
		{RDMATCP, openRDMATCP, nil, false},
		{RDMATCP2, openRDMATCP, []int{2}, false},
		{Continued, openRDMATCP, []int{2}, true},
		{IWARP, func() (verbs.Device, error) { return iwarp.Open(nil) }, nil, false},
	}
}

func openRDMATCP() (verbs.Device, error) { return rdmatcp.Open(nil) }

// config returns the Config of a connection of p for a number of concurrent calls.
func (p *provider) config(depth int) *rdmaio.Config {
	cfg := config(depth)
	cfg.Versions = p.versions
	if p.whole {
		cfg.Continue = 128 << 10
	}
	return cfg
}

// HasFloor reports whether the floor has the messages of a row. Those of version 2 differ from them
// in a few octets.
func HasFloor(name string) bool { return name == RDMATCP || name == RDMATCP2 }

// Networked reports whether a row is rdmaio over IP.
func Networked(name string) bool { return name == RDMATCP || name == RDMATCP2 || name == IWARP }
