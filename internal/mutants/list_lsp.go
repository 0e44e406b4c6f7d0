package main

const lspFolder = "cmd/xdrgen/internal/lsp/"

var lspTests = []string{"cmd/xdrgen/internal/lsp"}

// lspMutants are in the language server.
var lspMutants = []mutant{
	{"a message of any length is read", lspFolder + "message.go", "		case n > maxMessage:", "		case n > 1<<62:", lspTests},
	{"a header of any length is read", lspFolder + "message.go", "*left--; *left < 0", "*left--; *left < -1<<40", lspTests},
	{"columns count bytes", lspFolder + "text.go", "	case e == utf8Bytes:", "	case true:", lspTests},
	{"columns count characters", lspFolder + "text.go", "		return 2, size\n", "		return 1, size\n", lspTests},
	{"a carriage return ends no line", lspFolder + "text.go", "c == '\\n' || c == '\\r' && (i+1 == len(b) || b[i+1] != '\\n')", "c == '\\n'", lspTests},
	{"an outdated check is shown", lspFolder + "check.go", "if u.edition != edition || s.units[u.key] != u {", "if s.units[u.key] != u {", lspTests},
	{"an edit lets the check run on", lspFolder + "unit.go", "	if s.check.unit == u {\n		s.check.cancel()", "	if s.check.unit == u && false {\n		s.check.cancel()", lspTests},
	{"a request is answered from old texts", lspFolder + "requests.go", "			if !u.fresh() {\n", "			if u.analysis == nil {\n", lspTests},
	{"other units do not see an edit", lspFolder + "unit.go", "d != nil && d.unit == u || u.analysis.reads(path)", "d != nil && d.unit == u", lspTests},
	{"a closed document keeps its text", lspFolder + "documents.go", "	delete(s.texts, d.path)\n", "", lspTests},
	{"exit without shutdown is a success", lspFolder + "server.go", "		if s.phase == stopping {\n			return true, 0\n		}\n		return true, 1\n", "		return true, 0\n", lspTests},
	{"a waiting request outlives shutdown", lspFolder + "server.go", "	for _, r := range s.queue {\n		s.out.respond(r.id, nil, fail(codeCancelled, \"the server shuts down\"))\n	}\n", "", lspTests},
	{"a text that is too large is kept", lspFolder + "documents.go", "		d.text = nil\n", "", lspTests},
	{"a fix changes an extracted file", lspFolder + "actions.go", " && f.Origin == nil", "", lspTests},
	{"a fix is offered anywhere", lspFolder + "actions.go", " || d.Span.Start > end || d.Span.End < start {", " {", lspTests},
	{"any declaration with the name is meant", lspFolder + "references.go", "if targetOf(thingOf(u)) == of &&", "if targetOf(thingOf(u)).name == of.name &&", lspTests},
	{"references leave out sidecars", lspFolder + "references.go", "if targetOf(n.thing) == of &&", "if targetOf(n.thing) == of && false &&", lspTests},
	{"a comment of a sidecar has names", lspFolder + "sidecar.go", "				if word[0] == '#' {\n					break\n				}\n", "", lspTests},
	{"a declaration leads to itself", lspFolder + "definition.go", "	if n.at == n.thing.at {", "	if n.at == n.thing.at && false {", lspTests},
	{"a comment can close its block", lspFolder + "hover.go", "	for strings.Contains(text, fence) {", "	for false {", lspTests},
	{"any text is checked", lspFolder + "unit.go", " || !g.document(b) {", " {", lspTests},
	{"a job cannot be cancelled", lspFolder + "requests.go", "		s.query.cancel()\n", "", lspTests},
	{"the format of an old text is sent", lspFolder + "requests.go", "r.document.text != r.text && err == nil", "r.document == nil", lspTests},
	{"sizes of a unit with errors are shown", lspFolder + "hover.go", "	case !sized:", "	case false:", lspTests},
	{"any edit cancels a check", lspFolder + "unit.go", "d != nil && d.unit == u || u.analysis.reads(path)", "d != nil", lspTests},
	{"a file that changed during a check is not read again", lspFolder + "check.go", "if slices.ContainsFunc(changed, a.reads) {", "if false {", lspTests},
	{"a pipe is read", lspFolder + "documents.go", " && e.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) == 0", "", lspTests},
	{"a comment turns the text after it", lspFolder + "hover.go", "	if unicode.Is(unicode.Cf, r) || ", "	if ", lspTests},
	{"an expression has no uses", "cmd/internal/sema/index.go", "	if at.End-at.Start > len(s.name) { // an expression", "	if at.End-at.Start > len(s.name) {\n		return\n	}\n	if false {", []string{"cmd/internal/sema"}},
}
