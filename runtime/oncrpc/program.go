package oncrpc

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// Program is one version of an RPC program: what both sides have to know of it
// besides its types. Generated packages have all three parts:
//
//	var storeV1 = oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}
type Program struct {
	Number, Version uint32

	// Bindings are the upper-layer binding: what may travel by direct data
	// placement. Those of other programs and versions are not looked at. nil is a program that has none.
	Bindings []xdr.Binding
}

// Sites returns what is eligible in one direction of a procedure: in its
// arguments, or in its results.
func (p *Program) Sites(proc uint32, results bool) (sites []xdr.Site) {
	for i := range p.Bindings {
		b := &p.Bindings[i]
		if b.Program == p.Number && b.Version == p.Version && b.Procedure == proc && b.Reply == results {
			sites = append(sites, b.Site)
		}
	}
	return sites
}
