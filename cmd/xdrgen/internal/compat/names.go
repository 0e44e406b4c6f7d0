package compat

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// names reports declarations whose Go name changed but not their XDR name.
func (c *comparer) names(old, new []ir.Rename) {
	was := make(map[string]ir.Rename, len(old))
	for _, n := range old {
		was[n.XDR] = n
	}
	for _, n := range new {
		if o, ok := was[n.XDR]; ok && o.GoName != n.GoName {
			c.add(GoNameChanged, n.XDR, o.Pos, n.Pos, "Go name of %s changed from %s to %s", n.XDR, o.GoName, n.GoName)
		}
	}
}
