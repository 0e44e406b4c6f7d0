package syntax

import (
	"io"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// gDef is the grammar of one definition (RFC 4506 §6.3, RFC 5531 §12.2). It accepts more than
// the language, so that the converter can report a fault precisely. No production
// backtracks, so that an error has the position of the fault.
type gDef struct {
	Const   *gConst     `parser:"( 'const' @@"`
	Typedef *gDecl      `parser:"| 'typedef' @@"`
	Enum    *gEnumDef   `parser:"| 'enum' @@"`
	Struct  *gStructDef `parser:"| 'struct' @@"`
	Union   *gUnionDef  `parser:"| 'union' @@"`
	Program *gProgram   `parser:"| 'program' @@"`
	Pragma  *gPragma    `parser:"| 'pragma' @@ )"`
	End     lexer.Token `parser:"@';'"`
}

// gConst is a constant. RFC 4506 has name = value; documents also have a type before the name,
// or no =.
type gConst struct {
	Words []*gName    `parser:"@@+"`
	Equal lexer.Token `parser:"@'='?"`
	Value *gValue     `parser:"@@?"`
}

type gValue struct {
	Number lexer.Token `parser:"  @Number"`
	Name   lexer.Token `parser:"| @Ident"`
	Str    lexer.Token `parser:"| @String"`
	Expr   lexer.Token `parser:"| @Expr"`
}

type gPragma struct {
	Words []*gWord `parser:"@@*"`
}

type gEnumDef struct {
	Name lexer.Token `parser:"@Ident"`
	Body *gEnumBody  `parser:"@@"`
}

type gStructDef struct {
	Name lexer.Token  `parser:"@Ident"`
	Body *gStructBody `parser:"@@"`
}

type gUnionDef struct {
	Name lexer.Token `parser:"@Ident"`
	Body *gUnionBody `parser:"@@"`
}

// gEnum, gStruct and gUnion are types within a declaration. They have a tag, a body, or both.
type gEnum struct {
	Tag  lexer.Token `parser:"(  @Ident"`
	Body *gEnumBody  `parser:"@@? | @@ )"`
}

type gStruct struct {
	Tag  lexer.Token  `parser:"(  @Ident"`
	Body *gStructBody `parser:"@@? | @@ )"`
}

type gUnion struct {
	Tag  lexer.Token `parser:"(  @Ident"`
	Body *gUnionBody `parser:"@@? | @@ )"`
}

type gEnumBody struct {
	List  []*gMember  `parser:"'{' @@*"`
	Close lexer.Token `parser:"@'}'"`
}

type gMember struct {
	Name  lexer.Token `parser:"@Ident"`
	Value *gValue     `parser:"( '=' @@ )?"`
	Comma lexer.Token `parser:"@','?"`
}

type gStructBody struct {
	List  []*gField   `parser:"'{' @@*"`
	Close lexer.Token `parser:"@'}'"`
}

type gField struct {
	Decl *gDecl      `parser:"@@"`
	End  lexer.Token `parser:"@';'"`
}

type gUnionBody struct {
	Disc  *gDecl      `parser:"'switch' '(' @@ ')' '{'"`
	Arms  []*gArm     `parser:"@@*"`
	Close lexer.Token `parser:"@'}'"`
}

type gArm struct {
	Labels []*gLabel `parser:"@@+"`
	Decls  []*gField `parser:"@@*"`
}

type gLabel struct {
	Case    *gValue     `parser:"(  'case' @@"`
	Default lexer.Token `parser:"| @'default' )"`
	Colon   lexer.Token `parser:"@':'"`
}

type gDecl struct {
	Type  *gType      `parser:"@@"`
	Stars []*gStar    `parser:"@@*"`
	Names []*gName    `parser:"@@*"`
	Open  lexer.Token `parser:"( @'['"`
	Fixed *gValue     `parser:"  @@? ']'"`
	Angle lexer.Token `parser:"| @'<'"`
	Max   *gValue     `parser:"  @@?"`
	Close lexer.Token `parser:"  @'>' )?"`
}

type gType struct {
	Unsigned lexer.Token `parser:"(  @'unsigned'"`
	Rest     []*gRest    `parser:"   @@*"`
	Prim     []*gSize    `parser:"|  @@+"`
	Int      lexer.Token `parser:"   @'int'?"`
	Simple   lexer.Token `parser:"|  @( 'int' | 'hyper' | 'float' | 'double' | 'quadruple' | 'bool' | 'void' | 'opaque' | 'string' )"`
	Word1    lexer.Token `parser:"|  @'struct'"`
	Struct   *gStruct    `parser:"   @@"`
	Word2    lexer.Token `parser:"|  @'union'"`
	Union    *gUnion     `parser:"   @@"`
	Word3    lexer.Token `parser:"|  @'enum'"`
	Enum     *gEnum      `parser:"   @@"`
	Name     lexer.Token `parser:"|  @Ident )"`
}

type gProgram struct {
	Name     lexer.Token `parser:"@Ident '{'"`
	Versions []*gVersion `parser:"@@*"`
	Number   *gValue     `parser:"'}' '=' @@"`
}

type gVersion struct {
	Word   lexer.Token `parser:"@'version'"`
	Name   lexer.Token `parser:"@Ident '{'"`
	Procs  []*gProc    `parser:"@@*"`
	Number *gValue     `parser:"'}' '=' @@"`
	End    lexer.Token `parser:"@';'"`
}

type gProc struct {
	Result *gType      `parser:"@@"`
	Star   lexer.Token `parser:"@'*'?"`
	Name   lexer.Token `parser:"@Ident"`
	Open   lexer.Token `parser:"@'('"`
	Args   []*gDecl    `parser:"( @@ ( ',' @@ )* )? ')'"`
	Number *gValue     `parser:"'=' @@"`
	End    lexer.Token `parser:"@';'"`
}

// definition gives participle the kinds of token. The tokens themselves come from the
// splitter.
type definition struct{}

// Symbols returns the kinds of token by name.
func (definition) Symbols() map[string]lexer.TokenType { return symbols() }

// Lex is not used; the parser calls ParseFromLexer.
func (definition) Lex(string, io.Reader) (lexer.Lexer, error) { return &tokenLexer{}, nil }

// newParser builds the parser. It panics if the grammar is wrong, which every test would
// show.
func newParser() *participle.Parser[gDef] {
	return participle.MustBuild[gDef](participle.Lexer(definition{}), participle.UseLookahead(0))
}

// gName is one word of a name. The converter reports names of more than one word.
type gName struct {
	Token lexer.Token `parser:"@( Ident | 'unsigned' | 'int' | 'hyper' | 'bool' | 'float' | 'double' | 'string' | 'opaque' )"`
}

type gWord struct {
	Token lexer.Token `parser:"@( Ident | Number )"`
}

type gStar struct {
	Token lexer.Token `parser:"@'*'"`
}

// gRest is a word that can follow unsigned. gSize is char, short or long, as in C.
type gRest struct {
	Token lexer.Token `parser:"@( 'int' | 'hyper' | 'char' | 'short' | 'long' )"`
}

type gSize struct {
	Token lexer.Token `parser:"@( 'char' | 'short' | 'long' )"`
}
