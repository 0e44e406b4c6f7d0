package lsp

import (
	"context"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// The kinds of symbols.
const (
	symbolModule    = 2 // a program
	symbolNamespace = 3 // a version
	symbolClass     = 5 // a typedef
	symbolField     = 8
	symbolEnum      = 10
	symbolInterface = 11 // a union
	symbolFunction  = 12
	symbolConstant  = 14
	symbolMember    = 22
	symbolStruct    = 23
)

var symbolKinds = map[syntax.DefKind]int{
	syntax.Const: symbolConstant, syntax.Enum: symbolEnum, syntax.Struct: symbolStruct,
	syntax.Union: symbolInterface, syntax.Typedef: symbolClass, syntax.Program: symbolModule,
}

type documentSymbol struct {
	Name     string           `json:"name"`
	Kind     int              `json:"kind"`
	Range    span             `json:"range"`
	Own      span             `json:"selectionRange"`
	Children []documentSymbol `json:"children,omitempty"`
}

// symbolInformation is a symbol for a client that takes no symbols in symbols, or of a workspace.
type symbolInformation struct {
	Name     string   `json:"name"`
	Kind     int      `json:"kind"`
	Location location `json:"location"`
	In       string   `json:"containerName,omitempty"`
}

// symbol is a name that a text declares.
type symbol struct {
	name     syntax.Ident
	kind     int
	whole    source.Span
	children []symbol
}

// symbolsOf returns the symbols of a text. One without a name is left out, but its children are
// not.
func symbolsOf(f *source.File, macros map[string]string) []symbol {
	c := &syntax.Context{Macros: map[string]string{}, Report: func(diag.Diagnostic) {}, Include: func(string, source.Span) {}}
	for k, v := range macros {
		c.Macros[k] = v
	}
	var out []symbol
	for _, d := range syntax.NewParser().Parse(f, c).Defs {
		out = add(out, symbolOf(d))
	}
	return out
}

// add adds a symbol, or only its children if it has no name in the text.
func add(to []symbol, s symbol) []symbol {
	if s.name.Name == "" || s.name.Span.File == nil || s.name.Span.File.Synthetic {
		return append(to, s.children...)
	}
	if s.whole.File != s.name.Span.File || s.whole.Start > s.name.Span.Start || s.whole.End < s.name.Span.End {
		s.whole = s.name.Span
	}
	return append(to, s)
}

// symbolOf returns a definition as a symbol.
func symbolOf(d *syntax.Def) symbol {
	s := symbol{name: d.Name, kind: symbolKinds[d.Kind], whole: d.Span}
	field := func(f *syntax.Decl) {
		own := symbol{name: f.Name, kind: symbolField, whole: f.Span}
		if f.Type.Body != nil {
			own.children = add(nil, symbolOf(f.Type.Body))
		}
		s.children = add(s.children, own)
	}
	for _, m := range d.Members {
		s.children = add(s.children, symbol{name: m.Name, kind: symbolMember, whole: m.Name.Span})
	}
	for _, f := range d.Fields {
		field(f)
	}
	if d.Disc != nil {
		field(d.Disc)
	}
	for _, a := range d.Arms {
		for _, f := range a.Decls {
			field(f)
		}
	}
	if d.Decl != nil && d.Decl.Type.Body != nil {
		s.children = add(s.children, symbolOf(d.Decl.Type.Body))
	}
	for _, v := range d.Versions {
		version := symbol{name: v.Name, kind: symbolNamespace, whole: v.Span}
		for _, p := range v.Procs {
			version.children = add(version.children, symbol{name: p.Name, kind: symbolFunction, whole: p.Span})
		}
		s.children = add(s.children, version)
	}
	return s
}

// symbols answers textDocument/documentSymbol.
func (s *state) symbols(q query) (any, error) {
	if strings.HasSuffix(q.view.file.Name, ".bind") {
		return nil, nil
	}
	f, macros, uri, client := q.view.file, s.cfg.Options.Defines, q.document.uri, s.client
	return job(func(context.Context) (any, error) {
		v, all := newView(f), symbolsOf(f, macros)
		if client.hierarchical {
			return tree(v, client.encoding, all), nil
		}
		return flat([]symbolInformation{}, v, uri, client.encoding, "", all), nil
	}), nil
}

// tree returns symbols with the symbols in them.
func tree(v *view, e encoding, all []symbol) []documentSymbol {
	out := []documentSymbol{}
	for _, x := range all {
		d := documentSymbol{
			Name: x.name.Name, Kind: x.kind,
			Range: v.span(x.whole.Start, x.whole.End, e),
			Own:   v.span(x.name.Span.Start, x.name.Span.End, e),
		}
		if len(x.children) > 0 {
			d.Children = tree(v, e, x.children)
		}
		out = append(out, d)
	}
	return out
}

// flat appends symbols, and after each one the symbols in it.
func flat(to []symbolInformation, v *view, uri documentURI, e encoding, in string, all []symbol) []symbolInformation {
	for _, x := range all {
		at := location{uri, v.span(x.name.Span.Start, x.name.Span.End, e)}
		to = append(to, symbolInformation{x.name.Name, x.kind, at, in})
		to = flat(to, v, uri, e, x.name.Name, x.children)
	}
	return to
}

// maxSymbols limits the answer to workspace/symbol.
const maxSymbols = 500

// workspaceSymbols answers workspace/symbol: the names in the .x files of the client's folders, and
// in open documents, that have the query's text in any case of letters.
func (s *state) workspaceSymbols(r *request, m message) error {
	p, failed := decode[struct {
		Query string `json:"query"`
	}](m.Params)
	if failed != nil {
		return failed
	}
	search, c, uri, encoding := s.search(), s.checker(), s.uris(), s.client.encoding
	want := strings.ToLower(p.Query)
	r.job = func(ctx context.Context) (any, error) {
		out := []symbolInformation{}
		for _, path := range search.files(ctx) {
			if ctx.Err() != nil || len(out) >= maxSymbols {
				break
			}
			f := c.read(path)
			if f == nil || !strings.Contains(strings.ToLower(string(f.Text)), want) {
				continue
			}
			v := newView(f)
			for _, x := range flat(nil, v, uri(path), encoding, "", symbolsOf(f, c.options.Defines)) {
				if strings.Contains(strings.ToLower(x.Name), want) && len(out) < maxSymbols {
					out = append(out, x)
				}
			}
		}
		return out, nil
	}
	return nil
}

// read reads an .x file without compiling it, or returns nil.
func (c checker) read(path string) *source.File {
	if !strings.HasSuffix(path, ".x") || !c.files.exists(path) {
		return nil
	}
	b, err := c.files.ReadFile(path)
	if err != nil || len(b) > source.MaxSize {
		return nil
	}
	return source.NewFile(path, b)
}
