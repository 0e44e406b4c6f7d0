package syntax

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// maxDepth limits how deep braces nest.
const maxDepth = 32

const (
	maxLook   = 4096 // limit of tokens that repairs look ahead for a closing brace
	maxColumn = 512  // limit of columns that are counted
)

// splitter divides the tokens of a file into definitions. If a brace or semicolon is missing
// and its place is certain, it reports that and continues as if the token were there.
type splitter struct {
	f      *source.File
	toks   []token
	i      int
	report func(diag.Diagnostic)
	spaces int    // open namespaces
	cut    bool   // an unterminated comment took up the rest of the file
	names  []seen // names that faulty text seems to declare

	inner  [][]token // definitions found inside others
	strays strays
}

// seen is a name that faulty text seems to declare, with the kind of the declaration.
type seen struct {
	token
	as DefKind
}

// next returns the tokens of the next definition, and false after the last one. It returns no
// tokens for text that is not a definition, which it reports.
func (p *splitter) next() (toks []token, ok bool) {
	if n := len(p.inner); n > 0 {
		toks, p.inner = p.inner[n-1], p.inner[:n-1]
		return toks, true
	}
	if p.i == len(p.toks) {
		return nil, false
	}
	if p.vendor() || p.forward() {
		return nil, true
	}
	if toks := p.loose(); len(toks) > 0 {
		return toks, true
	}
	if !p.startsDef(p.i) {
		if !p.junk() {
			return nil, true
		}
	}
	return p.collect(), true
}

// vendor skips extensions of other compilers that do not change the encoding:
// "namespace NAME {" and its "}", "namespace NAME;" and "package NAME;". The contents of a
// namespace belong to the one scope of the file; see splitSpaces. It reports whether it
// skipped something.
func (p *splitter) vendor() bool {
	t := p.toks[p.i]
	if t.is("}") && p.spaces > 0 {
		p.spaces--
		if p.i++; p.at(p.i).is(";") {
			p.i++
		}
		return true
	}
	if !(t.is("namespace") || t.is("package")) || p.at(p.i+1).kind != tIdent {
		return false
	}
	i := p.i + 1
	for p.at(i).kind == tIdent {
		i++
	}
	end := p.at(i)
	switch {
	case end.is("{") && t.is("namespace"):
		p.spaces++
	case !end.is(";"):
		return false
	}
	p.report(diag.New(diag.Pragma, source.Span{File: p.f, Start: t.start, End: p.toks[i-1].end}, "%s is ignored", t.text))
	p.i = i + 1
	return true
}

// forward skips "struct NAME;", a forward declaration of C, and reports whether there was one.
func (p *splitter) forward() bool {
	t, name, end := p.toks[p.i], p.at(p.i+1), p.at(p.i+2)
	if !t.is("struct") && !t.is("union") && !t.is("enum") || name.kind != tIdent || !end.is(";") {
		return false
	}
	at := source.Span{File: p.f, Start: t.start, End: end.end}
	p.report(diag.New(diag.ForwardDecl, at, "%s %s is declared without a body", t.text, name.text).Replace(at, ""))
	p.i += 3
	return true
}

// startsDef reports whether a definition can begin at token i.
func (p *splitter) startsDef(i int) bool {
	switch p.toks[i].text {
	case "const", "typedef", "enum", "struct", "union":
		return p.toks[i].kind == tKeyword
	case "program":
		return p.at(i+1).kind == tIdent && (p.at(i+2).is("{") || p.at(i+2).is("version"))
	case "pragma":
		return p.at(i+1).kind == tIdent
	}
	return false
}

// at returns token i, or an empty one after the end.
func (p *splitter) at(i int) token {
	if i < len(p.toks) {
		return p.toks[i]
	}
	n := len(p.f.Text)
	return token{start: n, end: n}
}

// junk reports text that does not begin a definition, and skips to where one may begin. If
// only the keyword of a definition is misspelled, it corrects the keyword and returns true
// instead.
func (p *splitter) junk() bool {
	t := p.toks[p.i]
	if t.is(";") {
		p.report(diag.New(diag.ExtraSemicolon, t.span(p.f), "found \";\" where a definition should begin").Replace(t.span(p.f), ""))
		p.i++
		return false
	}
	if p.outsideProgram() {
		return false
	}
	d := diag.New(diag.SyntaxError, t.span(p.f), "found %s, expected const, typedef, enum, struct, union or program", diag.Quote(t.text))
	next, after := p.at(p.i+1), p.at(p.i+2)
	if n, ok := spelling.Nearest(t.text, []string{"const", "typedef", "enum", "struct", "union", "program"}); ok && t.kind == tIdent {
		d = d.Helpf("did you mean %s?", n)
		if next.kind == tIdent && n != "program" {
			p.report(d.Replace(t.span(p.f), n))
			p.toks[p.i].kind, p.toks[p.i].text = tKeyword, n
			return true
		}
	} else {
		d = p.adviseJunk(d)
	}
	switch {
	case next.kind != tIdent || t.kind == tPunct || after.is("("):
	case after.is("="):
		p.names = append(p.names, seen{next, Const})
	case !after.is(";"):
		p.names = append(p.names, seen{next, Struct})
	}
	p.report(d)
	p.pass()
	return false
}

// pass skips to where a definition may begin.
func (p *splitter) pass() {
	first := p.i
	p.toEnd(0, func(int) bool { return p.i > first && p.restarts(p.i, p.column(first)) })
}

