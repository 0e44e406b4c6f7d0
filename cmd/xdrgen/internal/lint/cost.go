package lint

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

const (
	maxFixed   = 4096    // bytes of fixed data that are no matter
	maxRatio   = 16      // bytes in memory for one on the wire
	maxHarm    = 1 << 16 // bytes in memory below which the ratio is no matter
	inlineArm  = 64      // bytes of a union's arm that are kept in place
	sliceBytes = 24      // of a Go slice without its elements
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
		if t.Kind == ir.Array || t.Kind == ir.ListOf || t.Kind == ir.ListHead {
			l.amplification(d, t, name)
		}
		if t.Kind == ir.Array || t.Kind == ir.FixedArray {
			if c, ok := character(t.Elem); ok {
				l.report(WideCharacters, d, finding(WideCharacters, t.Pos, "each %s of %s takes 4 bytes on the wire", c, name))
			}
		}
	})
}

// amplification compares the least an element takes on the wire with what it
// takes in memory.
func (l *linter) amplification(d *ir.Decl, t *ir.Type, name string) {
	var wire, mem, count uint64
	if t.Kind == ir.Array {
		if t.Max == 0 {
			return
		}
		wire, mem, count = t.Elem.Size.Min, l.mem(t.Elem), t.Max
	} else {
		if t.Ref.List == nil || d.List != nil && d.List.Next.Type == t {
			return
		}
		wire, count = 4, 1<<32-1 // the presence word
		for _, f := range t.Ref.List.Elem {
			wire += f.Type.Size.Min
			mem += l.mem(f.Type)
		}
	}
	switch {
	case wire == 0:
		l.report(NoSize, d, l.via(finding(NoSize, t.Pos, "the elements of %s take no bytes", name), d))
	case mem > maxRatio*wire && mem > maxHarm/count:
		f := finding(Amplification, t.Pos, "an element of %s is %d bytes or more on the wire and about %d in memory, %d times as much", name, wire, mem, mem/wire)
		l.report(Amplification, d, l.via(f, d))
	}
}

// mem estimates the bytes that a Go value of t takes itself, without what it
// points to.
func (l *linter) mem(t *ir.Type) uint64 {
	switch t.Kind {
	case ir.Bool:
		return 1
	case ir.Int, ir.Uint, ir.Float:
		return 4
	case ir.Hyper, ir.Uhyper, ir.Double:
		return 8
	case ir.Quad:
		return 16
	case ir.FixedOpaque:
		return t.Len
	case ir.FixedArray:
		return min(l.mem(t.Elem), 1<<31) * t.Len
	case ir.Optional:
		return l.mem(t.Elem) + 8
	case ir.Ref:
		return l.memDecl(t.Ref)
	}
	return sliceBytes
}

func (l *linter) memDecl(d *ir.Decl) uint64 {
	if n, ok := l.mems[d]; ok {
		return n
	}
	l.mems[d] = 8 // a type that holds itself does so by reference
	n := uint64(4)
	switch d.Kind {
	case ir.Typedef:
		n = l.mem(d.Type)
	case ir.Struct:
		n = 0
		for _, f := range d.Fields {
			n += l.mem(f.Type)
		}
	case ir.Union:
		n = 8
		for _, a := range d.Arms {
			if a.Field == nil {
				continue
			}
			if m := l.mem(a.Field.Type); m <= inlineArm {
				n += m
			} else {
				n += 8
			}
		}
	}
	n = min(n, 1<<62)
	l.mems[d] = n
	return n
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
