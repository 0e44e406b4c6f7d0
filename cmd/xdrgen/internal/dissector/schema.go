package dissector

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// schema writes a unit's declarations as Lua tables.
type schema struct {
	types   strings.Builder
	names   map[*ir.Decl]string // of the declarations that are written, or will be
	taken   map[string]bool
	queue   []*ir.Decl
	binds   []*ir.Bind
	numbers map[*ir.Decl][]ir.Number
}

func newSchema(binds []*ir.Bind) *schema {
	s := &schema{names: map[*ir.Decl]string{}, taken: map[string]bool{}, binds: binds, numbers: map[*ir.Decl][]ir.Number{}}
	for _, b := range binds {
		for _, n := range b.Numbers {
			s.numbers[n.Decl] = append(s.numbers[n.Decl], n)
		}
	}
	return s
}

// quote returns a string of Lua. Names of XDR have letters, digits and underscores only; texts from
// elsewhere have their other characters replaced.
func quote(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, s) + `"`
}

// name returns the name of a declaration in the table of types, and sees to it that it is written.
// Declarations of several units may have one name.
func (s *schema) name(d *ir.Decl) string {
	if name := s.names[d]; name != "" {
		return name
	}
	name := d.Name
	for i := 2; s.taken[name]; i++ {
		name = d.Name + "_" + strconv.Itoa(i)
	}
	s.names[d], s.taken[name] = name, true
	s.queue = append(s.queue, d)
	return name
}

// flush writes the declarations that are asked for and not yet written.
func (s *schema) flush() {
	for len(s.queue) > 0 {
		d := s.queue[0]
		s.queue = s.queue[1:]
		fmt.Fprintf(&s.types, "\t[%s] = %s,\n", quote(s.names[d]), s.decl(d))
	}
}

// number returns a number of Lua, which counts to 2^53 without loss.
func number(n uint64) string { return strconv.FormatUint(min(n, 1<<53), 10) }

// typ returns a type as a table. Typedefs are followed, unless they contain themselves.
func (s *schema) typ(t *ir.Type) string {
	most := uint64(1<<32 - 1)
	if t.Bounded {
		most = t.Max
	}
	switch t.Kind {
	case ir.Bool:
		return `{k="bool"}`
	case ir.Int:
		return `{k="int"}`
	case ir.Uint:
		return `{k="uint"}`
	case ir.Hyper:
		return `{k="hyper"}`
	case ir.Uhyper:
		return `{k="uhyper"}`
	case ir.Float:
		return `{k="float"}`
	case ir.Double:
		return `{k="double"}`
	case ir.Quad:
		return `{k="fixed",n=16}`
	case ir.FixedOpaque:
		return `{k="fixed",n=` + number(t.Len) + `}`
	case ir.Opaque:
		return `{k="opaque",max=` + number(most) + `}`
	case ir.String:
		return `{k="string",max=` + number(most) + `}`
	case ir.FixedArray:
		return `{k="vector",n=` + number(t.Len) + `,of=` + s.typ(t.Elem) + `}`
	case ir.Array:
		return `{k="array",max=` + number(most) + `,of=` + s.typ(t.Elem) + `}`
	case ir.Optional:
		return `{k="optional",of=` + s.typ(t.Elem) + `}`
	case ir.ListOf, ir.ListHead:
		return fmt.Sprintf(`{k="list",head=%t,of={k="ref",ref=%s}}`, t.Kind == ir.ListHead, quote(s.name(t.Ref)))
	}
	if t.Ref.Kind == ir.Typedef && !t.Ref.Recursive {
		return s.typ(t.Ref.Type)
	}
	return `{k="ref",ref=` + quote(s.name(t.Ref)) + `}`
}

// decl returns a declaration as a table.
func (s *schema) decl(d *ir.Decl) string {
	var b strings.Builder
	fmt.Fprintf(&b, "k=%s", quote(d.Kind.Word()))
	if d.Recursive {
		b.WriteString(",rec=true")
	}
	switch d.Kind {
	case ir.Enum:
		fmt.Fprintf(&b, ",open=%t,names={%s}", d.Open, members(d))
	case ir.Typedef:
		b.WriteString(",of=" + s.typ(d.Type))
	case ir.Union:
		b.WriteString(s.union(d))
	default:
		fields := d.Fields
		if d.List != nil {
			fields = d.List.Elem
		}
		b.WriteString(",fields={" + s.fields(fields) + "}")
	}
	for i, n := range s.numbers[d] {
		if i == 0 {
			b.WriteString(",numbers={")
		}
		fmt.Fprintf(&b, "{field=%s,space=%s,data=%s,default=%t},", quote(n.Field), quote(n.Space), quote(n.Data), n.Default)
	}
	if len(s.numbers[d]) > 0 {
		b.WriteString("}")
	}
	return "{" + b.String() + "}"
}

