package syntax

import (
	"sort"
	"strings"
)

// looseName is the name of the enum or union that is put around loose lines. No text has it.
const looseName = "(loose)"

// loose returns loose members "NAME = VALUE" or arms "case VALUE: TYPE name;" that begin here,
// outside definitions, as the tokens of an enum or a union. It returns none if no member or arm
// begins here. Members end with a comma, a semicolon or the line.
func (p *splitter) loose() []token {
	first := p.at(p.i)
	around := func(word string) []token {
		return []token{{tKeyword, first.start, first.start, word}, {tIdent, first.start, first.start, looseName}}
	}
	punct := func(at int, text string) token { return token{tPunct, at, at, text} }
	var out []token
	switch {
	case p.looseMember() > 0:
		out = append(around("enum"), punct(first.start, "{"))
		for n := p.looseMember(); n > 0; n = p.looseMember() {
			if last := out[len(out)-1]; !last.is("{") {
				out = append(out, punct(last.end, ","))
			}
			out = append(out, p.toks[p.i:p.i+n]...)
			if p.i += n; p.at(p.i).is(";") || p.at(p.i).is(",") {
				p.i++
			}
		}
	case p.looseArm():
		out = around("union")
		for _, text := range []string{"switch", "(", "int", looseName, ")", "{"} {
			t := punct(first.start, text)
			switch text {
			case "switch", "int":
				t.kind = tKeyword
			case looseName:
				t.kind = tIdent
			}
			out = append(out, t)
		}
		for p.looseArm() {
			out = p.arm(out)
		}
	default:
		return nil
	}
	end := out[len(out)-1].end
	return append(out, punct(end, "}"), punct(end, ";"))
}

// looseMember returns how many tokens the member that begins here has, without the comma or
// semicolon, or 0.
func (p *splitter) looseMember() int {
	name, equal, value, end := p.at(p.i), p.at(p.i+1), p.at(p.i+2), p.at(p.i+3)
	if name.kind != tIdent || !equal.is("=") || value.kind != tNumber && value.kind != tIdent && value.kind != tExpr {
		return 0
	}
	if end.is(";") || end.is(",") || p.f.Position(value.end).Line < p.f.Position(end.start).Line || p.i+3 >= len(p.toks) {
		return 3
	}
	return 0
}

// looseArm reports whether an arm begins here.
func (p *splitter) looseArm() bool {
	return p.at(p.i).is("case") && p.at(p.i+2).is(":") || p.at(p.i).is("default") && p.at(p.i+1).is(":")
}

// arm appends the tokens of the arm that begins here. They end with a semicolon, or before the next
// definition or the brace that has no beginning.
func (p *splitter) arm(out []token) []token {
	first := p.i
	p.toEnd(0, func(depth int) bool {
		return depth < 0 || depth == 0 && p.i > first && p.restarts(p.i, p.column(first))
	})
	return append(out, p.toks[first:p.i]...)
}

// add adds definitions to the file. Loose lines are not in Defs.
func (f *File) add(s *scanner, defs []*Def) {
	for _, d := range defs {
		if d.Name.Name != looseName {
			f.Defs = append(f.Defs, d)
			continue
		}
		l := &Loose{Def: d}
		for _, m := range d.Members {
			l.Above = append(l.Above, wordsAbove(s, m.Name.Span.Start))
		}
		for _, a := range d.Arms {
			a.Span.Start = caseOf(s, a.Span.Start)
			l.Above = append(l.Above, wordsAbove(s, a.Span.Start))
		}
		f.Loose = append(f.Loose, l)
	}
}

// caseOf returns the start of the word case before a label, or of a default.
func caseOf(s *scanner, label int) int {
	i := sort.Search(len(s.toks), func(i int) bool { return s.toks[i].start >= label })
	if i > 0 && s.toks[i-1].is("case") {
		return s.toks[i-1].start
	}
	return label
}

// wordsAbove returns the words of each comment between a token and the token before it, but not of
// those at the end of that one's line.
func wordsAbove(s *scanner, offset int) [][]string {
	last := sort.Search(len(s.toks), func(i int) bool { return s.toks[i].start >= offset }) - 1
	from := 0
	if last >= 0 {
		from = s.toks[last].end
		if end := endOfLine(s.text, from); end < offset {
			from = end
		}
	}
	var words [][]string
	for i := sort.Search(len(s.notes.all), func(i int) bool { return s.notes.all[i].start >= from }); i < len(s.notes.all) && s.notes.all[i].end <= offset; i++ {
		c := s.notes.all[i]
		words = append(words, strings.FieldsFunc(string(s.text[c.start:c.end]), func(r rune) bool {
			return r > 0x7f || !isWord(byte(r))
		}))
	}
	return words
}
