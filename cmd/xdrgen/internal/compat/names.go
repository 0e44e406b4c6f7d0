package compat

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

// names reports Go names that changed though the XDR names did not.
func (c *comparer) names(old, new []ir.Rename) {
	was := make(map[string]ir.Rename, len(old))
	for _, n := range old {
		was[n.XDR] = n
	}
	for _, n := range new {
		if o, ok := was[n.XDR]; ok && o.GoName != n.GoName {
			c.add(GoNameChanged, n.XDR, o.Pos, n.Pos, "%s is %s in Go, and was %s", n.XDR, n.GoName, o.GoName)
		}
	}
}
