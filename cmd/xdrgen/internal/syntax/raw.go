package syntax

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// PieceKind says what a stretch of a file is.
type PieceKind int

// The kinds of piece.
const (
	Word      PieceKind = iota + 1 // a name or a word of the language
	Literal                        // a number or a string
	Mark                           // one character of punctuation
	Comment                        // signs included
	CLine                          // a line that begins with %, continuations included
	Directive                      // a line that begins with #, continuations included
	Inactive                       // whole lines of an #if that are not taken, #-lines among them included
	Bad                            // what cannot be in an XDR file, or a comment without end
)

// Piece is a stretch of a file: what Parse sees, and what it passes over.
type Piece struct {
	Kind       PieceKind
	Start, End int // bytes
}

// Pieces cuts a file into everything but blanks, in order. The byte by which
// DOS ends a text is a blank. Macros are those of -D; files are not included.
func Pieces(f *source.File, macros map[string]string) []Piece {
	s := &scanner{f: f, text: f.Text, ctx: &Context{
		Macros: map[string]string{}, Include: func(string, source.Span) {}, Report: func(diag.Diagnostic) {},
	}}
	for k, v := range macros {
		s.ctx.Macros[k] = v
	}
	s.fresh = true
	var out []Piece
	for s.pos < len(s.text) {
		start, toks, notes, fresh, active := s.pos, len(s.toks), len(s.notes), s.fresh, s.active()
		if !active {
			s.skipLine()
			out = s.passedOver(out, start)
			continue
		}
		s.next()
		p := Piece{Bad, start, s.pos}
		switch c := s.text[start]; {
		case len(s.toks) > toks:
			t := s.toks[toks]
			p = Piece{pieceKind(t), t.start, t.end}
		case len(s.notes) > notes:
			p.Kind = Comment
		case c == '%' && fresh:
			p.Kind = CLine
		case c == '#' && fresh:
			p.Kind = Directive
		case bytes.IndexByte([]byte(" \t\r\n\f\v"), c) >= 0, c == dosEnd && s.pos == len(s.text):
			continue
		}
		out = append(out, p)
	}
	return out
}

func pieceKind(t token) PieceKind {
	switch t.kind {
	case tIdent, tKeyword:
		return Word
	case tPunct:
		return Mark
	}
	return Literal
}

// passedOver adds what skipLine went over from start on.
func (s *scanner) passedOver(out []Piece, start int) []Piece {
	if s.active() { // up to the directive that turned the text on again
		line := start
		for s.text[line] == ' ' || s.text[line] == '\t' {
			line++
		}
		return append(out, Piece{Directive, line, s.pos})
	}
	if last := len(out) - 1; last >= 0 && out[last].Kind == Inactive && out[last].End == start {
		out[last].End = s.pos
		return out
	}
	return append(out, Piece{Inactive, start, s.pos})
}
