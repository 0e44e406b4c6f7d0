package gogen

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// stubNames are the names at package level of the stubs for one version of a program.
type stubNames struct{ program, client, newClient, server, newService string }

// addStubs names the stubs of the programs in decls. They begin with the Go name of the version,
// but those of the lowest version of the first program do so only if it is renamed. A later version
// of the program, or a later program, changes none of them (ADR 0045).
func (n *names) addStubs(r *renamer, decls []*ir.Decl) {
	used := map[string]bool{}
	first := true
	for _, d := range decls {
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range byNumber(d.Program.Versions) {
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
func stubNamesOf(prefix, more string) stubNames {
	client := prefix + "Client" + more
	return stubNames{
		program: prefix + "Program" + more, client: client, newClient: "New" + client,
		server: prefix + "Server" + more, newService: "New" + prefix + "Service" + more,
	}
}

// claim takes the names if all of them are free, and reports whether they are.
func (s stubNames) claim(used map[string]bool) bool {
	all := []string{s.program, s.client, s.newClient, s.server, s.newService}
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
