package gogen

import (
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// tag is the struct tag of a field, with what reflection needs to print it. Package
// runtime/xdr/internal/describe has the grammar.
func tag(f *plan.Field, words ...string) jen.Code {
	return jen.Tag(map[string]string{"xdr": describe(f.Name, f.Step, words...)})
}

// discTag is the tag of a union's discriminant. It lists the cases with void arms.
func discTag(t *plan.Type) jen.Code {
	words := []string{"switch"}
	for _, a := range t.Arms {
		if a.Field == nil {
			words = append(words, caseWords(t, a)...)
		}
	}
	return tag(t.Disc, words...)
}

// armTag is the tag of a union's arm.
func armTag(t *plan.Type, a *plan.Arm) jen.Code {
	words := caseWords(t, a)
	if a.Pointer {
		words = append(words, "pointer")
	}
	return tag(a.Field, words...)
}

// caseWords are the words of a tag for the labels of an arm.
func caseWords(t *plan.Type, a *plan.Arm) []string {
	var words []string
	for _, l := range a.Labels {
		sign := ""
		if l.Value.Neg {
			sign = "-"
		}
		words = append(words, "case="+sign+strconv.FormatUint(l.Value.Abs, 10))
	}
	if a.Default {
		words = append(words, "default")
	}
	return words
}

// maxAround is the greatest number of arrays, lists and optional data in each other that a tag
// describes. It bounds the length of a tag. Real files have 3 at most.
const maxAround = 64

// describe is a name in the .x file with the words of a tag that follow from the step of the
// value, and further words.
func describe(name string, s *plan.Step, words ...string) string {
	all := append([]string{name}, words...)
	level := 0
	for range maxAround {
		if s = s.Under(); s.Op == plan.List && !s.Elem.NodeElem() {
			all = append(all, "node="+strconv.Itoa(level)+":"+s.Of.Fields[0].Name)
		}
		if s.Seq() {
			level++
		}
		if s.Text {
			all = append(all, "string")
		}
		if s.Elem == nil {
			break
		}
		s = s.Elem
	}
	return strings.Join(all, ",")
}
