package syntax

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// PieceKind is the kind of a Piece.
type PieceKind int

// The kinds of piece.
const (
	Word      PieceKind = iota + 1 // a name or a keyword
	Literal                        // a number or a string
	Mark                           // one character of punctuation
	Comment                        // a comment with its marks
	CLine                          // a line that begins with %, with continuation lines
	Directive                      // a line that begins with #, with continuation lines
	Inactive                       // whole lines that an #if excludes, with # lines among them
	Bad                            // text that is not part of XDR, or an unterminated comment
)

// Piece is a part of a file: a token, or something that Parse skips.
type Piece struct {
	Kind       PieceKind
	Start, End int // bytes
}

// Pieces returns everything in a file but blanks, in order. The end-of-file byte of a DOS text file
// is a blank. macros are the definitions from -D; #include lines are not followed.
func Pieces(f *source.File, macros map[string]string) []Piece {
	s := &scanner{f: f, text: f.Text, notes: notes{text: f.Text}, ctx: &Context{
		Macros: map[string]string{}, Include: func(string, source.Span) {}, Report: func(diag.Diagnostic) {},
	}}
	for k, v := range macros {
		s.ctx.Macros[k] = v
	}
	s.fresh = true
	var out []Piece
	for s.pos < len(s.text) {
		start, toks, notes, fresh, active := s.pos, len(s.toks), len(s.notes.all), s.fresh, s.active()
		if !active {
			s.skipLine()
			out = s.skipped(out, start)
			continue
		}
		s.next()
		p := Piece{Bad, start, s.pos}
		switch c := s.text[start]; {
		case len(s.toks) > toks:
			t := s.toks[toks]
			p = Piece{pieceKind(t), t.start, t.end}
		case len(s.notes.all) > notes:
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

// pieceKind returns the kind of piece that a token is.
func pieceKind(t token) PieceKind {
	switch t.kind {
	case tIdent, tKeyword:
		return Word
	case tPunct:
		return Mark
	}
	return Literal
}

// skipped appends the piece that skipLine skipped from start on.
func (s *scanner) skipped(out []Piece, start int) []Piece {
	if s.active() { // skipLine stopped at the directive after the excluded lines
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
