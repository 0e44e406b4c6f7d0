package transport

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// provider is a provider over IP: client and server each open a device, with its defaults, and
// connect over 127.0.0.1.
type provider struct {
	name string
	open func() (verbs.Device, error)
}

func networked() []provider {
	return []provider{
		{RDMATCP, func() (verbs.Device, error) { return rdmatcp.Open(nil) }},
		{IWARP, func() (verbs.Device, error) { return iwarp.Open(nil) }},
	}
}

// Networked reports whether a row is rdmaio over IP.
func Networked(name string) bool { return name == RDMATCP || name == IWARP }