// toEnd skips to the end of the text that begins here, with so many open braces: the semicolon
// outside them. It stops before a token for which stop returns true. Its depth is the number of
// open braces before the token, or -1 for a brace that closes none.
func (p *splitter) toEnd(depth int, stop func(depth int) bool) {
	for ; p.i < len(p.toks); p.i++ {
		t := p.toks[p.i]
		switch {
		case t.is("}") && depth == 0 && stop(-1), stop(depth):
			return
		case t.is("{"):
			depth++
		case t.is("}"):
			depth = max(depth-1, 0)
		case t.is(";") && depth == 0:
			p.i++
			return
		}
	}
}

// column returns the column of token i, at most maxColumn.
func (p *splitter) column(i int) int {
	n, at := 1, p.toks[i].start
	for n < maxColumn && at-n >= 0 && p.f.Text[at-n] != '\n' {
		n++
	}
	return n
}

// restarts reports whether a new definition begins at token i although the one that began in the
// given column is not complete. That is so if the keyword is valid nowhere else, or if it is not
// further right and the text before it is complete.
func (p *splitter) restarts(i, column int) bool {
	if !p.startsDef(i) {
		return false
	}
	ended := p.toks[i-1].is(";") || p.toks[i-1].is("}")
	switch p.toks[i].text {
	case "const", "typedef":
		return true
	case "program", "pragma":
		return ended && p.column(i) <= column
	}
	return ended && p.at(i+1).kind == tIdent && (p.at(i+2).is("{") || p.at(i+2).is("switch")) && p.column(i) <= column
}

// collect returns the tokens of the definition that begins here. They end with a semicolon,
// unless the braces do not match.
func (p *splitter) collect() []token {
	var out []token
	depth := 0
	first, column := p.i, p.column(p.i)
	typedef := p.toks[first].is("typedef")
	var open token // the last { that was opened
	for ; p.i < len(p.toks); p.i++ {
		t := p.toks[p.i]
		if head, ok := p.lacksBrace(out, depth, typedef); ok {
			last := out[len(out)-1]
			after := source.Span{File: p.f, Start: last.end, End: last.end}
			p.report(diag.New(diag.MissingBrace, last.span(p.f), "%s has no { before its body", head).Replace(after, " {"))
			open = token{tPunct, last.end, last.end, "{"}
			out = append(out, open)
			depth++
		}
		if open, ok := p.wrongBracket(out, depth); ok {
			t = open
		}
		if p.i == first+1 && t.kind == tKeyword && p.startsDef(p.i) && !typedef {
			if t = p.wordAsName(out[0], t); t.text == "" {
				continue
			}
		}
		if p.i > first && p.startsDef(p.i) && !out[len(out)-1].is("(") {
			if depth > 0 && t.is("const") && p.constField() {
				continue
			}
			if depth > 0 && p.nested(column) {
				p.hoist(out[0])
				continue
			}
			if depth > 0 && p.restarts(p.i, column) {
				p.report(diag.New(diag.UnclosedBrace, open.span(p.f), "this { is not closed before the next definition").
					With(t.span(p.f), "the next definition begins here"))
				return p.closed(out, depth)
			}
			if depth == 0 && (!typedef || p.toks[p.i].is("typedef") || p.toks[p.i].is("const")) && t.kind == tKeyword {
				return p.semicolon(out)
			}
			if depth == 0 && t.kind != tKeyword && out[len(out)-1].is("}") {
				return p.semicolon(out)
			}
			if last := out[len(out)-1]; depth == 0 && p.column(p.i) <= column && (last.kind == tIdent || last.is("]") || last.is(">")) {
				return p.semicolon(out)
			}
		}
		switch {
		case t.is("{"):
			open, depth = t, depth+1
			if depth > maxDepth {
				p.report(diag.New(diag.TooDeep, t.span(p.f), "braces nested more than %d deep", maxDepth))
				p.skip(depth)
				return nil
			}
		case t.is("}"):
			if depth == 0 {
				p.report(diag.New(diag.SyntaxError, t.span(p.f), "found \"}\" without a matching {").Helpf("remove it, or add the missing { above"))
				// The definition is complete if it ends with "}};".
				if last := out[len(out)-1]; last.is("}") && p.at(p.i+1).is(";") {
					p.i += 2
					return append(out, p.toks[p.i-1])
				}
				p.skip(0)
				return nil
			}
			depth--
		case t.is(";") && depth == 0:
			p.i++
			return append(out, t)
		}
		out = append(out, t)
	}
	switch {
	case depth > 0 && p.cut:
		return p.closed(out, depth)
	case depth > 0:
		p.report(diag.New(diag.UnclosedBrace, open.span(p.f), "this { is not closed at the end of the file").
			Helpf("put a }; where it ends"))
		return p.closed(out, depth)
	}
	return p.semicolon(out)
}

// closed returns the tokens with the missing braces and semicolon added.
func (p *splitter) closed(out []token, depth int) []token {
	end := out[len(out)-1].end
	for ; depth > 0; depth-- {
		out = append(out, token{tPunct, end, end, "}"})
	}
	return append(out, token{tPunct, end, end, ";"})
}

// semicolon reports that the semicolon after a definition is missing, and adds it.
func (p *splitter) semicolon(out []token) []token {
	last := out[len(out)-1]
	if len(out) != 2 || !typeWord(out[0]) { // the body is missing too, which is reported
		p.report(missingSemicolon(p.f, last))
	}
	return append(out, token{tPunct, last.end, last.end, ";"})
}

// typeWord reports whether a token begins the definition of a type with a body.
func typeWord(t token) bool { return t.is("struct") || t.is("union") || t.is("enum") }

// missingSemicolon returns the finding on a missing semicolon after a token.
func missingSemicolon(f *source.File, last token) diag.Diagnostic {
	after := source.Span{File: f, Start: last.end, End: last.end}
	return diag.New(diag.MissingSemicolon, after, "expected ; after %s", diag.Quote(last.text)).Replace(after, ";")
}
