package packet

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// notFixed is the offset of an item after one whose size varies.
const notFixed = -1

// layout collects the items of a picture.
type layout struct {
	items   []Item
	offset  int64 // of the next item, or notFixed
	depth   int   // lanes around the next item
	rows    int
	visits  int  // fields that were looked at
	limited bool // stops after maxRows
	over    bool // was stopped

	ended string // name of the lanes that have just ended at endedAt; empty for none
	at    int
}

// full reports whether the picture has become too large.
func (l *layout) full() bool {
	l.over = l.over || l.limited && (l.rows > maxRows || l.visits > 4*maxRows)
	return l.over
}

// add adds an item at the current place.
func (l *layout) add(i Item) {
	i.Depth, i.Offset = l.depth, l.offset
	if l.ended != "" {
		if l.depth == l.at {
			l.items = append(l.items, Item{Kind: After, Depth: l.depth, Name: "after " + l.ended, Offset: notFixed})
			l.rows++
		}
		l.ended = ""
	}
	l.items = append(l.items, i)
	l.rows += max(1, i.Rows)
}

// box adds a box. The size in bytes is notFixed if it varies.
func (l *layout) box(i Item, size int64) {
	i.Kind = Box
	if size == 0 {
		return
	}
	switch rows := (size + 3) / 4; {
	case size < 0:
		i.Rows, i.Torn = tornRows, true
	case rows > longRows:
		i.Rows, i.Torn = tornRows, true
	default:
		i.Rows = int(rows)
	}
	l.add(i)
	l.skip(size)
}

// skip moves the offset by an item's size.
func (l *layout) skip(size int64) {
	if size < 0 || l.offset < 0 || size > 1<<40 || l.offset > 1<<40 {
		l.offset = notFixed
		return
	}
	l.offset += size
}

// lane adds a lane with the items that content adds.
func (l *layout) lane(head Item, content func()) {
	head.Kind = Lane
	at := len(l.items)
	l.add(head)
	for l.items[at].Kind != Lane {
		at++ // after the head of what follows the lanes before
	}
	l.depth++
	n := len(l.items)
	content()
	l.depth--
	if len(l.items) == n {
		l.items[at].Note = "nothing"
	}
}

// end ends lanes.
func (l *layout) end(name string) { l.ended, l.at = name, l.depth }

// decl adds the contents of a declaration. The names of its fields begin with prefix.
func (l *layout) decl(d *ir.Decl, prefix string, level int) {
	switch d.Kind {
	case ir.Enum:
		l.box(Item{Name: d.Name, Type: "enum"}, 4)
	case ir.Typedef:
		l.field(d.Name, d.Type, level)
	case ir.Struct:
		for _, f := range d.Fields {
			if l.full() {
				return
			}
			if d.List != nil && f == d.List.Next {
				l.next(prefix+f.Name, d)
				continue
			}
			l.field(prefix+f.Name, f.Type, level)
		}
	case ir.Union:
		l.union(d, prefix, level)
	}
}

// next adds the pointer of a list node to the next one.
func (l *layout) next(name string, node *ir.Decl) {
	l.box(Item{Name: name, Note: "1 before another element, else 0"}, 4)
	l.box(Item{Name: name, Type: node.Name, Ref: node, Note: "if the word before it is 1"}, notFixed)
}

// union adds the discriminant, and a lane for each arm.
func (l *layout) union(d *ir.Decl, prefix string, level int) {
	l.field(prefix+d.Disc.Name, d.Disc.Type, 0)
	start, ends, fixed := l.offset, int64(0), true
	for n, a := range d.Arms {
		if l.full() {
			return
		}
		l.offset = start
		l.lane(Item{Name: caseText(d.Disc.Name, a)}, func() {
			if a.Field != nil {
				l.field(prefix+a.Field.Name, a.Field.Type, level)
			}
		})
		fixed = fixed && l.offset >= 0 && (n == 0 || l.offset == ends)
		ends = l.offset
	}
	if !fixed {
		l.offset = notFixed
	}
	name := strings.TrimSuffix(prefix, ".")
	if name == "" {
		name = d.Name
	}
	l.end(name)
}

// caseText returns the values of the discriminant that select an arm.
func caseText(disc string, a *ir.Arm) string {
	var values []string
	for _, label := range a.Labels {
		v := label.Value.Decimal()
		switch {
		case label.Member != nil:
			v = label.Member.Name + " (" + v + ")"
		case label.Const != nil:
			v = label.Const.Name + " (" + v + ")"
		}
		values = append(values, v)
	}
	if a.Default {
		values = append(values, "any other value")
	}
	return disc + " = " + strings.Join(values, ", ")
}

