package oncrpc

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Program is one version of an RPC program: what both sides have to know of it
// besides its types. Generated packages have all three parts:
//
//	var storeV1 = oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}
type Program struct {
	Number, Version uint32

	// Bindings are the upper-layer binding: what may travel by direct data
	// placement. Those of other programs and versions are not looked at. nil is a program that has none.
	Bindings []xdr.Binding

	// Name and Procedures are the names of the version and of its procedures, for errors and logs: "NFS3" and "GETATTR".
	// Without them there are the numbers only.
	Name       string
	Procedures map[uint32]string
}

// Describe returns a procedure in words, as far as they are known, and numbers: "NFS3 GETATTR (100003 v3 proc 1)", or
// "program 100003 version 3 procedure 1".
func (p *Program) Describe(proc uint32) string {
	name := p.Name
	if of := p.Procedures[proc]; name != "" && of != "" {
		name += " " + of
	} else if of != "" {
		name = of
	}
	if name == "" {
		return fmt.Sprintf("program %d version %d procedure %d", p.Number, p.Version, proc)
	}
	return fmt.Sprintf("%s (%d v%d proc %d)", name, p.Number, p.Version, proc)
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
