package lint

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

const (
	maxFixed = 4096    // bytes of fixed-length data that are acceptable
	maxRatio = 16      // bytes of memory per byte on the wire that are acceptable
	maxHarm  = 1 << 16 // bytes of memory up to which any ratio is acceptable
)

// cost reports types by which a peer can make a reader work or allocate much.
func (l *linter) cost(d *ir.Decl) {
	if _, used := l.reach[d]; !used {
		return
	}
	if d.Recursive && d.Kind != ir.Typedef {
		f := finding(RecursiveType, d.Pos, "%s %s contains values of its own type", d.Kind.Word(), d.Name)
		l.report(RecursiveType, d, l.via(f, d))
	}
	for u := range d.Types() {
		t, name := u.Type, place(d, u)
		switch t.Kind {
		case ir.Opaque, ir.String, ir.Array:
			if !t.Bounded {
				f := finding(UnboundedData, t.Pos, "%s has no bound", name)
				l.report(UnboundedData, d, l.via(f, d))
			}
		case ir.ListOf, ir.ListHead:
			if d.List == nil || d.List.Next.Type != t {
				f := finding(UnboundedList, t.Pos, "%s is a linked list of %s", name, t.Ref.Name)
				l.report(UnboundedList, d, l.via(f, d))
			}
		case ir.FixedOpaque, ir.FixedArray:
			if t.Size.Min > maxFixed {
				l.report(LargeFixed, d, finding(LargeFixed, t.Pos, "every %s takes %d bytes", name, t.Size.Min))
			}
		}
		if t.Kind == ir.Array || t.Kind == ir.FixedArray {
			if c, ok := character(t.Elem); ok {
				l.report(WideCharacters, d, finding(WideCharacters, t.Pos, "each %s of %s takes 4 bytes on the wire", c, name))
			}
		}
	}
	if l.costs != nil && d.Kind != ir.Program {
		l.amplification(d)
	}
}

// amplification reports d if its values take much more memory than bytes on the wire, and
// no type within d is the cause. It also reports arrays whose elements take no bytes on the
// wire, for which there is no such ratio.
func (l *linter) amplification(d *ir.Decl) {
	ratio, blamed := l.amplifies(d), false
	var worst *ir.Type
	var highest float64
	name := d.Name
	for u := range d.Types() {
		t := u.Type
		wire, mem, ok := l.element(d, t)
		switch {
		case ok && wire == 0:
			l.report(NoSize, d, l.via(finding(NoSize, t.Pos, "the elements of %s take no bytes on the wire", place(d, u)), d))
		case ok && float64(mem)/float64(wire) > highest:
			highest, worst, name = float64(mem)/float64(wire), t, place(d, u)
		}
		blamed = blamed || t.Ref != nil && t.Ref != d && t.Ref.Import == nil && l.amplifies(t.Ref) >= ratio
	}
	if ratio == 0 || blamed {
		return
	}
	f := finding(Amplification, d.Pos, "%s takes up to %d times as many bytes in memory as on the wire", d.Name, ratio)
	if worst != nil {
		wire, mem, _ := l.element(d, worst)
		f.Span = worst.Pos
		f = f.Note("an element of %s takes at least %d bytes on the wire and %d in memory", name, wire, mem)
	}
	l.report(Amplification, d, l.via(f, d))
}

// amplifies returns how many times as many bytes values of d take in memory as on the wire,
// or 0 if that is acceptable.
func (l *linter) amplifies(d *ir.Decl) int {
	ratio := l.costs.Amplification(d)
	if ratio <= maxRatio || !d.Size.Unbounded && d.Size.Max <= maxHarm/uint64(ratio) {
		return 0
	}
	return ratio
}

// element returns the least bytes on the wire and the bytes in memory of an element of t,
// a type written in d. It reports false if t is no array or list.
func (l *linter) element(d *ir.Decl, t *ir.Type) (wire, mem uint64, ok bool) {
	switch {
	case t.Kind == ir.Array && t.Max > 0:
		return t.Elem.Size.Min, uint64(l.costs.Memory(t.Elem)), true
	case (t.Kind == ir.ListOf || t.Kind == ir.ListHead) && t.Ref.List != nil && (d.List == nil || d.List.Next.Type != t):
		wire = 4 // the presence word
		for _, f := range t.Ref.List.Elem {
			wire += f.Type.Size.Min
		}
		return wire, uint64(l.costs.Memory(t)), true
	}
	return 0, 0, false
}

// character returns the name of the C character type as which the file writes t, and
// whether there is one.
func character(t *ir.Type) (string, bool) {
	if t.Kind != ir.Int && t.Kind != ir.Uint {
		return "", false
	}
	for _, w := range []string{"unsigned char", "char", "u_char", "uchar", "int8_t", "uint8_t", "u_int8_t", "int8", "uint8"} {
		if rest, ok := strings.CutPrefix(t.Pos.Text(), w); ok && (rest == "" || rest[0] == ' ') {
			return w, true
		}
	}
	return "", false
}
