package sema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Index has what the names of a unit mean, for editors. It is complete only if the unit has no
// errors: a declaration with an error lacks types, values or sizes.
type Index struct {
	Decls []*ir.Decl // of the unit, then of the units that it includes
	Uses  []Use      // in order of file and place, one for each place
}

// Use is a place where a name stands for a declaration.
type Use struct {
	At     source.Span // only the name
	Decl   *ir.Decl
	Member *ir.Member // of the enum Decl, if the name stands for a member
}

// use records a use of a symbol.
func (f *findings) use(s *symbol, at source.Span) {
	if s == nil || !f.indexed || at.File == nil || at.File.Synthetic {
		return
	}
	if at.End-at.Start > len(s.name) { // an expression
		i := wordIn(at.Text(), s.name)
		if i < 0 {
			return
		}
		at.Start += i
		at.End = at.Start + len(s.name)
	}
	f.uses = append(f.uses, Use{At: at, Decl: s.decl, Member: s.member})
}

// wordIn returns the offset at which a text has a word, or -1.
func wordIn(text, word string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(word)
		letter := func(k int) bool { return k >= 0 && k < len(text) && (text[k] == '_' || isLetterOrDigit(rune(text[k]))) }
		if !letter(i-1) && !letter(end) {
			return i
		}
		from = end
	}
}

// index returns the index of the root unit.
func (c *compiler) index(u *unit) *Index {
	x := &Index{Decls: slices.Clone(u.decls)}
	for _, i := range u.imports {
		x.Decls = append(x.Decls, i.decls...)
	}
	rank := map[*source.File]int{}
	for i, f := range c.lib.files {
		rank[f] = i
	}
	slices.SortStableFunc(c.uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(rank[a.At.File], rank[b.At.File]), cmp.Compare(a.At.Start, b.At.Start))
	})
	x.Uses = slices.CompactFunc(c.uses, func(a, b Use) bool { return a.At.File == b.At.File && a.At.Start == b.At.Start })
	return x
}
