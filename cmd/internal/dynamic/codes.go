package dynamic

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Codes has the code points of a unit and its imports, and the fields that have their numbers.
type Codes struct {
	points  map[codeKey]*ir.CodePoint
	flags   []*ir.CodePoint // in order of their bits
	numbers map[*ir.Decl][]ir.Number
}

type codeKey struct {
	space string
	value uint32
}

// NewCodes returns the code points of sidecars.
func NewCodes(binds ...*ir.Bind) *Codes {
	c := &Codes{points: map[codeKey]*ir.CodePoint{}, numbers: map[*ir.Decl][]ir.Number{}}
	for _, b := range binds {
		for i := range b.Codes {
			p := &b.Codes[i]
			k := codeKey{p.Space, p.Value}
			if c.points[k] != nil {
				continue
			}
			c.points[k] = p
			if p.Space == ir.SpaceFlag {
				c.flags = append(c.flags, p)
			}
		}
		for _, n := range b.Numbers {
			c.numbers[n.Decl] = append(c.numbers[n.Decl], n)
		}
	}
	slices.SortFunc(c.flags, func(a, b *ir.CodePoint) int { return bits.TrailingZeros32(a.Value) - bits.TrailingZeros32(b.Value) })
	return c
}

// Point returns the code point with a number, or nil if no code point has it.
func (c *Codes) Point(space string, value uint32) *ir.CodePoint {
	return c.points[codeKey{space, value}]
}

// after returns the code point of an error whose number is a field of the body: its data follow the
// body. It returns nil if no code point has the number, or if the code point carries no data.
func (c *Codes) after(body *Value) *ir.CodePoint {
	for _, n := range c.numbers[body.Type.Underlying().Ref] {
		v := body.number(n)
		if n.Space != ir.SpaceError || n.Data != "" || v == nil {
			continue
		}
		if p := c.Point(n.Space, uint32(v.Word)); p != nil && p.Decl != nil {
			return p
		}
	}
	return nil
}

// number returns the item of a struct or union that has a number, or nil if v is faulty.
func (v *Value) number(n ir.Number) *Value {
	item := v.find(n.Field)
	if item == nil || item.Length == 0 {
		return nil
	}
	return item
}

// Number is the meaning of a number in a code space.
type Number struct {
	Space   string   // "property"
	Names   []string // of the code point; of several flags, or of none
	Unknown bool     // no code point has the number; for flags, the bits of Rest
	Rest    uint32   // the unknown number, or the unknown bits
}

// number returns the meaning of a number.
func (c *Codes) number(space string, word uint32) *Number {
	out := &Number{Space: space}
	if space != ir.SpaceFlag {
		if p := c.Point(space, word); p != nil {
			out.Names = []string{p.Const}
		} else {
			out.Unknown, out.Rest = true, word
		}
		return out
	}
	out.Rest = word
	for _, p := range c.flags {
		if word&p.Value != 0 {
			out.Names = append(out.Names, p.Const)
			out.Rest &^= p.Value
		}
	}
	out.Unknown = out.Rest != 0
	return out
}

// text returns the number of v in words.
func (n *Number) text(v *Value) string {
	word := uint32(v.Word)
	if n.Space != ir.SpaceFlag {
		if n.Unknown {
			return fmt.Sprintf("%d (unknown %s)", word, n.Space)
		}
		return fmt.Sprintf("%s (%d)", n.Names[0], word)
	}
	if word == 0 {
		return "0 (no flags)"
	}
	words := slices.Clone(n.Names)
	if n.Unknown {
		words = append(words, fmt.Sprintf("unknown %#x", n.Rest))
	}
	return fmt.Sprintf("%s (%#x)", strings.Join(words, " | "), word)
}
