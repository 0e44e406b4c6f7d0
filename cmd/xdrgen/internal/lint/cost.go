package lint

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

const (
	maxFixed = 4096    // bytes of fixed data that are no matter
	maxRatio = 16      // bytes in memory for one on the wire
	maxHarm  = 1 << 16 // bytes in memory below which the ratio is no matter
)

// cost looks for what lets a peer make a reader work or allocate.
func (l *linter) cost(d *ir.Decl) {
	if _, held := l.reach[d]; !held {
		return
	}
	if d.Recursive && d.Kind != ir.Typedef {
		f := finding(RecursiveType, d.Pos, "%s %s holds values of itself", word(d), d.Name)
		l.report(RecursiveType, d, l.via(f, d))
	}
	types(d, func(t *ir.Type, name string) {
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
	})
	if l.costs != nil && d.Kind != ir.Program {
		l.amplification(d)
	}
}

// amplification looks at what bytes from a peer become in memory, where that
// is much and no type within is to blame. Elements without bytes on the wire
// have no such number.
func (l *linter) amplification(d *ir.Decl) {
	times, blamed := l.amplifies(d), false
	var worst *ir.Type
	var most float64
	name := d.Name
	types(d, func(t *ir.Type, n string) {
		wire, mem, ok := l.element(d, t)
		switch {
		case ok && wire == 0:
			l.report(NoSize, d, l.via(finding(NoSize, t.Pos, "the elements of %s take no bytes", n), d))
		case ok && float64(mem)/float64(wire) > most:
			most, worst, name = float64(mem)/float64(wire), t, n
		}
		blamed = blamed || t.Ref != nil && t.Ref != d && t.Ref.Import == nil && l.amplifies(t.Ref) >= times
	})
	if times == 0 || blamed {
		return
	}
	f := finding(Amplification, d.Pos, "bytes of %s become up to %d times as many in memory", d.Name, times)
	if worst != nil {
		wire, mem, _ := l.element(d, worst)
		f.Span = worst.Pos
		f = f.Note("an element of %s is %d bytes or more on the wire and %d in memory", name, wire, mem)
	}
	l.report(Amplification, d, l.via(f, d))
}

// amplifies returns how many times as many bytes values of d take in memory as
// on the wire, 0 where that is no matter.
func (l *linter) amplifies(d *ir.Decl) int {
	times := l.costs.Amplification(d)
	if times <= maxRatio || !d.Size.Unbounded && d.Size.Max <= maxHarm/uint64(times) {
		return 0
	}
	return times
}

// element returns the least bytes on the wire and those in memory of an element
// of an array or list that d writes.
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

// character tells an element that was written as one of C's small types.
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

func word(d *ir.Decl) string {
	switch d.Kind {
	case ir.Struct:
		return "struct"
	case ir.Union:
		return "union"
	case ir.Enum:
		return "enum"
	case ir.Program:
		return "program"
	case ir.Const:
		return "const"
	}
	return "typedef"
}
