package lsp

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/bind"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// The kinds of completion items.
const (
	itemFunction = 3
	itemField    = 5
	itemClass    = 7
	itemModule   = 9
	itemEnum     = 13
	itemKeyword  = 14
	itemMember   = 20
	itemConstant = 21
	itemStruct   = 22
)

type completionItem struct {
	Label  string `json:"label"`
	Kind   int    `json:"kind"`
	Detail string `json:"detail,omitempty"`
}

// keywords are the words of XDR (RFC 4506 §6.2) and of RPC (RFC 5531 §12.1).
var keywords = []string{
	"bool", "case", "const", "default", "double", "enum", "float", "hyper", "int", "opaque", "program", "quadruple",
	"string", "struct", "switch", "typedef", "union", "unsigned", "version", "void",
}

// completion answers textDocument/completion: the names of the unit and the words of the language,
// and after a dot in a sidecar the parts of the name before it. The client chooses those that fit.
func (s *state) completion(q query) (any, error) {
	f := q.view.file
	if strings.HasSuffix(f.Name, ".bind") {
		return q.analysis.completeSidecar(f, q.offset), nil
	}
	for _, p := range syntax.Pieces(f, s.cfg.Options.Defines) {
		if p.Kind == syntax.Comment && p.Start < q.offset && q.offset < p.End {
			return []completionItem{}, nil
		}
	}
	return append(q.analysis.completeNames(), completeWords(keywords)...), nil
}

func completeWords(words []string) []completionItem {
	out := []completionItem{}
	for _, w := range words {
		out = append(out, completionItem{Label: w, Kind: itemKeyword})
	}
	return out
}

// completeNames returns the declared names, and the members of enums.
func (a *analysis) completeNames() []completionItem {
	out := []completionItem{}
	for _, d := range a.result.Index.Decls {
		if !d.Anon {
			out = append(out, completeThing(of(d, nil)))
		}
		for _, m := range d.Members {
			out = append(out, completeThing(of(d, m)))
		}
	}
	return out
}

// completeThing returns a thing as an item.
func completeThing(t thing) completionItem {
	item := completionItem{Label: t.name()}
	switch {
	case t.member != nil:
		item.Kind = itemMember
	case t.field != nil:
		item.Kind = itemField
	case t.proc != nil, t.version != nil:
		item.Kind = itemFunction
	default:
		item.Kind = map[ir.DeclKind]int{
			ir.Const: itemConstant, ir.Enum: itemEnum, ir.Struct: itemStruct, ir.Union: itemStruct,
			ir.Typedef: itemClass, ir.Program: itemModule,
		}[t.decl.Kind]
	}
	item.Detail, _, _ = strings.Cut(t.spell(), " {")
	return item
}

// completeSidecar returns the statements at the start of a line, and names after it.
func (a *analysis) completeSidecar(f *source.File, offset int) []completionItem {
	line := f.LineSpan(f.Position(offset).Line)
	before := string(f.Text[line.Start:max(line.Start, offset)])
	words := strings.Fields(before)
	if len(words) == 0 || len(words) == 1 && strings.HasSuffix(before, words[0]) {
		return completeWords(bind.Statements())
	}
	word := words[len(words)-1]
	dot := strings.LastIndexByte(word, '.')
	if dot < 0 || !strings.HasSuffix(before, word) {
		return a.completeNames()
	}
	start := offset - len(word)
	parts := a.parts(source.Span{File: f, Start: start, End: start + dot}, a.wordBefore(f, start))
	out := []completionItem{}
	if len(parts) != 1+strings.Count(word[:dot], ".") {
		return out
	}
	for _, p := range parts[len(parts)-1].all() {
		out = append(out, completeThing(p))
	}
	return out
}

// wordBefore returns the thing that the last name before an offset of a sidecar's line stands for.
func (a *analysis) wordBefore(f *source.File, offset int) thing {
	var last thing
	for n := range a.names(f) {
		if n.at.End < offset && f.Position(n.at.Start).Line == f.Position(offset).Line {
			last = n.thing
		}
	}
	return last
}
