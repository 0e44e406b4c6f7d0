package wild

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// wilder writes an interface.
type wilder struct {
	*rand.Rand
	c     bool // rpcgen can express it too
	text  strings.Builder
	n     int
	named []wildType
	enums [][]string // the enumerators of each
}

// wildType is a type that fields can have, and its smallest size, about.
type wildType struct {
	name string
	size int
}

// maxWild is about the largest size of a type of fixed size.
const maxWild = 3000

// Schema returns the interface of a seed, as text. If c is set, rpcgen can express it too.
func Schema(seed uint64, c bool) string {
	w := &wilder{Rand: rand.New(rand.NewPCG(seed, 99)), c: c}
	w.text.WriteString("const NONE = 0;\nconst FEW = 0x3;\nconst ALL = 4294967295;\n")
	w.enum()
	for range 14 {
		switch w.IntN(12) {
		case 0:
			w.enum()
		case 1, 2:
			w.chain()
		case 3, 4, 5:
			w.structure()
		case 6, 7, 8:
			w.union()
		case 9:
			w.list()
		case 10:
			w.pointerList()
		default:
			w.recursive()
		}
	}
	return w.text.String()
}

func (w *wilder) name(prefix string) string {
	w.n++
	return fmt.Sprintf("%s%d", prefix, w.n)
}

func pick[T any](w *wilder, of ...T) T { return of[w.IntN(len(of))] }

// declare writes a declaration that makes a type of that name.
func (w *wilder) declare(name string, size int, format string, args ...any) {
	fmt.Fprintf(&w.text, format, args...)
	w.named = append(w.named, wildType{name, size})
}

func (w *wilder) enum() {
	name := w.name("e")
	var members, body []string
	used := map[int]bool{}
	for range 1 + w.IntN(5) {
		v := pick(w, 0, 1, 2, 3, 7, -1, 1000, 1<<31-1, -1<<31, w.IntN(1<<20))
		if used[v] {
			continue
		}
		used[v] = true
		m := strings.ToUpper(w.name("m"))
		members = append(members, m)
		body = append(body, fmt.Sprintf("%s = %d", m, v))
	}
	w.enums = append(w.enums, members)
	w.declare(name, 4, "enum %s { %s };\n", name, strings.Join(body, ", "))
}

// base is a type that stands before a name.
func (w *wilder) base() wildType {
	plain := []wildType{{"int", 4}, {"unsigned int", 4}, {"hyper", 8}, {"unsigned hyper", 8}, {"bool", 4}, {"float", 4}, {"double", 8}}
	if !w.c {
		plain = append(plain, wildType{"quadruple", 16})
	}
	if w.IntN(3) == 0 {
		return pick(w, plain...)
	}
	return pick(w, w.named...)
}

// field is a declaration of a field, and about how many bytes it takes at least.
func (w *wilder) field(name string) (string, int) {
	bound := pick(w, "", "", "NONE", "FEW", "ALL", "1", "2", "9", "4294967294")
	switch w.IntN(12) {
	case 0:
		n := pick(w, 1, 2, 3, 4, 5, 7, 8, 31, 127, 128, 129, 255)
		return fmt.Sprintf("opaque %s[%d]", name, n), (n + 3) &^ 3
	case 1:
		return fmt.Sprintf("opaque %s<%s>", name, bound), 4
	case 2:
		return fmt.Sprintf("string %s<%s>", name, bound), 4
	}
	t := w.base()
	switch w.IntN(8) {
	case 0:
		n := min(pick(w, 1, 2, 3, 6, 25), maxWild/max(t.size, 1))
		return fmt.Sprintf("%s %s[%d]", t.name, name, max(n, 1)), max(n, 1) * t.size
	case 1, 2:
		return fmt.Sprintf("%s %s<%s>", t.name, name, bound), 4
	case 3:
		return fmt.Sprintf("%s *%s", t.name, name), 4
	}
	return t.name + " " + name, t.size
}

func (w *wilder) fields(n int) (string, int) {
	var body strings.Builder
	size := 0
	for range n {
		f, more := w.field(w.name("f"))
		if size += more; size > maxWild {
			f, more = "int "+w.name("f"), 4
		}
		fmt.Fprintf(&body, "\t%s;\n", f)
	}
	return body.String(), size
}

// chain is a typedef of anything, and typedefs of that.
func (w *wilder) chain() {
	name := w.name("t")
	decl, size := w.field(name)
	w.declare(name, size, "typedef %s;\n", decl)
	for range w.IntN(6) {
		next := w.name("t")
		w.declare(next, size, "typedef %s %s;\n", name, next)
		name = next
	}
}

func (w *wilder) structure() {
	name := w.name("s")
	body, size := w.fields(1 + w.IntN(6))
	w.declare(name, size, "struct %s {\n%s};\n", name, body)
}

