package syntax

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// expectation returns the "(expected ...)" part of a participle message in words.
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

// advise adds help on a syntax error at token k.
func advise(d diag.Diagnostic, toks []token, k int, expected string) diag.Diagnostic {
	t, last := tokenAt(toks, k), toks[max(k-1, 0)]
	switch {
	case toks[0].is("typedef") && t.is("="):
		return d.Helpf("write the existing type, then the new name, without =")
	case t.is(",") && !toks[0].is("enum"):
		return d.Helpf("declare each name separately: TYPE NAME;")
	case t.is("[") && last.is("]"), t.is("[") && last.is(">"), t.is("<") && (last.is("]") || last.is(">")):
		return d.Helpf("XDR has no arrays of more than one dimension: declare the inner array with typedef, then an array of its name")
	case expected == "=" && last.is("}"):
		return d.Helpf("write = and the number after the }")
	case expected == "=" && last.is(")"):
		return d.Helpf("write = and the number of the procedure after the )")
	case expected == "switch" && t.is("{") && last.is("union"):
		return d.Helpf("an XDR union has a discriminant: write union switch (TYPE NAME) { case VALUE: ... }")
	case expected == "switch" && t.is("{"):
		return d.Helpf("an XDR union has a discriminant: write union %s switch (TYPE NAME) { case VALUE: ... }", last.text)
	case expected == "case or default":
		return d.Helpf("begin each arm of a union with case VALUE: or default:")
	case expected == "(" && toks[0].is("program"):
		return d.Helpf("write the arguments of a procedure in parentheses, or (void) if there are none")
	case expected == "version":
		return d.Helpf("declare the procedures in a version of the program: version NAME { ... } = NUMBER;")
	case expected == "{":
		return d.Helpf("put a { after %s, and a } at the end", last.text)
	case t.is("*") && last.is("struct"):
		return d.Helpf("declare struct NAME { ... }, and write NAME *field for an optional one")
	case expected == "a name" && t.is("(") && last.kind == tIdent && toks[0].is("program"):
		d.Span = last.span(d.Span.File)
		d.Message = "procedure " + last.text + " has no result type"
		return d.Helpf("write the type before %s, or void if there is no result", last.text)
	case expected == "a name" && t.is("{") && last.is("version"):
		return d.Helpf("give the version a name: version NAME { ... } = NUMBER;")
	case expected == "a name" && (t.is("{") || t.is("switch")) && declared(toks) != "":
		word, name, body := toks[0].text, declared(toks), "{ ... }"
		if t.is("switch") {
			body = "switch (TYPE NAME) { ... }"
		}
		return d.Helpf("this form of RFC 4506 §4 declares %s inside another type; a definition of its own has the name in front, %s %s %s; or is a typedef, typedef %s %s %s;",
			name, word, name, body, word, body, name)
	case expected == "a name" && (t.is("{") || t.is("switch")):
		return d.Helpf("give the %s a name: %s NAME", toks[0].text, toks[0].text)
	case expected == "a name" && t.kind == tNumber:
		return d.Helpf("names begin with a letter or _")
	case expected == "a name" || expected == "a type":
		return d.Helpf("write %s here", expected)
	case t.is("signed") || last.is("signed"):
		return d.Helpf("remove signed: int and hyper are signed")
	case strings.HasPrefix(expected, "a number"):
		return d.Helpf("write a number, or the name of a constant or enum member")
	case expected == ";" && t.is(":"):
		return d.Helpf("XDR has no bit-fields: declare an integer, and its bits as constants")
	case expected == ";" && (t.is("(") && tokenAt(toks, k+2).is(")") || t.is("{") && tokenAt(toks, k+2).is("}")) && tokenAt(toks, k+1).kind == tNumber:
		n := tokenAt(toks, k+1).text
		return d.Helpf("write a length between [ and ] or < and >: %s[%s] has exactly that length, %[1]s<%[2]s> at most", last.text, n)
	case expected == ";" && t.is("("):
		return d.Helpf("only procedures have parentheses: XDR has no functions and no pointers to them")
	case expected == ";" && last.is("}") && typeWord(toks[0]) && t.kind == tIdent:
		return d.Helpf("XDR declares types, not variables: remove %s", t.text)
	case expected == ";":
		return d.Helpf("put a ; before %s, or remove it", t.text)
	}
	return d
}

// declared returns the name of a declaration that ends "} NAME;", or "".
func declared(toks []token) string {
	n := len(toks)
	if n > 0 && toks[n-1].is(";") {
		n--
	}
	if n > 2 && toks[n-1].kind == tIdent && toks[n-2].is("}") {
		return toks[n-1].text
	}
	return ""
}

// adviseJunk adds help on text that does not begin a definition.
func (p *splitter) adviseJunk(d diag.Diagnostic) diag.Diagnostic {
	t, next, after := p.toks[p.i], p.at(p.i+1), p.at(p.i+2)
	switch {
	case t.is("case"), t.is("default"):
		return d.Helpf("write case VALUE: TYPE name; and move it into a union, or remove an extra } above")
	case t.kind == tNumber && (next.kind == tKeyword || next.kind == tIdent) && alone(p.f.Text, t.start):
		return d.Helpf("if it is the number of the line, remove it here and in the other lines")
	case t.kind == tIdent && next.is("=") && (after.kind == tNumber || after.kind == tIdent):
		return d.Helpf("declare a constant, const %s = %s;, or move it into an enum", t.text, after.text)
	case t.kind == tIdent && next.is("("):
		return d.Helpf("macros with arguments are not expanded: write what %s stands for, or begin the line with %% to leave it to C", t.text)
	case t.is("}"):
		return d.Helpf("remove it, or add the missing { above")
	case t.is("import"), t.is("include"), t.is("using"):
		return d.Helpf("write #include \"FILE.x\" to include an XDR file")
	case t.is("class"), t.is("message"), t.is("record"), t.is("interface") && next.kind == tIdent:
		return d.Helpf("use struct")
	case next.kind == tIdent && after.is("="):
		return d.Helpf("write const %s = VALUE;", next.text)
	case next.kind == tIdent && after.is("("), t.is("extern"), t.is("static"), t.is("inline"):
		return d.Helpf("begin lines of C with %%, so that they are ignored here")
	case next.kind == tIdent && (after.is(";") || after.is("[") || after.is("<")):
		return d.Helpf("move it into a struct, or write typedef before it")
	}
	return d
}

// inBraces returns the expected token or construct at token k in a body that may also end there.
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
