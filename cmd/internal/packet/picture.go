// Package packet lays out packet pictures of XDR types, as documents draw them: 32 bits a row. It
// writes them as text and as SVG.
package packet

import (
	"strconv"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Limits of a picture. A declaration whose fields have more rows shows each field as one box.
const (
	maxRows  = 32 // rows of 32 bits and heads of lanes, with contents of fields
	maxLevel = 3  // fields in fields in fields
	maxDepth = 4  // lanes in lanes
	tornRows = 2  // rows of an item whose size is not fixed
	longRows = 4  // largest item that is drawn to scale
)

// Kind is the kind of an Item.
type Kind int

// The kinds of items.
const (
	Box   Kind = iota + 1 // bytes
	Lane                  // head of a lane: the items in it, one deeper, are there if Name holds
	After                 // end of lanes: the items after it follow any of them
)

// Item is one box of a picture, or the head of a lane.
type Item struct {
	Kind   Kind
	Depth  int      // number of lanes that the item is in
	Name   string   // path of a field: "stateid.seqid"; when a lane is there: "mtype = CALL (0)"
	Type   string   // as XDR writes it, or ""
	Plain  bool     // Type is a number, so that Name and Rows say enough
	Ref    *ir.Decl // declaration that Type names, or nil
	Note   string   // bound or values: "at most 64 bytes"; of a lane without items, "nothing"
	Offset int64    // bytes before the item, from the start of the picture; -1 if not fixed
	Rows   int      // rows of 32 bits that the box is drawn with
	Torn   bool     // the item has another number of rows than Rows
	Pad    int      // zero bytes at the end of the last row, from 0 to 3
	Pads   bool     // the last row ends in 0 to 3 zero bytes, by the length
}

// Picture is the picture of a declaration. It does not change.
type Picture struct {
	Name  string // of the declaration
	Size  ir.Size
	Items []Item
}

// Of draws a type. It returns nil if d is a constant or a program. Fields whose types are structs
// or unions show their contents, as far as the picture stays small. The cost is linear in the
// declaration's own size.
func Of(d *ir.Decl) *Picture {
	if d.Kind == ir.Const || d.Kind == ir.Program {
		return nil
	}
	for level := maxLevel; ; level-- {
		l := layout{limited: level > 0}
		l.decl(d, "", level)
		if !l.over {
			return &Picture{Name: d.Name, Size: d.Size, Items: l.items}
		}
	}
}

// SizeText returns a size in words: "12 bytes", "4 to 20 bytes", "4 bytes or more".
func SizeText(s ir.Size) string {
	least := strconv.FormatUint(s.Min, 10)
	switch {
	case s.Unbounded:
		return least + " bytes or more"
	case s.Min == s.Max:
		return least + " bytes"
	}
	return least + " to " + strconv.FormatUint(s.Max, 10) + " bytes"
}

// depth returns the largest number of lanes that an item is in.
func (p *Picture) depth() (n int) {
	for _, i := range p.Items {
		if n = max(n, i.Depth); i.Kind == Lane {
			n = max(n, i.Depth+1)
		}
	}
	return n
}

// shorten cuts the middle out of a text that is longer than n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 5 {
		return string(r[:max(n, 0)])
	}
	head := (n - 3) / 2
	return string(r[:head]) + "..." + string(r[len(r)-(n-3-head):])
}

// hatchText returns the words for the padding of a box.
func hatchText(i *Item) string {
	if i.Pads {
		return "0 to 3 zero bytes"
	}
	return count(uint64(i.Pad), "zero byte")
}