// self names the type that is being declared, for C as a struct.
func (w *wilder) self(name string) string {
	if w.c {
		return "struct " + name
	}
	return name
}

// list is a linked list and one of its heads, which need not be optional.
func (w *wilder) list() {
	name := w.name("node")
	body, size := w.fields(w.IntN(4))
	fmt.Fprintf(&w.text, "struct %s {\n%s\t%s *next;\n};\n", name, body, w.self(name))
	head := w.name("h")
	star := pick(w, "*", "*", "")
	w.declare(head, map[bool]int{true: 4, false: size + 4}[star == "*"], "struct %s {\n\t%s %sfirst;\n};\n", head, name, star)
}

// pointerList is a list whose nodes name the typedef of the pointer to them.
func (w *wilder) pointerList() {
	name, p := w.name("node"), w.name("p")
	body, _ := w.fields(w.IntN(4))
	fmt.Fprintf(&w.text, "typedef struct %s *%s;\nstruct %s {\n%s\t%s next;\n};\n", name, p, name, body, p)
	w.named = append(w.named, wildType{p, 4})
}

// recursive is a type that contains itself and is no list.
func (w *wilder) recursive() {
	name := w.name("r")
	body, size := w.fields(w.IntN(3))
	self := w.self(name)
	way := w.IntN(7)
	if way >= 4 && w.c {
		way = 0 // C would know the union as a struct, and one that holds itself not at all
	}
	switch way {
	case 0:
		w.declare(name, size+8, "struct %s {\n\t%s *left;\n%s\t%s *right;\n};\n", name, self, body, self)
	case 1:
		w.declare(name, size+4, "struct %s {\n%s\t%s kids<%s>;\n};\n", name, body, self, pick(w, "", "FEW", "ALL"))
	case 2: // not last, so no list
		w.declare(name, size+8, "struct %s {\n%s\t%s *next;\n\tint last;\n};\n", name, body, self)
	case 4: // the tail of a list in a union
		arm := w.name("s")
		fmt.Fprintf(&w.text, "struct %s {\n%s\t%s *rest;\n};\n", arm, body, name)
		w.declare(name, 4, "union %s switch (int d) {\ncase 1:\n\t%s item;\ndefault:\n\tvoid;\n};\n", name, arm)
	case 5: // by value, where an arm ends it
		w.declare(name, 4, "union %s switch (bool more) {\ncase TRUE:\n\tstruct {\n%s\t%s next;\n\t} item;\ncase FALSE:\n\tvoid;\n};\n", name, body, self)
	case 6:
		w.declare(name, 8, "union %s switch (int d) {\ncase 1:\n\t%s both[2];\ncase 2:\n\t%s one;\ndefault:\n\tint leaf;\n};\n", name, self, self)
	default:
		kids := w.name("k")
		w.declare(name, size+4, "typedef struct %s %s<%s>;\nstruct %s {\n%s\t%s kids;\n};\n", name, kids, pick(w, "", "FEW"), name, body, kids)
	}
}

// union has a discriminant of any kind, and arms that fall together.
func (w *wilder) union() {
	name, disc := w.name("u"), "int"
	var labels []string
	all := false // the labels are all there are
	switch w.IntN(5) {
	case 0:
		disc, labels, all = "bool", []string{"TRUE", "FALSE"}, true
	case 1, 2:
		i := w.IntN(len(w.enums))
		labels, all = append(labels, w.enums[i]...), true
		seen := 0
		for _, t := range w.named {
			if strings.HasPrefix(t.name, "e") {
				if seen == i {
					disc = t.name
				}
				seen++
			}
		}
	case 3:
		labels = []string{"-1", "0", "5", "2147483647", "-2147483648"}
	default:
		disc, labels = "unsigned int", []string{"0", "1", "FEW", "ALL", "0x80000000"}
	}
	if w.IntN(3) == 0 { // by another name
		alias := w.name("d")
		w.declare(alias, 4, "typedef %s %s;\n", disc, alias)
		disc = alias
	}
	w.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	if !all || w.IntN(3) == 0 {
		labels = labels[:1+w.IntN(len(labels))]
	}
	var body strings.Builder
	arm := func() {
		decl := "void"
		if w.IntN(4) > 0 {
			decl, _ = w.field(w.name("f"))
		}
		fmt.Fprintf(&body, "\t%s;\n", decl)
	}
	for i, l := range labels {
		fmt.Fprintf(&body, "case %s:\n", l)
		if i == len(labels)-1 || w.IntN(3) > 0 {
			arm()
		}
	}
	if w.IntN(2) == 0 {
		body.WriteString("default:\n")
		arm()
	}
	w.declare(name, 4, "union %s switch (%s %s) {\n%s};\n", name, disc, w.name("d"), body.String())
}
