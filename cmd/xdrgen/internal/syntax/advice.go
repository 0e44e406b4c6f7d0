package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

// expectation turns participle's "(expected ...)" into words.
func expectation(message string) string {
	_, e, _ := strings.Cut(message, "(expected ")
	e = strings.TrimSuffix(e, ")")
	switch {
	case e == "":
		return "something else"
	case strings.HasPrefix(e, `"`):
		return strings.Split(e, `"`)[1]
	case strings.HasPrefix(e, "<ident>"), strings.HasPrefix(e, "GConst"),
		strings.HasPrefix(e, "GEnumDef"), strings.HasPrefix(e, "GStructDef"), strings.HasPrefix(e, "GUnionDef"):
		return "a name"
	case strings.HasPrefix(e, "GValue"):
		return "a number or the name of a constant"
	case strings.HasPrefix(e, "GEnumBody"), strings.HasPrefix(e, "GStructBody"):
		return "{"
	case strings.HasPrefix(e, "GUnionBody"):
		return "switch"
	case strings.HasPrefix(e, "GLabel"), strings.HasPrefix(e, "GArm"):
		return "case or default"
	case strings.HasPrefix(e, "GStruct"), strings.HasPrefix(e, "GUnion"), strings.HasPrefix(e, "GEnum"):
		return "a name or {"
	case strings.HasPrefix(e, "GDecl"), strings.HasPrefix(e, "GType"), strings.HasPrefix(e, "GField"):
		return "a type"
	case strings.HasPrefix(e, "GVersion"):
		return "version"
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(e, `"`, "")), " ")
}

// advise adds what to do about a fault at token k.
func advise(d diag.Diagnostic, toks []token, k int, expected string) diag.Diagnostic {
	t, last := tokenAt(toks, k), toks[max(k-1, 0)]
	switch {
	case toks[0].is("typedef") && t.is("="):
		return d.Helpf("write the existing type, then the new name, and no =")
	case t.is(",") && !toks[0].is("enum"):
		return d.Helpf("declare each name by itself, with its type and a ; of its own")
	case t.is("[") && last.is("]"), t.is("[") && last.is(">"), t.is("<") && (last.is("]") || last.is(">")):
		return d.Helpf("XDR has no arrays of more than one dimension: declare the inner array with typedef, then an array of its name")
	case expected == "=" && last.is("}"):
		return d.Helpf("write = and the number after the }")
	case expected == "=" && last.is(")"):
		return d.Helpf("write = and the number of the procedure after the )")
	case expected == "switch" && t.is("{") && last.is("union"):
		return d.Helpf("a union of XDR says which arm it has: write union switch (TYPE NAME) { case VALUE: ... }")
	case expected == "switch" && t.is("{"):
		return d.Helpf("a union of XDR says which arm it has: write union %s switch (TYPE NAME) { case VALUE: ... }", last.text)
	case expected == "case or default":
		return d.Helpf("begin each arm of a union with case VALUE: or default:")
	case expected == "(" && toks[0].is("program"):
		return d.Helpf("write the arguments of a procedure in ( and ), void where there are none")
	case expected == "version":
		return d.Helpf("a program has versions, and those have the procedures: version NAME { ... } = NUMBER;")
	case expected == "{":
		return d.Helpf("put a { after %s, and a } at the end", last.text)
	case t.is("*") && last.is("struct"):
		return d.Helpf("declare struct NAME { ... }, and write NAME *field where there is one or none")
	case expected == "a name" && t.is("(") && last.kind == tIdent && toks[0].is("program"):
		d.Span = last.span(d.Span.File)
		d.Message = "procedure " + last.text + " has no type of its result"
		return d.Helpf("write the type before %s, void where there is no result", last.text)
	case expected == "a name" && t.is("{") && last.is("version"):
		return d.Helpf("give the version a name: version NAME { ... } = NUMBER;")
	case expected == "a name" && (t.is("{") || t.is("switch")):
		return d.Helpf("give the %s a name: %s NAME", toks[0].text, toks[0].text)
	case expected == "a name" && t.kind == tNumber:
		return d.Helpf("names begin with a letter or _")
	case expected == "a name" || expected == "a type":
		return d.Helpf("write %s here", expected)
	case t.is("signed") || last.is("signed"):
		return d.Helpf("remove signed: int and hyper have a sign")
	case strings.HasPrefix(expected, "a number"):
		return d.Helpf("write a number, or the name of a const or of a member of an enum")
	case expected == ";" && t.is(":"):
		return d.Helpf("XDR has no bit-fields: declare a whole number, and its bits as constants")
	case expected == ";" && t.is("("):
		return d.Helpf("only the procedures of a version have ( and ): XDR has no functions and no pointers to them")
	case expected == ";" && last.is("}") && typeWord(toks[0]) && t.kind == tIdent:
		return d.Helpf("XDR declares types and no variables: remove %s", t.text)
	case expected == ";":
		return d.Helpf("end what comes before with ;, or remove %s", t.text)
	}
	return d
}

// adviseJunk adds what to do about text that begins no definition.
func (p *splitter) adviseJunk(d diag.Diagnostic) diag.Diagnostic {
	t, next, after := p.toks[p.i], p.at(p.i+1), p.at(p.i+2)
	switch {
	case t.is("case"), t.is("default"):
		return d.Helpf("put it into a union, or look for the } that is too many above")
	case t.kind == tIdent && next.is("("):
		return d.Helpf("macros with arguments are not expanded: write what %s stands for, or begin the line with %% for C", t.text)
	case t.is("}"):
		return d.Helpf("remove it, or look for the { that is missing above")
	case t.is("import"), t.is("include"), t.is("using"):
		return d.Helpf("write #include \"FILE.x\" for a file of XDR")
	case t.is("class"), t.is("message"), t.is("record"), t.is("interface") && next.kind == tIdent:
		return d.Helpf("XDR has struct for this")
	case next.kind == tIdent && after.is("="):
		return d.Helpf("write const %s = and the value", next.text)
	case next.kind == tIdent && after.is("("), t.is("extern"), t.is("static"), t.is("inline"):
		return d.Helpf("begin the lines of C with %%, which passes them by")
	case next.kind == tIdent && (after.is(";") || after.is("[") || after.is("<")):
		return d.Helpf("put it into a struct, or write typedef before it")
	}
	return d
}

// inBraces returns what is expected at token k where the braces that it stands
// in may also end.
func inBraces(toks []token, k int) string {
	depth := 0
	for i := min(k, len(toks)) - 1; i > 0; i-- {
		switch {
		case toks[i].is("}"):
			depth++
		case toks[i].is("{"):
			depth--
		}
		switch {
		case depth >= 0:
		case toks[i-1].is(")"):
			return "case or default"
		case i == 2 && toks[0].is("program"):
			return "version"
		default:
			return "}"
		}
	}
	return "}"
}