// field adds a field. At a level above 0, it adds the contents of the field's type.
func (l *layout) field(name string, t *ir.Type, level int) {
	if l.visits++; l.full() {
		return
	}
	i := Item{Name: name, Type: t.Spell(), Ref: named(t)}
	u := t.Underlying()
	if l.depth == maxDepth && (composite(t) || u.Elem != nil || u.Kind == ir.ListOf) {
		i.Note = SizeText(t.Size)
		l.box(i, fixedSize(t.Size))
		return
	}
	switch u.Kind {
	case ir.Opaque, ir.String:
		l.variable(i, u)
	case ir.FixedOpaque:
		i.Pad = int(-u.Len & 3)
		if u.Len > 4*longRows && t.Kind == ir.Ref {
			i.Note = fmt.Sprintf("%d bytes", u.Len)
		}
		l.box(i, int64(min((u.Len+3)&^3, 1<<41)))
	case ir.Array:
		l.array(i, u, level)
	case ir.FixedArray:
		l.fixedArray(i, u, level)
	case ir.Optional:
		l.optional(i, u, level)
	case ir.ListOf:
		l.list(i, u.Ref, level)
	case ir.Ref, ir.ListHead:
		l.ref(i, u.Ref, level)
	default:
		i.Plain = u.Kind <= ir.Uhyper && t.Kind != ir.Ref
		if u.Kind == ir.Bool {
			i.Plain, i.Note = false, "0 or 1"
		}
		l.box(i, fixedSize(t.Size))
	}
}

// named returns the declaration that a type or its elements name, or nil.
func named(t *ir.Type) *ir.Decl {
	for t.Elem != nil {
		t = t.Elem
	}
	return t.Ref
}

// fixedSize returns the size in bytes that all values of a type have, or notFixed.
func fixedSize(s ir.Size) int64 {
	if !s.Fixed() {
		return notFixed
	}
	return int64(min(s.Min, 1<<41))
}

// variable adds a length, and opaque data or a string.
func (l *layout) variable(i Item, t *ir.Type) {
	most := "at most " + count(t.Max, "byte")
	if !t.Bounded {
		most = "no bound"
	}
	l.box(Item{Name: "length of " + i.Name, Note: most}, 4)
	if t.Max > 0 {
		i.Pads = true
		l.box(i, notFixed)
	}
}

// array adds the number of elements, and the elements.
func (l *layout) array(i Item, t *ir.Type, level int) {
	most := "at most " + count(t.Max, "item")
	if !t.Bounded {
		most = "no bound"
	}
	l.box(Item{Name: "number of " + i.Name, Note: most}, 4)
	if t.Max == 0 {
		return
	}
	if !composite(t.Elem) {
		i.Note = "each " + SizeText(t.Elem.Size)
		l.box(i, notFixed)
		return
	}
	l.offset = notFixed
	l.lane(Item{Name: "each of " + i.Name}, func() { l.field(i.Name, t.Elem, level) })
	l.offset = notFixed
	l.end(i.Name)
}

// fixedArray adds an array of fixed length.
func (l *layout) fixedArray(i Item, t *ir.Type, level int) {
	size := fixedSize(t.Size)
	if !composite(t.Elem) || t.Len == 0 {
		switch {
		case i.Ref != nil && i.Ref.Kind == ir.Typedef && t.Len > 0:
			i.Note = fmt.Sprintf("%s, each %s", count(t.Len, "item"), SizeText(t.Elem.Size))
		case size < 0 || size > 4*longRows:
			i.Note = "each " + SizeText(t.Elem.Size)
		}
		l.box(i, size)
		return
	}
	start := l.offset
	l.offset = notFixed
	l.lane(Item{Name: fmt.Sprintf("each of the %s of %s", count(t.Len, "item"), i.Name)}, func() { l.field(i.Name, t.Elem, level) })
	l.offset = start
	l.skip(size)
	l.end(i.Name)
}

// optional adds the word before optional data, and the data in a lane.
func (l *layout) optional(i Item, t *ir.Type, level int) {
	l.box(Item{Name: i.Name, Note: "1 before the value, 0 without one"}, 4)
	l.lane(Item{Name: i.Name + " = 1"}, func() { l.field(i.Name, t.Elem, level) })
	l.offset = notFixed
	l.end(i.Name)
}

// list adds a linked list.
func (l *layout) list(i Item, node *ir.Decl, level int) {
	l.offset = notFixed
	l.lane(Item{Name: "each of " + i.Name}, func() {
		l.box(Item{Name: "1", Note: "an element follows"}, 4)
		if level == 0 || node.Recursive {
			i.Type, i.Note = node.Name, "one element"
			l.box(i, notFixed)
			return
		}
		for _, f := range node.List.Elem {
			l.field(i.Name+"."+f.Name, f.Type, level-1)
		}
	})
	l.end(i.Name)
	l.offset = notFixed
	l.box(Item{Name: "0", Note: "end of " + i.Name}, 4)
	l.offset = notFixed
}

// ref adds a value of an enum, a struct or a union.
func (l *layout) ref(i Item, d *ir.Decl, level int) {
	switch {
	case d.Kind == ir.Enum:
		l.box(i, 4)
	case level == 0 || d.Recursive:
		if i.Note = SizeText(d.Size); d.Size.Fixed() && d.Size.Min <= 4*longRows {
			i.Note = ""
		}
		l.box(i, fixedSize(d.Size))
	default:
		l.decl(d, i.Name+".", level-1)
	}
}

// composite reports whether the values of a type have fields.
func composite(t *ir.Type) bool {
	u := t.Underlying()
	return (u.Kind == ir.Ref || u.Kind == ir.ListHead) && u.Ref.Kind != ir.Enum
}

// count returns a number with a noun.
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
