package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// meaningDiffers compares what two texts of one unit mean and says in what
// they differ; "" where they do not. With comments, what stands in these and
// whose they are counts too. It spoils the units of both.
func meaningDiffers(a, b *sema.Result, comments bool) string {
	if x, y := findings(a.Diags), findings(b.Diags); x != y {
		return "what check finds"
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
// does or their numbers differ. It compares from the front, together: declarations hold
// each other, and to compare each by itself takes time with the square of their number.
func firstDifferent(a, b []*ir.Decl) int {
	if len(a) != len(b) || reflect.DeepEqual(a, b) {
		return -1
	}
	return sort.Search(len(a), func(i int) bool { return !reflect.DeepEqual(a[:i+1], b[:i+1]) })
}

// findings writes rules and messages, without places.
func findings(ds []diag.Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintln(&b, d.Info().Code, d.Message)
	}
	return b.String()
}

// placeless takes out of a unit what is about places and layout: spans, hashes
// of texts, and of comments the line breaks, or all.
func placeless(u *ir.Unit, comments bool) {
	w := placeWalker{comments: comments, seen: map[any]bool{}, span: reflect.TypeFor[source.Span](), lines: reflect.TypeFor[[]string]()}
	for _, f := range u.Files {
		f.SHA256 = ""
	}
	w.walk(reflect.ValueOf(u))
}

type placeWalker struct {
	comments    bool // are kept
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
