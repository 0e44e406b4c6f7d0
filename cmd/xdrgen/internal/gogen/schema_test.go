package gogen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// schema is an interface made at random, with one program whose procedures have
// items to place. Every struct and union is used once, so that no field is
// reached by two paths.
type schema struct {
	x, bind string
	procs   []schemaProc
}

// schemaProc is a procedure's argument or result type.
type schemaProc struct {
	typ   string
	proc  uint32
	reply bool
	sites [][]string // paths of the items bound there
}

// schemer writes a schema.
type schemer struct {
	*rand.Rand
	text strings.Builder
	n    int
}

// makeSchema makes the schema of a seed; nest lets an array be bound that itself holds items.
func makeSchema(seed uint64, nest bool) schema {
	s := &schemer{Rand: rand.New(rand.NewPCG(seed, 7))}
	s.text.WriteString("enum color { RED = 0, GREEN = 1, BLUE = 7 };\n" +
		"typedef opaque blob<>;\ntypedef string label<40>;\ntypedef hyper longs<>;\n" +
		"struct tree { int value; tree *left; tree *right; };\n")
	var out schema
	var procs, binds strings.Builder
	for i := range uint32(4) {
		p := schemaProc{proc: i + 1, reply: i%2 == 1}
		var paths [][]string
		for len(paths) == 0 {
			if p.reply {
				p.typ, paths = s.union(4)
			} else {
				p.typ, paths = s.structure(4)
			}
		}
		s.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		for _, path := range paths[:1+s.IntN(len(paths))] {
			if !nest && within(p.sites, path) {
				continue
			}
			p.sites = append(p.sites, path)
			way := map[bool]string{false: "args", true: "result"}[p.reply]
			fmt.Fprintf(&binds, "ddp P.V.PROC%d %s %s\n", p.proc, way, strings.Join(path, "."))
		}
		arg, result := p.typ, "void"
		if p.reply {
			arg, result = result, arg
		}
		fmt.Fprintf(&procs, "%s PROC%d(%s) = %d;\n", result, p.proc, arg, p.proc)
		out.procs = append(out.procs, p)
	}
	fmt.Fprintf(&s.text, "program P { version V {\n%s} = 1; } = 0x20000000;\n", procs.String())
	out.x, out.bind = s.text.String(), binds.String()
	return out
}

// within reports whether path lies in one of paths, or one of them in it.
func within(paths [][]string, path []string) bool {
	for _, p := range paths {
		a, b := strings.Join(p, ".")+".", strings.Join(path, ".")+"."
		if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
			return true
		}
	}
	return false
}

func (s *schemer) name(prefix string) string {
	s.n++
	return fmt.Sprintf("%s%d", prefix, s.n)
}

// structure declares a struct and returns its name, and the paths of what may be
// bound in it.
func (s *schemer) structure(deep int) (string, [][]string) {
	name := s.name("s")
	body, paths := s.fields(1+s.IntN(5), deep)
	fmt.Fprintf(&s.text, "struct %s {\n%s};\n", name, body)
	return name, paths
}

func (s *schemer) fields(n, deep int) (string, [][]string) {
	var body strings.Builder
	var paths [][]string
	for range n {
		decl, more := s.field(deep)
		fmt.Fprintf(&body, "\t%s;\n", decl)
		paths = append(paths, more...)
	}
	return body.String(), paths
}

// list declares the node of a linked list.
func (s *schemer) list(deep int) (string, [][]string) {
	name := s.name("node")
	body, paths := s.fields(1+s.IntN(3), deep)
	fmt.Fprintf(&s.text, "struct %s {\n%s\t%s *next;\n};\n", name, body, name)
	return name, paths
}

// union declares a union with a discriminant of any kind.
func (s *schemer) union(deep int) (string, [][]string) {
	name := s.name("u")
	var body strings.Builder
	var paths [][]string
	arm := func(label string) {
		decl := "void"
		if s.IntN(4) > 0 {
			var more [][]string
			decl, more = s.field(deep)
			paths = append(paths, more...)
		}
		fmt.Fprintf(&body, "%s:\n\t%s;\n", label, decl)
	}
	disc := ""
	switch s.IntN(4) {
	case 0:
		disc = "bool"
		arm("case TRUE")
		arm("case FALSE")
	case 1:
		disc = "color"
		arm("case RED")
		arm("case GREEN:\ncase BLUE")
	case 2:
		disc = "int"
		arm("case -1")
		arm("default")
	default:
		disc = "unsigned int"
		arm("case 0")
		arm("case 1:\ncase 2")
		arm("case 0xffffffff")
	}
	fmt.Fprintf(&s.text, "union %s switch (%s %s) {\n%s};\n", name, disc, s.name("d"), body.String())
	return name, paths
}

// field is one declaration, and the paths of what may be bound in it.
func (s *schemer) field(deep int) (string, [][]string) {
	name := s.name("f")
	self := [][]string{{name}}
	below := func(paths [][]string) [][]string {
		var out [][]string
		for _, p := range paths {
			out = append(out, append([]string{name}, p...))
		}
		return out
	}
	plain := []string{"int", "unsigned hyper", "bool", "double", "color", "opaque %s[5]", "string %s<9>", "float", "tree", "int %s[3]"}
	if deep <= 0 || s.IntN(3) == 0 {
		p := plain[s.IntN(len(plain))]
		if strings.Contains(p, "%s") {
			return fmt.Sprintf(p, name), nil
		}
		return p + " " + name, nil
	}
	switch s.IntN(14) {
	case 0, 1:
		return "opaque " + name + "<>", self
	case 2:
		return fmt.Sprintf("opaque %s<%d>", name, 1+s.IntN(30)), self
	case 3:
		return "label " + name, self
	case 4:
		return "blob *" + name, self
	case 5:
		return "longs " + name, self
	case 6:
		return "blob " + name + "<3>", self
	case 7:
		typ, paths := s.structure(deep - 1)
		return typ + " " + name, below(paths)
	case 8:
		typ, paths := s.structure(deep - 1)
		return typ + " *" + name, below(paths)
	case 9:
		typ, paths := s.structure(deep - 1)
		return typ + " " + name + "[2]", below(paths)
	case 10:
		typ, paths := s.structure(deep - 1)
		return typ + " " + name + "<>", append(below(paths), self...)
	case 11:
		typ, paths := s.list(deep - 1)
		if s.IntN(4) == 0 { // at least one element
			return typ + " " + name, below(paths)
		}
		return typ + " *" + name, below(paths)
	}
	typ, paths := s.union(deep - 1)
	return typ + " " + name, below(paths)
}
