package main

const (
	amendFile      = "cmd/internal/sema/amend.go"
	amendCopyFile  = "cmd/internal/sema/amendcopy.go"
	amendMergeFile = "cmd/internal/sema/amendmerge.go"
	amendLooseFile = "cmd/internal/sema/amendloose.go"
)

// amendMutants are in the amendments of included units.
var amendMutants = []mutant{
	{"what contains an amended type is not copied", amendCopyFile, "\t\t\tcase !by.Inner:\n\t\t\t\tadd(by.Name)\n", "\t\t\tcase !by.Inner:\n", semaTests},
	{"an open enum is copied into all that contains it", amendCopyFile, "if d.Kind != ir.Enum || !d.Open {", "if true {", semaTests},
	{"an extension keeps what another one has replaced", amendCopyFile, "\t\t\tcase !a.stale(d):\n", "\t\t\tcase true:\n", gogenTests},
	{"additions of included units are lost", amendCopyFile, "\t\t\t\tadds = append(adds, part{i, d})\n", "\t\t\t\t_ = d\n", semaTests},
	{"names of two extensions may clash", amendCopyFile, "\t\tif p.unit != a.u {\n", "\t\tif p.unit == nil {\n", semaTests},
	{"a type that two units amend means the first", amendCopyFile, "\t\t\t\tclash[d.Name.Name] = s\n", "", semaTests},
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
	{"an arm without data stays where its label is taken", amendLooseFile, "g.last != \"\" && !g.has[g.last+\" \"+label]", "g.last != \"\" && label != \"\"", semaTests},
	{"a line that changes nothing is accepted", amendFile, "case !l.Replace && len(ch.adds) == 0 &&", "case l.Replace && len(ch.adds) == 0 &&", semaTests},
	{"the lines of a sidecar do not hold for copies", "cmd/internal/sema/amendlines.go", "s == nil || s.decl.Of == nil || in.have[key]", "s == nil || s.decl.Of != nil || in.have[key]", semaTests},
	{"an amended type means the original in other units", "cmd/internal/sema/unit.go", "s.decl.Of != nil && found.decl.Of == nil", "false", semaTests},
	{"copies have other Go names", "cmd/xdrgen/internal/gogen/gonames/inherit.go", "if r.renames[xdr] == \"\" && g != \"\" {", "if false {", gogenTests},
	{"all declarations of an included unit are found", "cmd/internal/ir/walk.go", "return by != nil && by != d\n", "return by != nil && by != d && false\n", xdrgenTests},
	{"each change is an extension", "cmd/xdrgen/internal/compat/pure.go", "c.Effects.Wire == OK && c.Effects.Extension() == OK", "c.Effects.Wire == OK", xdrgenTests},
	{"a case in place of a default is an extension", "cmd/xdrgen/internal/compat/pure.go", "c.Rule != ArmOfDefault && ", "", xdrgenTests},
}