// members returns the names of an enum by their numbers. The first of several names counts.
func members(d *ir.Decl) string {
	var b strings.Builder
	seen := map[int32]bool{}
	for _, m := range d.Members {
		if !seen[m.Value] {
			seen[m.Value] = true
			fmt.Fprintf(&b, "[%d]=%s,", m.Value, quote(m.Name))
		}
	}
	return b.String()
}

// union returns the discriminant and the arms: a list of fields, and for each value its index in
// the list. Void arms have index 0.
func (s *schema) union(d *ir.Decl) string {
	var fields []*ir.Field
	index := map[*ir.Arm]int{}
	for _, a := range d.Arms {
		if a.Field != nil {
			fields = append(fields, a.Field)
			index[a] = len(fields)
		}
	}
	arms := ir.ArmsOf(d)
	values := make([]int64, 0, len(arms.Own))
	for v := range arms.Own {
		values = append(values, v)
	}
	slices.Sort(values)
	var b strings.Builder
	fmt.Fprintf(&b, ",disc={%s},fields={%s},arms={", s.fields([]*ir.Field{d.Disc}), s.fields(fields))
	for _, v := range values {
		fmt.Fprintf(&b, "[%d]=%d,", v, index[arms.Own[v]])
	}
	b.WriteString("}")
	if arms.Other != nil {
		fmt.Fprintf(&b, ",default=%d", index[arms.Other])
	}
	return b.String()
}

func (s *schema) fields(fields []*ir.Field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "{%s,%s},", quote(f.Name), s.typ(f.Type))
	}
	return b.String()
}

// programs returns the programs of a unit by number, the unit's own before its imports'. It
// also writes all types that they use.
func (s *schema) programs(u *ir.Unit) string {
	type version struct{ program, version uint32 }
	seen := map[version]bool{}
	text := map[uint32]*strings.Builder{}
	var numbers []uint32
	for _, d := range u.AllDecls() {
		if d.Kind != ir.Program {
			continue
		}
		n := d.Program.Number
		if text[n] == nil {
			text[n] = new(strings.Builder)
			numbers = append(numbers, n)
			fmt.Fprintf(text[n], "\t[%d] = { name=%s, known=%t, versions={\n", n, quote(d.Name), known(n))
		}
		for _, v := range d.Program.Versions {
			if !seen[version{n, v.Number}] {
				seen[version{n, v.Number}] = true
				s.version(text[n], n, v)
			}
		}
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	var b strings.Builder
	for _, n := range numbers {
		b.WriteString(text[n].String() + "\t} },\n")
	}
	s.flush()
	return b.String()
}

// placed returns the fields of a procedure's results that RDMA may place (RFC 8166 §6.1).
func (s *schema) placed(program uint32, v *ir.Version, p *ir.Proc) string {
	var b strings.Builder
	for _, bind := range s.binds {
		for _, d := range bind.DDP {
			if d.Reply && d.Prog == program && d.Vers == v.Number && d.Number == p.Number {
				fmt.Fprintf(&b, "[%s]=true,", quote(s.name(d.Owner)+"."+d.Field.Name))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return ", placed={" + b.String() + "}"
}

func (s *schema) version(b *strings.Builder, program uint32, v *ir.Version) {
	fmt.Fprintf(b, "\t\t[%d] = { name=%s, procs={\n", v.Number, quote(v.Name))
	for _, p := range v.Procs {
		fmt.Fprintf(b, "\t\t\t[%d] = { name=%s, args={%s}", p.Number, quote(p.Name), s.fields(p.Args))
		if p.Result != nil {
			fmt.Fprintf(b, ", result=%s%s", s.typ(p.Result), s.placed(program, v, p))
		}
		b.WriteString(" },\n")
	}
	b.WriteString("\t\t} },\n")
}

// codes returns the code points by space and number, with the types of their data, and the flags of
// header types. Without headers, there are some only if a type has their numbers.
func (s *schema) codes(headers bool) string {
	spaces := map[string]map[uint32]string{}
	for _, bind := range s.binds {
		for i := range bind.Codes {
			p := &bind.Codes[i]
			if spaces[p.Space] == nil {
				spaces[p.Space] = map[uint32]string{}
			}
			if spaces[p.Space][p.Value] != "" || len(s.numbers) == 0 && !headers {
				continue
			}
			text := "name=" + quote(p.Const)
			if p.Decl != nil {
				text += ",t=" + s.typ(&ir.Type{Kind: ir.Ref, Ref: p.Decl})
			}
			if p.Space == ir.SpaceHeaderType {
				text += fmt.Sprintf(",flags=%d,payload=%t", p.Mask, p.Payload)
			}
			spaces[p.Space][p.Value] = "{" + text + "}"
		}
	}
	s.flush()
	var b strings.Builder
	for _, space := range sortedKeys(spaces) {
		fmt.Fprintf(&b, "\t[%s] = {\n", quote(space))
		for _, n := range sortedKeys(spaces[space]) {
			fmt.Fprintf(&b, "\t\t[%d] = %s,\n", n, spaces[space][n])
		}
		b.WriteString("\t},\n")
	}
	return b.String()
}
