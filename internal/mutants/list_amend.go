package main

const (
	amendFile      = "cmd/internal/sema/amend.go"
	amendCopyFile  = "cmd/internal/sema/amendcopy.go"
	amendMergeFile = "cmd/internal/sema/amendmerge.go"
	amendLooseFile = "cmd/internal/sema/amendloose.go"
)

// amendMutants are in the amendments of included units.
var amendMutants = []mutant{
	{"what contains an amended type is not copied", amendCopyFile, "\t\tfor _, by := range users[d] {\n\t\t\tadd(by)\n", "\t\tfor range users[d] {\n", semaTests},
	{"an open enum is copied into all that contains it", amendCopyFile, "if d.Kind != ir.Enum || !d.Open {", "if true {", semaTests},
	{"an extension keeps what another one has replaced", amendCopyFile, "\t\t\tif a.stale(d) {\n", "\t\t\tif a.stale(d) && false {\n", gogenTests},
	{"additions of included units are lost", amendCopyFile, "\t\t\t\tadds = append(adds, part{i, d})\n", "\t\t\t\t_ = d\n", semaTests},
	{"names in additions mean what they mean in the unit that copies", amendCopyFile, "\t\t\ta.u.amended.homes[p.def.Span.File] = p.unit\n", "", semaTests},
	{"names in copies mean what they mean in the unit that copies", amendCopyFile, "\ta.u.amended.homes[whole.def.Span.File] = whole.unit\n", "", semaTests},
	{"a type that two units amend means the first", amendCopyFile, "\t\t\t\tclash[original] = s\n", "", semaTests},
	{"two copies have one name", amendCopyFile, "if old := done[s.name]; old != nil {", "if old := done[s.name]; old != nil && old == s {", semaTests},
	{"an amended name means any unit's declaration", amendFile, "ch != nil && ch.of == original", "ch != nil", semaTests},
	{"the first declaration is meant", "cmd/internal/sema/names.go", "if len(all) > 1 && !u.undeclared.reported[name] {", "if len(all) > 9 {", semaTests},
	{"typedefs of one type differ", "cmd/internal/sema/names.go", "\treturn sameTypedef(a, b)\n", "\treturn false\n", semaTests},
	{"constants with one number differ", "cmd/internal/sema/names.go", "a.state != resolved || b.state != resolved || a.value.Neg == b.value.Neg && a.value.Abs == b.value.Abs", "false", semaTests},
	{"the first copy stands for all", "cmd/internal/sema/names.go", "if !ok || of == u || slices.Contains(of.imports, old.unit) {", "if !ok || of == u || of == old.unit {", semaTests},
	{"the line from of an enum leaves out its members", "cmd/internal/sema/names.go", "\tif sym.member != nil {\n\t\treturn s.from[sym.decl.Name].Text\n\t}\n", "", semaTests},
	{"a case is any enum's member", "cmd/internal/sema/consts.go", "return s.isConst() && (s.member != nil && s.decl == enum || enum == nil)", "return s.isConst()", semaTests},
	{"a version of the first unit is meant", "cmd/internal/sema/numbers.go", "\tif len(chosen) > 0 {\n", "\tif chosen = all[:min(1, len(all))]; len(chosen) > 0 {\n", semaTests},
	{"an added member may have a name of another unit", "cmd/internal/sema/redeclare.go", "case added && other.decl.Original() != s.decl.Original():", "case added && s == other:", semaTests},
	{"lines about another unit's program are inherited", "cmd/internal/sema/amendlines.go", "there == nil || there.decl.Original() != s.decl.Original()", "there == nil", semaTests},
	{"arms with types of two units are one arm", amendMergeFile, "\t\tk.decl = s.decl.Original()\n", "\t\t_ = s\n", semaTests},
	{"an arm's label does not say where the arm belongs", amendLooseFile, "if len(by) != 1 {", "if len(by) != 0 {", semaTests},
	{"a comment may name a type that the sidecar leaves out", amendLooseFile, "\t\t\tnamed, other = \"\", another\n", "", semaTests},
	{"the help for changes in one type names no line", "cmd/internal/sema/amendcopy.go", "if lines := a.shared(); len(lines) > 0 {", "if lines := a.shared(); len(lines) >= 0 {", semaTests},
	{"a whole type under amend is never replaced", "cmd/internal/sema/amendwhole.go", "if len(names) == len(have) {", "if len(names) > len(have) {", semaTests},
	{"repeated cases are added again", "cmd/internal/sema/amendwhole.go", "return has(l.Text) })", "return has(l.Text) && d.Disc == nil })", semaTests},
	{"each version outside a program is a finding", "cmd/internal/syntax/outside.go", "if !p.strays.found || p.strays.end != p.i {", "if !p.strays.found || p.strays.end <= p.i {", semaTests},
	{"a line amend for a program that is outside one adds nothing", amendFile, "a.open[ir.Program] || f.Outside", "a.open[ir.Program] && f.Outside", semaTests},
	{"unknown marks stay in the XDR", "internal/xdrdoc/marks.go", "if out = append(out, m); !m.comment() {", "if out = append(out, m); m.comment() {", xdrgenTests},
	{"compat pairs names of any unit", "cmd/xdrgen/internal/compat/match.go", "return place{imp.Unit, d.Name}", "return place{root, d.Name}", compatTests},
	{"compat takes a constant of another unit as the bound", "cmd/xdrgen/internal/compat/decl.go", "c.oldUses[old] || c.newUses[new]", "len(c.oldUses) > 0 || c.newUses[new]", compatTests},
	{"dump takes the first unit's type", "cmd/internal/dynamic/find.go", "case len(fit) == 1 || fit[0].Import == nil || allEqual(fit):", "case len(fit) > 0:", dynamicTests},
	{"two units may replace one type", amendCopyFile, "case by != nil && !slices.Contains(i.imports, by.unit):", "case false:", semaTests},
	{"an added arm comes after the default", amendMergeFile, "if n := len(arms); n > 0 && len(arms[n-1].Default) > 0 {", "if n := len(arms); n < 0 {", semaTests},
	{"a further label makes a second arm", amendMergeFile, "if i, have := m.arms[k]; ok && have {", "if i, have := m.arms[k]; ok && have && i < 0 {", semaTests},
	{"an addition may take a number", amendMergeFile, "enum.decl.Of == nil || s == nil", "true || s == nil", semaTests},
	{"an addition may take a name", amendMergeFile, "if old := m.members[x.Name.Name]; old != nil {", "if old := m.members[x.Name.Name]; old != nil && old == x {", semaTests},
	{"a program may have another number", amendMergeFile, "if d.Kind == syntax.Program || d.Disc != nil", "if d.Disc != nil", semaTests},
	{"procedures are added to the included version", amendMergeFile, "\t\town := *m.def.Versions[i]\n\t\town.Procs = append(slices.Clone(own.Procs), v.Procs...)\n\t\tm.def.Versions[i] = &own\n", "\t\tm.def.Versions[i].Procs = append(m.def.Versions[i].Procs, v.Procs...)\n", semaTests},
	{"lines go to the first type that a comment names", amendLooseFile, "				name, several = w, name != \"\"\n", "				name = w\n", semaTests},
	{"an earlier comment counts", amendLooseFile, "for _, words := range slices.Backward(comments) {", "for _, words := range comments {", semaTests},
	{"the comment of one run holds for the next", "cmd/internal/syntax/loose.go", "\t\tif end := endOfLine(s.text, from); end < offset {\n\t\t\tfrom = end\n\t\t}\n", "\t\tfrom = 0\n", semaTests},
	{"a comment at the end of a line names the next type", "cmd/internal/syntax/loose.go", "\t\tif end := endOfLine(s.text, from); end < offset {\n\t\t\tfrom = end\n\t\t}\n", "", semaTests},
	{"guesses have no warning", amendLooseFile, "\t\t\tif to != guessed {\n", "\t\t\tif to != guessed && to == \"\" {\n", xdrgenTests},
	{"an arm without data stays where its label is taken", amendLooseFile, "slices.Contains(g.candidates, g.last) && !g.has[g.last+\" \"+label]", "slices.Contains(g.candidates, g.last) && label != \"\"", semaTests},
	{"a line that changes nothing is accepted", amendFile, "case !l.Replace && len(ch.adds) == 0 &&", "case l.Replace && len(ch.adds) == 0 &&", semaTests},
	{"the lines of a sidecar do not hold for copies", "cmd/internal/sema/amendlines.go", "s == nil || s.decl.Of == nil || in.have[key]", "s == nil || s.decl.Of != nil || in.have[key]", semaTests},
	{"an amended type means the original in other units", "cmd/internal/sema/names.go", "\t\treturn by.sym\n", "\t\treturn s\n", semaTests},
	{"copies have other Go names", "cmd/xdrgen/internal/gogen/gonames/inherit.go", "if r.renames[xdr] == \"\" && g != \"\" {", "if false {", gogenTests},
	{"all declarations of an included unit are found", "cmd/internal/ir/walk.go", "return by != nil && by != d\n", "return by != nil && by != d && false\n", xdrgenTests},
	{"each change is an extension", "cmd/xdrgen/internal/compat/pure.go", "c.Effects.Wire == OK && c.Effects.Extension() == OK", "c.Effects.Wire == OK", xdrgenTests},
	{"a case in place of a default is an extension", "cmd/xdrgen/internal/compat/pure.go", "c.Rule != ArmOfDefault && ", "", xdrgenTests},
}
