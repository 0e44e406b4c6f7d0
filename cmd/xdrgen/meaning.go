package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// meaningDiffers compares the meaning of a unit's two texts, and returns the first difference in
// words, or "" if they agree. If comments is set, their words and the declarations that they belong
// to are compared too. It modifies both units.
func meaningDiffers(a, b *sema.Result, comments bool) string {
	if x, y := findings(a.Diags), findings(b.Diags); x != y {
		return "the findings of check"
	}
	if (a.Unit == nil) != (b.Unit == nil) {
		return "whether it compiles"
	}
	if a.Unit == nil {
		return ""
	}
	placeless(a.Unit, comments)
	placeless(b.Unit, comments)
	if reflect.DeepEqual(a.Unit, b.Unit) {
		return ""
	}
	if i := firstDifferent(a.Unit.Decls, b.Unit.Decls); i >= 0 {
		return "the meaning of " + a.Unit.Decls[i].Name
	}
	return "the meaning of the file"
}

// firstDifferent returns the index of the first declaration that differs, or -1 if none
// does or the lists differ in length. It compares prefixes of the lists: declarations refer
// to each other, so comparing them one by one takes quadratic time.
func firstDifferent(a, b []*ir.Decl) int {
	if len(a) != len(b) || reflect.DeepEqual(a, b) {
		return -1
	}
	return sort.Search(len(a), func(i int) bool { return !reflect.DeepEqual(a[:i+1], b[:i+1]) })
}

// findings returns the codes and messages of findings, without positions.
func findings(ds []diag.Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintln(&b, d.Info().Code, d.Message)
	}
	return b.String()
}

// placeless removes positions and layout from a unit: spans, hashes of files, and the line
// breaks of comments. Unless comments is set, it removes comments too.
func placeless(u *ir.Unit, comments bool) {
	w := placeWalker{comments: comments, seen: map[any]bool{}, span: reflect.TypeFor[source.Span](), lines: reflect.TypeFor[[]string]()}
	for _, f := range u.Files {
		f.SHA256 = ""
	}
	w.walk(reflect.ValueOf(u))
}

type placeWalker struct {
	comments    bool // keep comments
	seen        map[any]bool
	span, lines reflect.Type
}

func (w *placeWalker) walk(v reflect.Value) {
	switch {
	case v.Type() == w.span:
		v.SetZero()
		return
	case v.Type() == w.lines:
		if words := strings.Fields(strings.Join(v.Interface().([]string), " ")); len(words) > 0 {
			v.Set(reflect.ValueOf(words))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !w.seen[v.Interface()] {
			w.seen[v.Interface()] = true
			w.walk(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "Doc", "Tail", "License":
				if !w.comments {
					v.Field(i).SetZero()
				}
			}
			w.walk(v.Field(i))
		}
	}
}
