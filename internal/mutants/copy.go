package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// source is a parsed file. Its positions are offsets in text plus 1.
type source struct {
	text []byte
	file *ast.File
}

func parse(text []byte) (*source, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &source{text, file}, nil
}

// between returns the text from a position to another.
func (s *source) between(from, to token.Pos) string { return string(s.text[from-1 : to-1]) }

// copied is a function and its mutated copy.
type copied struct {
	number int // the switch's value for it
	fn     *ast.FuncDecl
	text   string // of the copy
}

func copyName(number int) string { return "mutantCopy" + strconv.Itoa(number) }

// copyOf returns the copy of the function that a mutant changes from old to changed. It returns an
// error if a copy cannot stand for the function, so that the mutant needs a build of its own.
func copyOf(old *source, changed []byte, number int) (*copied, error) {
	mutated, err := parse(changed)
	if err != nil {
		return nil, err
	}
	before, after := old.file.Decls, mutated.file.Decls
	if len(before) != len(after) {
		return nil, fmt.Errorf("it adds or removes a declaration")
	}
	var found *copied
	for i := range before {
		if old.between(before[i].Pos(), before[i].End()) == mutated.between(after[i].Pos(), after[i].End()) {
			continue
		}
		was, ok1 := before[i].(*ast.FuncDecl)
		is, ok2 := after[i].(*ast.FuncDecl)
		if !ok1 || !ok2 || was.Body == nil || is.Body == nil || found != nil {
			return nil, fmt.Errorf("it is not inside one function")
		}
		if old.between(was.Pos(), was.Body.Lbrace) != mutated.between(is.Pos(), is.Body.Lbrace) {
			return nil, fmt.Errorf("it changes a signature")
		}
		if recovers(was.Body) || recovers(is.Body) {
			return nil, fmt.Errorf("the function calls recover, which has an effect only in the deferred function itself")
		}
		if blankTypeParameter(was.Type) {
			return nil, fmt.Errorf("a type parameter has no name")
		}
		text := directives(was.Doc) + mutated.between(is.Pos(), is.Name.Pos()) + copyName(number) + mutated.between(is.Name.End(), is.End())
		found = &copied{number, was, text}
	}
	if found == nil {
		return nil, fmt.Errorf("it changes only comments or white space")
	}
	return found, nil
}

// recovers reports whether a body calls recover, other than in a function literal.
func recovers(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "recover" {
			found = true
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}

func blankTypeParameter(t *ast.FuncType) bool {
	if t.TypeParams == nil {
		return false
	}
	return slices.ContainsFunc(t.TypeParams.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == "_" })
	})
}

// directives returns the lines for the compiler in a comment.
func directives(doc *ast.CommentGroup) (lines string) {
	if doc == nil {
		return ""
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:") && !strings.HasPrefix(c.Text, "//go:linkname") {
			lines += c.Text + "\n"
		}
	}
	return lines
}

// edit is text to insert at an offset in place of some bytes.
type edit struct {
	at, remove int
	text       string
}

// switched returns the file in which functions begin with a switch between their mutated copies,
// which follow at the end. Lines of the original keep their numbers. It also returns the first line
// of each copy and, last, the line after them.
func (s *source) switched(copies []*copied) (text []byte, lines []int) {
	of := make(map[*ast.FuncDecl][]int)
	for _, c := range copies {
		of[c.fn] = append(of[c.fn], c.number)
	}
	var edits []edit
	for fn, numbers := range of {
		edits = append(edits, dispatch(fn, numbers)...)
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.at - b.at })
	at := 0
	for _, e := range edits {
		text = append(append(text, s.text[at:e.at]...), e.text...)
		at = e.at + e.remove
	}
	text = append(append(text, s.text[at:]...), '\n')
	for _, c := range copies {
		lines = append(lines, bytes.Count(text, []byte("\n"))+1)
		text = append(append(text, c.text...), "\n\n"...)
	}
	return text, append(lines, bytes.Count(text, []byte("\n"))+1)
}

// dispatch returns the edits that make a function call its copies.
func dispatch(fn *ast.FuncDecl, numbers []int) (edits []edit) {
	n := 0
	named := func(f *ast.Field, each func(name string)) {
		if len(f.Names) == 0 {
			n++
			name := "mutantArg" + strconv.Itoa(n)
			edits = append(edits, edit{at: int(f.Type.Pos()) - 1, text: name + " "})
			each(name)
		}
		for _, id := range f.Names {
			name := id.Name
			if name == "_" {
				n++
				name = "mutantArg" + strconv.Itoa(n)
				edits = append(edits, edit{at: int(id.Pos()) - 1, remove: 1, text: name})
			}
			each(name)
		}
	}
	receiver := ""
	if fn.Recv != nil {
		named(fn.Recv.List[0], func(name string) { receiver = name + "." })
	}
	var args []string
	for _, f := range fn.Type.Params.List {
		named(f, func(name string) {
			if _, variadic := f.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			args = append(args, name)
		})
	}
	var types []string
	if fn.Type.TypeParams != nil {
		for _, f := range fn.Type.TypeParams.List {
			for _, id := range f.Names {
				types = append(types, id.Name)
			}
		}
	}
	var b strings.Builder
	b.WriteString(" if " + switchName + " != 0 { switch " + switchName + " {")
	for _, number := range numbers {
		call := receiver + copyName(number)
		if len(types) > 0 {
			call += "[" + strings.Join(types, ", ") + "]"
		}
		call += "(" + strings.Join(args, ", ") + ")"
		if fn.Type.Results == nil || len(fn.Type.Results.List) == 0 {
			fmt.Fprintf(&b, " case %d: %s; return;", number, call)
		} else {
			fmt.Fprintf(&b, " case %d: return %s;", number, call)
		}
	}
	b.WriteString(" } };")
	return append(edits, edit{at: int(fn.Body.Lbrace), text: b.String()})
}
