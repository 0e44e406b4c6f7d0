package syntax

import "strings"

// spaces handles the namespaces of a file, an extension of xdrpp and similar compilers. XDR and
// the syntax tree have one scope. A name that two namespaces of a file declare therefore
// becomes the name of the namespace, _ and the name.
type spaces struct {
	toks     []token
	declared map[string]map[string]bool // for each name, the namespaces that declare it
}

// splitSpaces returns the tokens with each name that several namespaces declare replaced by
// the name of its namespace, _ and the name.
func (s *scanner) splitSpaces(toks []token) []token {
	n := &spaces{toks: toks, declared: map[string]map[string]bool{}}
	if !n.any() {
		return toks
	}
	n.walk(n.declare)
	var out []token
	n.walk(func(i int, w within) {
		t := toks[i]
		if t.kind != tIdent || len(n.declared[t.text]) < 2 {
			out = append(out, t)
			return
		}
		chain, at := n.qualifier(i), w.space
		if chain == "" && i > 0 && toks[i-1].is("::") {
			at = "" // ::name is outside all namespaces
		}
		space, ok := n.resolve(t.text, chain, at)
		switch {
		case !ok || chain == "" && w.depth > 0 && n.isField(i):
			out = append(out, t)
			return
		case chain != "":
			out = out[:len(out)-2*(1+strings.Count(chain, "_::"))]
		}
		if space != "" {
			t.text = space + "_" + t.text
		}
		out = append(out, t)
	})
	return out
}

// any reports whether the file has a namespace.
func (n *spaces) any() bool {
	for i, t := range n.toks {
		if t.is("namespace") && tokenAt(n.toks, i+1).kind == tIdent {
			return true
		}
	}
	return false
}

// within is the context of a token.
type within struct {
	space string // its namespace
	word  string // keyword of its definition
	depth int    // depth in the braces of its definition
}

// walk calls f with each token and its context.
func (n *spaces) walk(f func(int, within)) {
	var open []string // namespaces, by their full names
	w := within{}
	head := false
	for i, t := range n.toks {
		switch {
		case w.depth == 0 && t.is("namespace"):
			head = true
		case head && t.is("{"):
			head = false
			open = append(open, w.space)
			w.space = join(w.space, n.qualifierBefore(i))
			f(i, w)
			continue
		case head && t.is(";"):
			head = false
		case t.is("{"):
			w.depth++
		case t.is("}") && w.depth > 0:
			w.depth--
		case t.is("}") && len(open) > 0:
			w.space, open = open[len(open)-1], open[:len(open)-1]
		case w.depth == 0 && (t.kind == tKeyword && typeOrConst(t.text) || t.is("program")) && (i == 0 || ends(n.toks[i-1])):
			w.word = t.text
		}
		f(i, w)
	}
}

// typeOrConst reports whether a keyword begins the definition of a type or constant.
func typeOrConst(word string) bool {
	switch word {
	case "struct", "union", "enum", "const", "typedef":
		return true
	}
	return false
}

// ends reports whether a definition can begin after a token.
func ends(t token) bool { return t.is(";") || t.is("}") || t.is("{") }

// declare records the name that token i declares, if it does.
func (n *spaces) declare(i int, w within) {
	t, last := n.toks[i], token{}
	if i > 0 {
		last = n.toks[i-1]
	}
	next := tokenAt(n.toks, i+1)
	ok := false
	switch {
	case t.kind != tIdent:
	case w.word == "enum" && w.depth == 1:
		ok = last.is("{") || last.is(",")
	case w.depth > 0:
	case w.word == "typedef":
		ok = next.is(";") || next.is("<") || next.is("[")
	default:
		ok = last.is(w.word)
	}
	if !ok {
		return
	}
	if n.declared[t.text] == nil {
		n.declared[t.text] = map[string]bool{}
	}
	n.declared[t.text][w.space] = true
}

// qualifier returns the namespaces before token i, such as a::b::, separated by _::. It is empty
// without namespaces.
func (n *spaces) qualifier(i int) string {
	chain := ""
	for i >= 2 && n.toks[i-1].is("::") && n.toks[i-2].kind == tIdent {
		if chain != "" {
			chain = "_::" + chain
		}
		chain = n.toks[i-2].text + chain
		i -= 2
	}
	return chain
}

// qualifierBefore returns the name of the namespace whose { is token i.
func (n *spaces) qualifierBefore(i int) string {
	return join(strings.ReplaceAll(n.qualifier(i-1), "_::", "_"), n.toks[i-1].text)
}

// resolve returns the namespace that declares a name, and whether there is one. It looks in the
// namespace of the qualifier chain, or in the namespace at if chain is empty, and then in the
// enclosing ones.
func (n *spaces) resolve(name, chain, at string) (string, bool) {
	chain = strings.ReplaceAll(chain, "_::", "_")
	for {
		if full := join(at, chain); n.declared[name][full] {
			return full, true
		}
		if at == "" {
			return "", false
		}
		i := strings.LastIndexByte(at, '_')
		at = at[:max(i, 0)]
	}
}

// join returns the name of namespace b in namespace a.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "_" + b
}

// isField reports whether token i is the name of a field: a type comes before it.
func (n *spaces) isField(i int) bool {
	last := n.toks[i-1]
	switch {
	case last.kind == tIdent, last.is("*"), last.is("}"):
		return true
	case last.kind != tKeyword:
		return false
	}
	switch last.text {
	case "struct", "union", "enum", "case", "const", "typedef":
		return false
	}
	return true
}
