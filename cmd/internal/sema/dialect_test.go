package sema

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// meaning returns the declarations of a unit, one in each line.
func meaning(u *ir.Unit) string {
	var out []string
	for _, d := range u.Decls {
		var s []string
		switch d.Kind {
		case ir.Const:
			s = append(s, show(d.Value))
		case ir.Enum:
			for _, m := range d.Members {
				s = append(s, fmt.Sprintf("%s=%d", m.Name, m.Value))
			}
		case ir.Struct:
			for _, f := range d.Fields {
				s = append(s, f.Name+":"+typeText(f.Type))
			}
		case ir.Union:
			s = append(s, "on "+typeText(d.Disc.Type))
			for _, a := range d.Arms {
				arm := ""
				for _, l := range a.Labels {
					arm += show(l.Value) + ","
				}
				if a.Default {
					arm += "default,"
				}
				s = append(s, strings.TrimSuffix(arm, ",")+"="+fieldText(a.Field))
			}
		case ir.Typedef:
			s = append(s, typeText(d.Type))
		case ir.Program:
			for _, v := range d.Program.Versions {
				for _, p := range v.Procs {
					var args []string
					for _, a := range p.Args {
						args = append(args, typeText(a.Type))
					}
					result := "void"
					if p.Result != nil {
						result = typeText(p.Result)
					}
					s = append(s, fmt.Sprintf("%d.%d.%d %s(%s)", d.Program.Number, v.Number, p.Number, result, strings.Join(args, ",")))
				}
			}
		}
		out = append(out, kindName(d.Kind)+" "+d.Name+": "+strings.Join(s, " "))
	}
	return strings.Join(out, "\n")
}

func fieldText(f *ir.Field) string {
	if f == nil {
		return "void"
	}
	return typeText(f.Type)
}

func typeText(t *ir.Type) string {
	bound := ""
	if t.Bounded {
		bound = fmt.Sprint(t.Max)
	}
	switch t.Kind {
	case ir.FixedOpaque:
		return fmt.Sprintf("opaque[%d]", t.Len)
	case ir.Opaque, ir.String:
		return describe(t) + "<" + bound + ">"
	case ir.FixedArray:
		return fmt.Sprintf("%s[%d]", typeText(t.Elem), t.Len)
	case ir.Array:
		return typeText(t.Elem) + "<" + bound + ">"
	case ir.Optional:
		return "*" + typeText(t.Elem)
	case ir.ListOf:
		return "list of " + t.Ref.Name
	case ir.Ref:
		return t.Ref.Name
	}
	return describe(t)
}

// TestDialectsAreReadOrRefused compiles forms that some XDR compiler accepts. It checks their
// meaning and the warnings. "refused" stands for an error.
func TestDialectsAreReadOrRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/dialect.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "\n== ")[1:]
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		input, want, ok := strings.Cut(rest, "\n--\n")
		if !ok {
			t.Fatalf("%s: no line --", name)
		}
		t.Run(name, func(t *testing.T) {
			r := compileFiles(t, Options{Defines: map[string]string{"GIVEN": "1"}}, map[string]string{"u/u.x": input + "\n"}, "u/u.x")
			got := "refused"
			if r.Unit != nil {
				got = meaning(r.Unit)
			}
			if list := rules(r); len(list) > 0 {
				got += "\n! " + strings.Join(list, " ")
			}
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
				t.Errorf("%s\n%s", input, diff)
			}
		})
	}
	if len(cases) < 70 {
		t.Errorf("only %d cases", len(cases))
	}
}
