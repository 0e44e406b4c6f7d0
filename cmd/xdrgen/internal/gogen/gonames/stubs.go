package gonames

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Stubs are the names at package level of the stubs for one version of a program.
type Stubs struct{ Program, Client, NewClient, Server, NewService string }

// addStubs names the stubs of the programs in decls. Their names begin with the version's Go name,
// except for the lowest version of the first program, whose stubs have this prefix only if it is
// renamed. So a later version of the program, or a later program, does not change existing names
// (ADR 0045).
func (n *Names) addStubs(r *renamer, decls []*ir.Decl) {
	used := map[string]bool{}
	first := true
	for _, d := range decls {
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range ByNumber(d.Program.Versions) {
			prefix := n.vers[v]
			renamed := r.rename(d.Name+"."+v.Name) != "" || r.rename(v.Name) != ""
			if first && (!renamed || numberOnly(prefix)) {
				prefix, renamed = "", false
			}
			first = false
			usual := stubNamesOf(prefix, "")
			s := usual
			for more := "_"; !s.claim(used); more += "_" {
				s = stubNamesOf(prefix, more)
			}
			n.stub[v] = &s
			n.explain(&s, renamed, s != usual)
		}
	}
}

// stubNamesOf makes the names of stubs.
func stubNamesOf(prefix, more string) Stubs {
	client := prefix + "Client" + more
	return Stubs{
		Program: prefix + "Program" + more, Client: client, NewClient: "New" + client,
		Server: prefix + "Server" + more, NewService: "New" + prefix + "Service" + more,
	}
}

// claim takes the names if all of them are free, and reports whether they are.
func (s Stubs) claim(used map[string]bool) bool {
	all := []string{s.Program, s.Client, s.NewClient, s.Server, s.NewService}
	for _, name := range all {
		if used[name] {
			return false
		}
	}
	for _, name := range all {
		used[name] = true
	}
	return true
}

// numberOnly reports whether the name of a version is Version, or Version and its number. Then it
// names the constant alone.
func numberOnly(name string) bool {
	rest, ok := strings.CutPrefix(name, "Version")
	return ok && strings.Trim(rest, "0123456789") == ""
}
