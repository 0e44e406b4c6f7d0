package page

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
)

// maxPicture is the greatest size of a picture as SVG, in bytes.
const maxPicture = 1 << 20

// Pictured is the answer about the packet picture of a type.
type Pictured struct {
	Failure string   `json:"failure,omitempty"` // why there is no picture
	Types   []string `json:"types"`             // that have pictures, in order of declaration
	Name    string   `json:"name"`              // of the type
	Size    string   `json:"size"`              // its least and most bytes, for people
	SVG     string   `json:"svg"`               // without links; needs packet.Style
	File    string   `json:"file"`              // the same as a whole file
	Text    string   `json:"text"`              // at most 72 columns
}

// Picture draws a type of a unit. If no type has that name, it draws the last struct or
// union. A unit without structs and unions has a picture of its last type, and a unit with errors
// has no pictures.
func (s *Session) Picture(u Unit, name string) Pictured {
	out := Pictured{Types: []string{}}
	r, err := s.compile(u)
	if err != nil || r.Unit == nil {
		return out // the answer of Check has the reasons
	}
	var wanted, last, whole *ir.Decl
	for _, d := range r.Unit.Decls {
		if d.Kind == ir.Const || d.Kind == ir.Program {
			continue
		}
		out.Types = append(out.Types, d.Name)
		last = d
		if d.Kind == ir.Struct || d.Kind == ir.Union {
			whole = d
		}
		if d.Name == name {
			wanted = d
		}
	}
	switch {
	case wanted != nil:
	case whole != nil:
		wanted = whole
	case last != nil:
		wanted = last
	default:
		return out
	}
	out.Name, out.Size = wanted.Name, packet.SizeText(wanted.Size)
	p := packet.Of(wanted)
	if p == nil {
		out.Failure = fmt.Sprintf("%s has no picture", wanted.Name)
		return out
	}
	out.Text, out.SVG, out.File = p.Text(), p.SVG(packet.SVGOptions{}), p.SVG(packet.SVGOptions{File: true})
	if len(out.SVG) > maxPicture || len(out.Text) > maxPicture {
		out.Text, out.SVG, out.File = "", "", ""
		out.Failure = fmt.Sprintf("the picture of %s is too large to show", wanted.Name)
	}
	return out
}
