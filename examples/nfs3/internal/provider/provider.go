// Package provider opens the verbs providers that the NFS examples offer by name.
package provider

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Open opens a device of the provider "iwarp" or "rdmatcp". The caller must Close it.
func Open(name string) (verbs.Device, error) {
	switch name {
	case "iwarp":
		return iwarp.Open(nil)
	case "rdmatcp":
		return rdmatcp.Open(nil)
	}
	return nil, fmt.Errorf("found provider %q, expected iwarp or rdmatcp", name)
}
