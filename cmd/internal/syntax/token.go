package syntax

import (
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// The kinds of token, as participle numbers them.
const (
	tIdent lexer.TokenType = -(iota + 2)
	tKeyword
	tNumber
	tString
	tPunct
	tExpr // a C expression in place of a value
)

// token is a lexical token.
type token struct {
	kind       lexer.TokenType
	start, end int
	text       string
}

func (t token) is(text string) bool { return t.text == text && t.kind != tString }

func (t token) span(f *source.File) source.Span {
	return source.Span{File: f, Start: t.start, End: t.end}
}

// isKeyword reports whether a word is reserved (RFC 4506 §6.4 (1)). program and version, the
// keywords of RFC 5531 §12.3, are accepted as names, since real files use them for fields;
// sema warns about them.
func isKeyword(w string) bool {
	switch w {
	case "bool", "case", "const", "default", "double", "quadruple", "enum", "float", "hyper", "int", "opaque",
		"string", "struct", "switch", "typedef", "union", "unsigned", "void":
		return true
	}
	return false
}

// symbols returns the names that the grammar uses for the kinds of token.
func symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Ident": tIdent, "Keyword": tKeyword, "Number": tNumber, "String": tString, "Punct": tPunct, "Expr": tExpr,
	}
}

// tokenLexer is a participle lexer that returns the tokens of one definition.
type tokenLexer struct {
	toks []token
	end  int // offset at which the input ends
	i    int
}

// Next returns the next token. After the last one, it always returns EOF.
func (l *tokenLexer) Next() (lexer.Token, error) {
	if l.i == len(l.toks) {
		return lexer.EOFToken(lexer.Position{Offset: l.end}), nil
	}
	t := l.toks[l.i]
	l.i++
	return lexer.Token{Type: t.kind, Value: t.text, Pos: lexer.Position{Offset: t.start}}, nil
}
