package main

const (
	decideFile = "cmd/xdrgen/internal/plan/decide.go"
	makeFile   = "cmd/xdrgen/internal/plan/make.go"
)

var planTests = []string{"cmd/xdrgen/internal/plan"}

// planMutants are in the decisions of the compiler's back end.
var planMutants = []mutant{
	{"types of any weight are written out", decideFile, "	return t.weight() <= inlineLimit\n", "	return true\n", planTests},
	{"a typedef with methods hides its placement site", decideFile, "!s.Of.Inline && s.Elem == s.Of.Body\n", "!s.Of.Inline\n", planTests},
	{"check-only readers call where decoders do", decideFile, "s.CheckCall = s.Call && (s.PassCall || s.Of.Node)\n", "s.CheckCall = s.Call\n", planTests},
	{"a typedef of a placement site counts as two uses", makeFile, "	m.in = nil\n	defer func", "	defer func", planTests},
	{"large arms are pointers in all unions", "cmd/xdrgen/internal/plan/memory.go", "a.Pointer = t.Repeated && used", "a.Pointer = used", planTests},
	{"opaque data of any length is part of a run", "cmd/xdrgen/internal/plan/weight.go", "		if s.Len <= runBytes {\n", "		if s.Len >= 0 {\n", planTests},
	{"padding is not checked", "cmd/xdrgen/internal/plan/check.go", "return truth(s.Len%4 == 0)\n", "return 1\n", planTests},
	{"scans stop at arms that no value selects", "cmd/xdrgen/internal/plan/lists.go", "a.Field != nil && !a.Dead {", "a.Field != nil {", planTests},
	{"elements of arrays occur once", "cmd/xdrgen/internal/plan/repeated.go", "r.step(s.Elem, true)\n", "r.step(s.Elem, many)\n", planTests},
	{"types that hold a placement site are whole", "cmd/xdrgen/internal/plan/reduce.go", "			mark(user)\n", "			_ = user\n", planTests},
}
