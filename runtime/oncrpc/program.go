package oncrpc

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Program describes one version of an RPC program to a client or server. Generated packages have
// its parts:
//
//	var storeV1 = oncrpc.Program{
//		Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings(),
//	}
type Program struct {
	Number, Version uint32

	// Bindings is the upper-layer binding: the items that may travel by direct data placement.
	// Bindings of other programs and versions are ignored. If nil, no item may.
	Bindings []xdr.Binding

	// Idempotent are the procedures that may be executed twice without harm. Clients may send a
	// Call of such a procedure again although the server may have executed it, and servers execute
	// it again. All other procedures except the null procedure are taken to do harm when repeated.
	Idempotent []uint32

	// Name and Procedures are the names of the version and the procedures, such as "NFS3" and
	// "GETATTR", for errors and logs. If they are missing, errors and logs show only numbers.
	Name       string
	Procedures map[uint32]string
}

// Describe returns the names of a procedure, if known, and its numbers: "NFS3 GETATTR (100003 v3
// proc 1)" or "program 100003 (0x186a3) version 3 procedure 1".
func (p *Program) Describe(proc uint32) string {
	name := p.Name
	if of := p.Procedures[proc]; name != "" && of != "" {
		name += " " + of
	} else if of != "" {
		name = of
	}
	if name == "" {
		return fmt.Sprintf("program %d (%#x) version %d procedure %d", p.Number, p.Number, p.Version, proc)
	}
	return fmt.Sprintf("%s (%d v%d proc %d)", name, p.Number, p.Version, proc)
}

// Sites returns the sites that are eligible in one direction of a procedure: in its results, or
// in its arguments.
func (p *Program) Sites(proc uint32, results bool) (sites []xdr.Site) {
	for i := range p.Bindings {
		b := &p.Bindings[i]
		if b.Program == p.Number && b.Version == p.Version && b.Procedure == proc && b.Reply == results {
			sites = append(sites, b.Site)
		}
	}
	return sites
}
