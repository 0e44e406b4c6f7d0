package lsp

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
)

// hover answers textDocument/hover: the declaration of the name, its bytes on the wire, the value
// of a constant, the comment, and the place.
func (s *state) hover(q query) (any, error) {
	n, ok := q.analysis.at(q.view.file, q.offset)
	if !ok {
		return nil, nil
	}
	out := hover{Contents: markup{Kind: "plaintext"}, Range: q.view.span(n.at.Start, n.at.End, s.client.encoding)}
	if s.client.markdown {
		out.Contents.Kind = "markdown"
	}
	parts := []string{s.block("xdr", n.spell())}
	if facts := n.facts(q.analysis.result.Unit != nil); facts != "" {
		parts = append(parts, facts)
	}
	if p := n.picture(q.analysis.result.Unit != nil); p != "" {
		parts = append(parts, s.block("text", p))
	}
	if c := n.comment(); len(c) > 0 {
		parts = append(parts, s.block("text", strings.Join(c, "\n")))
	}
	if at := n.declaredAt(); at != "" {
		parts = append(parts, at)
	}
	out.Contents.Value = strings.Join(parts, "\n\n")
	return out, nil
}

// block returns text as it is, for a client that takes Markdown in a fence that the text cannot
// close.
func (s *state) block(language, text string) string {
	text = strings.Map(plain, text)
	if !s.client.markdown {
		return text
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// plain replaces characters that change how the text around them is shown, such as marks of
// bidirectional text.
func plain(r rune) rune {
	if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
		return unicode.ReplacementChar
	}
	return r
}

// maxLines limits the fields, arms, members or procedures that a hover lists.
const maxLines = 24

// spell returns the declaration as XDR.
func (t thing) spell() string {
	switch {
	case t.member != nil:
		return fmt.Sprintf("%s = %d", t.member.Name, t.member.Value)
	case t.field != nil:
		return spellField(t.field)
	case t.proc != nil:
		return spellProc(t.proc)
	case t.version != nil:
		return fmt.Sprintf("version %s = %d", t.version.Name, t.version.Number)
	}
	d := t.decl
	var lines []string
	head, tail := d.Kind.Word()+" "+d.Name+" {", "};"
	switch d.Kind {
	case ir.Const:
		return fmt.Sprintf("const %s = %s", d.Name, d.Value.Text)
	case ir.Typedef:
		return "typedef " + spellField(&ir.Field{Name: d.Name, Type: d.Type})
	case ir.Enum:
		for _, m := range d.Members {
			lines = append(lines, fmt.Sprintf("%s = %d", m.Name, m.Value))
		}
	case ir.Struct:
		for _, f := range d.Fields {
			lines = append(lines, spellField(f)+";")
		}
	case ir.Union:
		head = fmt.Sprintf("union %s switch (%s) {", d.Name, spellField(d.Disc))
		for _, a := range d.Arms {
			lines = append(lines, spellArm(a))
		}
	case ir.Program:
		for _, v := range d.Program.Versions {
			lines = append(lines, fmt.Sprintf("version %s = %d: %d procedures", v.Name, v.Number, len(v.Procs)))
		}
		tail = fmt.Sprintf("} = %d;", d.Program.Number)
	}
	if n := len(lines) - maxLines; n > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("... and %d more", n))
	}
	if len(lines) == 0 {
		return head + " " + tail
	}
	return head + "\n    " + strings.Join(lines, "\n    ") + "\n" + tail
}

// spellField returns a field as XDR, without the semicolon. The type of one with an error is not
// known.
func spellField(f *ir.Field) string {
	switch {
	case f == nil:
		return "?"
	case f.Type == nil:
		return "? " + f.Name
	}
	word := f.Type.Spell()
	for _, mark := range []string{"*", "<", "["} { // which XDR writes at the name
		if base, rest, ok := strings.Cut(word, mark); ok {
			if mark == "*" {
				return base + " *" + f.Name
			}
			return base + " " + f.Name + mark + rest
		}
	}
	return word + " " + f.Name
}

// spellArm returns an arm as XDR.
func spellArm(a *ir.Arm) string {
	var b strings.Builder
	for _, l := range a.Labels {
		b.WriteString("case " + l.Value.Text + ": ")
	}
	if a.Default {
		b.WriteString("default: ")
	}
	if a.Field == nil {
		return b.String() + "void;"
	}
	return b.String() + spellField(a.Field) + ";"
}

// spellProc returns a procedure as XDR.
func spellProc(p *ir.Proc) string {
	word := func(t *ir.Type) string {
		if t == nil {
			return "void"
		}
		return t.Spell()
	}
	var args []string
	for _, f := range p.Args {
		args = append(args, word(f.Type))
	}
	if len(args) == 0 {
		args = []string{"void"}
	}
	return fmt.Sprintf("%s %s(%s) = %d", word(p.Result), p.Name, strings.Join(args, ", "), p.Number)
}

// facts returns what the declaration alone does not say: bytes and values. The sizes are known only
// in a unit without errors.
func (t thing) facts(sized bool) string {
	switch {
	case t.member != nil:
		return fmt.Sprintf("member of enum %s: %d (%#x)", t.decl.Name, t.member.Value, uint32(t.member.Value))
	case t.field != nil:
		owner := t.decl.Kind.Word() + " " + t.decl.Name
		if t.proc != nil {
			owner = "procedure " + t.proc.Name
		}
		if t.field.Type == nil || !sized {
			return "in " + owner
		}
		return "in " + owner + "; on the wire " + packet.SizeText(t.field.Type.Size)
	case t.proc != nil:
		return fmt.Sprintf("procedure %d of version %s of program %s", t.proc.Number, t.version.Name, t.decl.Name)
	case t.version != nil:
		return fmt.Sprintf("version %d of program %s", t.version.Number, t.decl.Name)
	case t.decl.Kind == ir.Const:
		v := t.decl.Value
		if v.Neg {
			return "value " + v.Decimal()
		}
		return fmt.Sprintf("value %s (%#x)", v.Decimal(), v.Abs)
	case t.decl.Kind == ir.Program:
		return fmt.Sprintf("program %d (%#x)", t.decl.Program.Number, t.decl.Program.Number)
	case !sized:
		return "the bytes on the wire are known when the unit has no errors"
	}
	return "on the wire " + packet.SizeText(t.decl.Size)
}

// maxPicture limits the lines of a packet picture in a hover.
const maxPicture = 40

// picture returns the packet picture of a struct or union that is not too long, or "".
func (t thing) picture(sized bool) string {
	d := t.decl
	if !sized || t.field != nil || d.Kind != ir.Struct && d.Kind != ir.Union {
		return ""
	}
	text := strings.TrimRight(packet.Of(d).Text(), "\n")
	if strings.Count(text, "\n") >= maxPicture {
		return ""
	}
	return text
}

// declaredAt returns where a name is declared: the file and line if that is another place, and the
// line of the document that the declaration was extracted from.
func (n named) declaredAt() string {
	var out []string
	if n.at != n.thing.at && n.thing.at.File != nil && !n.thing.at.File.Synthetic {
		out = append(out, where(n.thing.at))
	}
	if origin, ok := n.thing.at.Origin(); ok {
		out = append(out, origin.String())
	}
	if len(out) == 0 {
		return ""
	}
	return "declared at " + strings.Join(out, ", from ")
}
