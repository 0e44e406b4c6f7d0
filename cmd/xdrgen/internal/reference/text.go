package reference

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
)

// columns is the width of text, as in drafts and RFCs. Names are not broken, and can be wider.
const columns = 72

// Text returns the description as text of 72 columns, for terminals and drafts.
func Text(u *ir.Unit, o Options) []byte {
	t := plain{unit: newUnit(u, o)}
	for _, d := range t.ofKind(ir.Program) {
		t.program(d)
	}
	for _, d := range t.types() {
		t.typ(d)
	}
	t.constants()
	return []byte(strings.TrimLeft(t.out.String(), "\n"))
}

// plain writes a description as text.
type plain struct {
	*unit
	out strings.Builder
}

func (t *plain) put(format string, args ...any) { fmt.Fprintf(&t.out, format, args...) }

// head writes the first lines of a declaration.
func (t *plain) head(d *ir.Decl, kind string, facts ...string) {
	t.put("\n%s\n", visible(d.Name))
	facts = append([]string{kind}, facts...)
	if d.Pos.File != nil && !d.Pos.File.Synthetic {
		w := t.places.of(d.Pos)
		facts = append(facts, w.String())
		if w.section != "" {
			facts = append(facts, w.sectionText())
		}
	}
	t.fill("   ", visible(strings.Join(facts, ", ")))
}

// fill writes words in lines that fit.
func (t *plain) fill(indent, s string) {
	line := ""
	for _, w := range strings.Fields(s) {
		if line != "" && utf8.RuneCountInString(indent)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > columns {
			t.put("%s%s\n", indent, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		t.put("%s%s\n", indent, line)
	}
}

// doc writes a comment. Lines that fit keep their form.
func (t *plain) doc(indent string, lines []string) {
	for n, l := range comment(lines) {
		if n == 0 {
			t.put("\n")
		}
		switch l = strings.TrimRight(visible(l), " "); {
		case l == "":
			t.put("\n")
		case utf8.RuneCountInString(indent+l) <= columns:
			t.put("%s%s\n", indent, l)
		default:
			t.fill(indent, l)
		}
	}
}

// typ writes a type with its picture.
func (t *plain) typ(d *ir.Decl) {
	kind := d.Kind.Word()
	if d.List != nil {
		kind = "list"
	}
	t.head(d, kind, packet.SizeText(d.Size))
	t.doc("   ", d.Doc)
	t.put("\n%s", packet.Of(d).Text())
	t.members(d)
	t.usedBy(d)
}

// members writes the members of an enum.
func (t *plain) members(d *ir.Decl) {
	wide := 0
	for _, m := range d.Members {
		wide = max(wide, len(m.Name))
	}
	for n, m := range d.Members {
		if n == 0 {
			t.put("\n")
		}
		l := fmt.Sprintf("   %-*s = %d", wide, m.Name, m.Value)
		words := strings.Fields(visible(strings.Join(append(append([]string(nil), m.Doc...), m.Tail), " ")))
		if text := strings.Join(words, " "); text != "" {
			if one := l + "  " + text; utf8.RuneCountInString(one) <= columns {
				l = one
			} else {
				t.put("%s\n", l)
				t.fill("      ", text)
				continue
			}
		}
		t.put("%s\n", l)
	}
}

// usedBy writes the names of the declarations and procedures that use a declaration.
func (t *plain) usedBy(d *ir.Decl) {
	var names []string
	for _, by := range t.users[d] {
		if t.shown[by.decl] {
			names = append(names, visible(by.name()))
		}
	}
	if len(names) > 0 {
		t.put("\n")
		t.fill("   ", "Used by "+strings.Join(names, ", "))
	}
}

// program writes the procedures of a program.
func (t *plain) program(d *ir.Decl) {
	t.head(d, "program "+hexNumber(d.Program.Number))
	t.doc("   ", d.Doc)
	for _, v := range d.Program.Versions {
		t.put("\n")
		t.fill("   ", fmt.Sprintf("%s, version %d", visible(v.Name), v.Number))
		t.doc("   ", v.Doc)
		for _, p := range v.Procs {
			t.proc(d, v, p)
		}
	}
}

// proc writes a procedure.
func (t *plain) proc(d *ir.Decl, v *ir.Version, p *ir.Proc) {
	args := []string{"void"}
	for n, a := range p.Args {
		if n == 0 {
			args = nil
		}
		args = append(args, visible(a.Type.Spell())+", "+sizeOf(a.Type))
	}
	result := "void"
	if p.Result != nil {
		result = visible(p.Result.Spell()) + ", " + sizeOf(p.Result)
	}
	t.put("\n")
	t.fill("   ", fmt.Sprintf("%d %s", p.Number, visible(p.Name)))
	t.fill("      ", "arguments: "+strings.Join(args, "; "))
	t.fill("      ", "result: "+result)
	for _, f := range t.facts(d, v, p) {
		t.fill("      ", visible(f))
	}
	t.doc("      ", append(append([]string(nil), p.Doc...), p.Tail))
}

// constants writes the constants.
func (t *plain) constants() {
	for n, d := range t.ofKind(ir.Const) {
		if n == 0 {
			t.put("\nConstants\n\n")
		}
		l := "const " + d.Name + " = " + value(d.Value)
		if decimal := d.Value.Decimal(); decimal != value(d.Value) {
			l += " (" + decimal + ")"
		}
		t.fill("   ", visible(l))
		t.fill("      ", visible(strings.Join(append(append([]string(nil), d.Doc...), d.Tail), " ")))
	}
}
