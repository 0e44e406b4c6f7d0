package format

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// cut returns the columns of a statement, or none if it is not aligned.
func (l *layout) cut(stmt []elem) (columns, []string) {
	for _, e := range stmt {
		if e.is("{") || e.is("}") {
			return none, nil
		}
	}
	if broken(stmt) {
		return none, nil
	}
	switch l.scope().kind {
	case "struct":
		if k := declarator(stmt, ";[<"); k > 0 {
			return field, []string{join(stmt[:k]), join(stmt[k:])}
		}
	case "enum":
		if len(stmt) > 2 && stmt[1].is("=") {
			return member, []string{stmt[0].text, join(stmt[1:])}
		}
	case "version":
		equal := 0
		for i, e := range stmt {
			if e.is("=") {
				equal = i
			}
		}
		if k := declarator(stmt, "("); k > 0 && equal > k {
			return proc, []string{join(stmt[:k]), join(stmt[k:equal]), join(stmt[equal:])}
		}
	case "top":
		if len(stmt) > 3 && stmt[0].text == "const" && stmt[2].is("=") {
			return constant, []string{join(stmt[:2]), join(stmt[2:])}
		}
	}
	return none, nil
}

// declarator returns the index at which the name of a declaration begins, with its star. The
// name comes before the first of the marks. It returns 0 if there is no name.
func declarator(stmt []elem, marks string) int {
	for i, e := range stmt {
		if e.kind != syntax.Mark || !strings.Contains(marks, e.text) {
			continue
		}
		k := i - 1
		if k < 1 || stmt[k].kind != syntax.Word {
			return 0
		}
		for k > 1 && stmt[k-1].is("*") {
			k--
		}
		return k
	}
	return 0
}

// join returns elements on one line.
func join(stmt []elem) string {
	var b strings.Builder
	for i, e := range stmt {
		if i > 0 && spaced(stmt[i-1], e) {
			b.WriteByte(' ')
		}
		b.WriteString(e.text)
	}
	return b.String()
}

// spaced reports whether there is a blank between two elements.
func spaced(a, b elem) bool {
	if a.kind == syntax.Comment && (b.is(";") || b.is(",")) {
		return false
	}
	if a.kind == syntax.Comment || b.kind == syntax.Comment {
		return true
	}
	if b.kind == syntax.Mark {
		switch b.text {
		case ";", ",", ")", "]", ">", ":", "[", "<":
			return false
		case "(":
			return a.text == "switch"
		case "::": // of a namespace
			return a.kind != syntax.Word || a.text == "case" || a.text == "typedef"
		}
	}
	if a.kind == syntax.Mark {
		switch a.text {
		case "::":
			return false
		case "(", "[", "<", "*":
			return b.is("=") || b.is("{")
		}
	}
	return true
}
