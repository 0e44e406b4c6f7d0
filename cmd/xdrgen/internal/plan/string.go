package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// String returns the plan as text: for each type a line, and a line for each of its parts.
func (p *Plan) String() string {
	var b strings.Builder
	for _, t := range p.Types {
		b.WriteString(t.String())
	}
	return b.String()
}

var opWords = [...]string{
	Word: "word", Hyper: "hyper", Bool: "bool", Enum: "enum", Bytes: "bytes", Opaque: "opaque", Loop: "loop",
	Array: "array", Optional: "optional", List: "list", Struct: "struct", Union: "union", Typedef: "typedef",
}

// String returns the word for the kind.
func (o Op) String() string {
	if o < Word || int(o) >= len(opWords) {
		return "op " + strconv.Itoa(int(o))
	}
	return opWords[o]
}

// String returns the plan of the type: a line with its kind, size and flags, then a line for each
// field or arm. The word run marks the parts that join the run around them. A part of fixed size is
// unchecked in a run, unless the line says otherwise, and checked elsewhere.
func (t *Type) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s: %s", t.Op, t.Decl.Name, sizeText(t.Size))
	for _, note := range []struct {
		has  bool
		text string
	}{
		{t.Inline, "inline"},
		{t.Recursive, "recursive"},
		{t.Node, "list node"},
		{t.Repeated, "repeated"},
		{t.Compact, "compact"},
		{t.Reducible, "reducible"},
		{t.Wide(), "wide"},
		{t.Transparent, "transparent"},
		{t.Alias, "alias"},
		{t.PointerName, "around a pointer"},
		{t.Converts, "number"},
		{t.Zero, "emptied as a whole"},
		{t.ByField && !t.Size.Fixed(), "skipped by field"},
		{t.RunArm, "an arm begins with a run"},
	} {
		if note.has {
			b.WriteString(", " + note.text)
		}
	}
	b.WriteByte('\n')
	line := func(label string, s *Step) {
		run, check := "", ""
		switch {
		case s == nil:
		case s.InRun && !s.Unchecked:
			run, check = "run", ", checked"
		case s.InRun:
			run = "run"
		case s.Unchecked:
			check = ", unchecked"
		}
		fmt.Fprintf(&b, "%4s %s: %v%s\n", run, label, s, check)
	}
	if t.Body != nil {
		line("is", t.Body)
	}
	for _, f := range t.Fields {
		line(f.Name, f.Step)
	}
	if t.Disc != nil {
		line("switch "+t.Disc.Name, t.Disc.Step)
	}
	for _, a := range t.Arms {
		label := a.label()
		if a.Dead {
			label += ", dead"
		}
		switch {
		case a.Field == nil:
			line(label, nil)
		case a.Pointer:
			line(label+" "+a.Field.Name+", by pointer", a.Field.Step)
		default:
			line(label+" "+a.Field.Name, a.Field.Step)
		}
	}
	return b.String()
}

// label is the text of an arm's labels.
func (a *Arm) label() string {
	var out []string
	for _, l := range a.Labels {
		out = append(out, "case "+l.Value.Decimal())
	}
	if a.Default {
		out = append(out, "default")
	}
	return strings.Join(out, ", ")
}

func sizeText(s ir.Size) string {
	switch {
	case s.Unbounded:
		return fmt.Sprintf("%d bytes and more", s.Min)
	case s.Min == s.Max:
		return fmt.Sprintf("%d bytes", s.Min)
	}
	return fmt.Sprintf("%d to %d bytes", s.Min, s.Max)
}

// String returns the step as a line of text. At a named type the line stops, because that type's
// own plan has the rest.
func (s *Step) String() string {
	if s == nil {
		return "void"
	}
	site := ""
	if s.Site != nil {
		site = ", placement site"
	}
	switch s.Op {
	case Word, Hyper:
		return [...]string{Unsigned: "", Signed: "signed ", Float: "float "}[s.Number] + s.Op.String()
	case Bytes:
		return fmt.Sprintf("bytes[%d]", s.Len)
	case Opaque:
		word := s.Op.String()
		if s.Text {
			word = "string"
		}
		return word + s.bound() + site
	case Loop:
		return fmt.Sprintf("%d times %v", s.Len, s.Elem)
	case Array:
		return "array" + s.bound() + " of " + s.Elem.String() + site
	case Optional:
		if s.Pointer {
			return "optional, by pointer, " + s.Elem.String()
		}
		return "optional " + s.Elem.String()
	case List:
		if s.Head {
			return "list, not empty, of " + s.Elem.String()
		}
		return "list of " + s.Elem.String()
	case Enum, Struct, Union, Typedef:
		return s.named()
	}
	return s.Op.String()
}

// named is String of a step with a named type. It says which emitters call its methods.
func (s *Step) named() string {
	var by []string
	for _, c := range []struct {
		call bool
		name string
	}{{s.Call, "codec"}, {s.CheckCall, "check"}, {s.PassCall, "scan"}, {s.SkipCall, "view"}} {
		if c.call {
			by = append(by, c.name)
		}
	}
	out := s.Op.String() + " " + s.Of.Decl.Name
	if len(by) > 0 {
		out += " (call: " + strings.Join(by, ", ") + ")"
	}
	if s.Op == Typedef && s.Elem != s.Of.Body {
		out += " for " + s.Elem.String()
	}
	return out
}

func (s *Step) bound() string {
	if !s.Bounded {
		return "<>"
	}
	return "<" + strconv.FormatUint(s.Max, 10) + ">"
}
