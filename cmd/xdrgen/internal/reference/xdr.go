package reference

import (
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// line is a line of a definition.
type line struct {
	at      source.Span // zero for a line that the description adds
	parts   []part
	comment string // at the end of the line, or the whole line
}

// part is a piece of XDR. If ref is not nil, it is a name of ref.
type part struct {
	text string
	ref  *ir.Decl
}

// code returns a line of XDR.
func code(at source.Span, parts ...part) line { return line{at: at, parts: parts} }

// comments returns the lines of a comment.
func comments(indent string, doc []string) (out []line) {
	for _, l := range doc {
		out = append(out, line{parts: []part{{text: indent}}, comment: l})
	}
	return out
}

// definition returns the lines of a declaration, without the comment before it.
func definition(d *ir.Decl) (out []line) {
	text := func(s string) part { return part{text: s} }
	switch d.Kind {
	case ir.Const:
		l := code(d.Pos, text("const "+d.Name+" = "+value(d.Value)+";"))
		l.comment = d.Tail
		return []line{l}
	case ir.Typedef:
		l := code(d.Pos, append(append([]part{text("typedef ")}, declared(d.Type, d.Name)...), text(";"))...)
		l.comment = d.Tail
		return []line{l}
	case ir.Enum:
		out = append(out, code(d.Pos, text("enum "+d.Name+" {")))
		for i, m := range d.Members {
			end := ","
			if i == len(d.Members)-1 {
				end = ""
			}
			out = append(out, comments("    ", m.Doc)...)
			l := code(m.Pos, text("    "+m.Name+" = "+strconv.FormatInt(int64(m.Value), 10)+end))
			l.comment = m.Tail
			out = append(out, l)
		}
	case ir.Struct:
		out = append(out, code(d.Pos, text("struct "+d.Name+" {")))
		for _, f := range d.Fields {
			out = append(out, field("    ", f)...)
		}
	case ir.Union:
		head := append([]part{text("union " + d.Name + " switch (")}, declared(d.Disc.Type, d.Disc.Name)...)
		out = append(out, code(d.Pos, append(head, text(") {"))...))
		for _, a := range d.Arms {
			out = append(out, arm(a)...)
		}
	default:
		return nil
	}
	end := line{parts: []part{text("};")}, comment: d.Tail}
	return append(out, end)
}

// arm returns the lines of a union's arm.
func arm(a *ir.Arm) (out []line) {
	for _, l := range a.Labels {
		p := part{text: l.Value.Decimal()}
		switch {
		case l.Member != nil:
			p.text = l.Member.Name
		case l.Const != nil:
			p = part{l.Const.Name, l.Const}
		}
		out = append(out, code(l.Pos, part{text: "case "}, p, part{text: ":"}))
	}
	if a.Default {
		out = append(out, code(a.Pos, part{text: "default:"}))
	}
	if a.Field == nil {
		return append(out, code(source.Span{}, part{text: "    void;"}))
	}
	return append(out, field("    ", a.Field)...)
}

// field returns the lines of a field.
func field(indent string, f *ir.Field) []line {
	out := comments(indent, f.Doc)
	l := code(f.Pos, append(append([]part{{text: indent}}, declared(f.Type, f.Name)...), part{text: ";"})...)
	l.comment = f.Tail
	return append(out, l)
}

// declared returns a declaration of XDR: a type and a name.
func declared(t *ir.Type, name string) []part {
	named := func(t *ir.Type) part {
		if t.Ref != nil {
			return part{t.Ref.Name, t.Ref}
		}
		return part{text: t.Spell()}
	}
	size := func(open, shut string, bounded bool, n uint64) []part {
		p := part{text: strconv.FormatUint(n, 10)}
		switch {
		case !bounded:
			p = part{}
		case t.LenConst != nil:
			p = part{t.LenConst.Name, t.LenConst}
		case t.LenText != "":
			p.text = t.LenText
		}
		return []part{{text: " " + name + open}, p, {text: shut}}
	}
	switch t.Kind {
	case ir.FixedOpaque:
		return append([]part{{text: "opaque"}}, size("[", "]", true, t.Len)...)
	case ir.Opaque, ir.String:
		return append([]part{{text: t.Kind.Word()}}, size("<", ">", t.Bounded, t.Max)...)
	case ir.FixedArray:
		return append([]part{named(t.Elem)}, size("[", "]", true, t.Len)...)
	case ir.Array:
		return append([]part{named(t.Elem)}, size("<", ">", t.Bounded, t.Max)...)
	case ir.Optional:
		return []part{named(t.Elem), {text: " *" + name}}
	case ir.ListOf:
		return []part{named(t), {text: " *" + name}}
	}
	return []part{named(t), {text: " " + name}}
}

// value returns a constant as it is written, and in decimal if that is another number.
func value(v ir.Value) string {
	if v.Text != "" && !strings.ContainsAny(v.Text, "\n/") {
		return v.Text
	}
	return v.Decimal()
}
