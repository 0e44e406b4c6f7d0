// Package bind parses sidecars, the files <unit>.bind. A sidecar states what the XDR of a unit
// cannot express. It has one statement per line, in words separated by spaces or tabs. A word
// that begins with # starts a comment:
//
//	package  GOIMPORTPATH
//	prefix   TEXT                       removed from Go names
//	rename   XDRNAME GoName             also struct.field, union.arm, enum.MEMBER,
//	                                    PROGRAM.VERSION(.PROCEDURE)
//	import   unit/file.x                same as an #include in the first line of the unit
//	type     NAME XDRTYPE               a type that the XDR uses but does not declare
//	define   NAME VALUE                 a constant that the XDR uses but does not declare
//	open     ENUM                       the enum also takes numbers that are not members
//	code     SPACE CONST TYPE|void      the type of a code point's data
//	code     header-type CONST TYPE|void FLAG...  also the flags that this header may have
//	message  STRUCT FIELD.PATH          messages begin with the struct; FIELD has the header type
//	number   STRUCT.FIELD SPACE         the field is a number of a code space
//	number   STRUCT.FIELD SPACE DATA    also DATA, an opaque field, has the type of the code point
//	number   STRUCT.FIELD SPACE DATA default    and empty DATA is the default value
//	payload  CONST                      a payload follows the body of this header type
//	ddp      PROGRAM.VERSION.PROC args|result field.path.to.item
//	with     NAME...                    optional methods of the Go types; none drops the previous
//	rpc                                 also a package with clients and servers of the programs
//	once     PROGRAM.VERSION.PROC       executing the procedure twice for one call does harm
//	nonblocking PROGRAM.VERSION.PROC    the server's procedure never waits
//	reply    PROGRAM.VERSION.PROC field.path    the most bytes (not entries) of data in the reply
//	views                               checks without decoding, views and scans
//	amend    NAME [CONST...]            the unit adds to an included enum, union or program
//	replace  NAME                       the unit's declaration replaces an included one
//	from     UNIT NAME...               NAME means the declaration in this included unit
//	attributes STRUCT PREFIX GoName     values of several types in opaque data, by a bitmap of
//	                                    numbers: the constants that begin with PREFIX
//
// SPACE is header-type, flag, property, characteristic, error or operation.
// Parse checks the form only. Package sema checks that the names exist.
package bind

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// File is a parsed sidecar.
type File struct {
	Bind     *ir.Bind
	Imports  []Word // Bind.Imports with their places
	Open     []Word // enums that take any number
	Payloads []Word // constants of header types that carry a payload
	Given    []Given
	From     []From
}

// From says which included unit's declarations some names mean.
type From struct {
	Unit  Word
	Names []Word
}

// Given is a declaration that the XDR uses but does not have.
type Given struct {
	Name Word
	Text string // the type in XDR notation, or the value
	Type bool   // whether it is a type, not a constant
}

// Word is a word of a sidecar with its place.
type Word struct {
	Text string
	Pos  source.Span
}

// Parse parses a sidecar. It reports faulty lines and skips them.
func Parse(f *source.File, report func(diag.Diagnostic)) *File {
	p := &parser{f: f, report: report, out: &File{Bind: &ir.Bind{File: f.Name}}, seen: map[string]source.Span{}}
	start := 0
	for start <= len(f.Text) {
		end := start
		for end < len(f.Text) && f.Text[end] != '\n' {
			end++
		}
		if w := p.words(start, end); len(w) > 0 {
			if p.isXDR(w[0]) {
				return p.out
			}
			p.line(w)
		}
		start = end + 1
	}
	return p.out
}

type parser struct {
	f      *source.File
	report func(diag.Diagnostic)
	out    *File
	seen   map[string]source.Span // first statement about each thing, by a key of once
	began  bool                   // the first statement was seen
}

// words returns the words of a line, up to the comment.
func (p *parser) words(start, end int) []Word {
	var out []Word
	for i := start; i < end; {
		for i < end && blank(p.f.Text[i]) {
			i++
		}
		from := i
		for i < end && !blank(p.f.Text[i]) {
			i++
		}
		if from == i || p.f.Text[from] == '#' {
			break
		}
		out = append(out, Word{string(p.f.Text[from:i]), source.Span{File: p.f, Start: from, End: i}})
	}
	return out
}

// isXDR reports whether the first statement is a definition in XDR, and not a statement of
// a sidecar. It reports that, as the only finding.
func (p *parser) isXDR(first Word) bool {
	began := p.began
	p.began = true
	if began || !slices.Contains(definitions, first.Text) {
		return false
	}
	p.report(diag.New(diag.BindUnknownWord, first.Pos, "found %s: %s is XDR, expected a sidecar", diag.Quote(first.Text), p.f.Base()).
		Helpf("give the XDR file as FILE, and with -bind its sidecar: xdrgen help sidecar"))
	return true
}

// definitions are the words that begin a definition in XDR.
var definitions = []string{"const", "typedef", "enum", "struct", "union", "program"}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// Statements returns the first words of statements.
func Statements() []string { return slices.Clone(statements) }

// statements are the first words of statements.
var statements = []string{"package", "prefix", "rename", "import", "type", "define", "open", "code", "message", "number", "payload", "ddp", "with", "rpc", "async", "once", "nonblocking", "reply", "views", "amend", "replace", "from", "attributes"}

// form returns the syntax of a statement and its number of words. The number is 0 if the first
// word is unknown.
func form(word string) (text string, n int) {
	switch word {
	case "package":
		return "package GOIMPORTPATH", 2
	case "prefix":
		return "prefix TEXT", 2
	case "rename":
		return "rename XDRNAME GoName", 3
	case "import":
		return "import unit/file.x", 2
	case "type":
		return "type NAME XDRTYPE", 3
	case "define":
		return "define NAME VALUE", 3
	case "open":
		return "open ENUM", 2
	case "code":
		return "code SPACE CONST TYPE|void, and FLAG... after a header-type", 4
	case "message":
		return "message STRUCT FIELD.PATH", 3
	case "number":
		return "number STRUCT.FIELD SPACE, and DATA or DATA default after it", 3
	case "payload":
		return "payload CONST", 2
	case "ddp":
		return "ddp PROGRAM.VERSION.PROC args|result field.path", 4
	case "with":
		return "with NAME...", 2
	case "rpc":
		return "rpc", 1
	case "async":
		return "async", 1
	case "once":
		return "once PROGRAM.VERSION.PROC", 2
	case "nonblocking":
		return "nonblocking PROGRAM.VERSION.PROC", 2
	case "reply":
		return "reply PROGRAM.VERSION.PROC field.path", 3
	case "views":
		return "views", 1
	case "amend":
		return "amend NAME, and CONST... after the name of an enum", 2
	case "replace":
		return "replace NAME", 2
	case "from":
		return "from UNIT NAME...", 3
	case "attributes":
		return "attributes STRUCT PREFIX GoName", 4
	}
	return "", 0
}

// more reports whether a statement may have more words than form returns.
func more(w []Word) bool {
	switch w[0].Text {
	case "type", "with", "amend", "from":
		return true
	case "code":
		return w[1].Text == ir.SpaceHeaderType
	case "number":
		return len(w) <= 5
	}
	return false
}

func (p *parser) line(w []Word) {
	text, n := form(w[0].Text)
	all := w[0].Pos.To(w[len(w)-1].Pos)
	switch {
	case n == 0:
		d := diag.New(diag.BindUnknownWord, w[0].Pos, "%s is not a statement of a sidecar", diag.Quote(w[0].Text))
		if near, ok := spelling.Nearest(w[0].Text, statements); ok {
			d = d.Helpf("did you mean %s?", near)
		} else if strings.HasPrefix(w[0].Text, "/") || strings.HasPrefix(w[0].Text, "*") {
			d = d.Helpf("a comment in a sidecar begins with # and ends with the line")
		}
		p.report(d)
		return
	case w[0].Text == "code" && len(w) > 1 && !p.space(w[1]): // also if other words are missing
		return
	case len(w) != n && (len(w) < n || !more(w)):
		p.report(diag.New(diag.BindSyntax, all, "found %s, expected %s", counted(len(w)), text))
		return
	}
	b := p.out.Bind
	switch w[0].Text {
	case "package":
		if p.once("package", w[0].Pos, "package") {
			b.Package = w[1].Text
		}
	case "prefix":
		if p.once("prefix "+w[1].Text, w[1].Pos, "prefix "+w[1].Text) {
			b.Prefixes = insertPrefix(b.Prefixes, ir.Prefix{Pos: w[1].Pos, Text: w[1].Text})
		}
	case "rename":
		switch {
		case !isGoName(w[2].Text):
			p.report(notGoName(w[2]))
		case p.once("rename "+w[1].Text, w[1].Pos, "rename of "+w[1].Text):
			b.Renames = append(b.Renames, ir.Rename{Pos: w[1].Pos, XDR: w[1].Text, GoName: w[2].Text})
		}
	case "import":
		if p.once("import "+w[1].Text, w[1].Pos, "import of "+w[1].Text) {
			b.Imports = append(b.Imports, w[1].Text)
			p.out.Imports = append(p.out.Imports, w[1])
		}
	case "type", "define":
		if p.once("type "+w[1].Text, w[1].Pos, "declaration of "+w[1].Text) {
			value := source.Span{File: p.f, Start: w[2].Pos.Start, End: all.End}
			p.out.Given = append(p.out.Given, Given{w[1], value.Text(), w[0].Text == "type"})
		}
	case "open":
		if p.once("open "+w[1].Text, w[1].Pos, "open of "+w[1].Text) {
			p.out.Open = append(p.out.Open, w[1])
		}
	case "code":
		p.code(w)
	case "message":
		p.message(w, all)
	case "number":
		p.number(w, all)
	case "payload":
		if p.once("payload "+w[1].Text, w[1].Pos, "payload "+w[1].Text) {
			p.out.Payloads = append(p.out.Payloads, w[1])
		}
	case "ddp":
		p.ddp(w, all)
	case "with":
		p.with(w)
	case "rpc":
		if p.once("rpc", w[0].Pos, "rpc") {
			b.RPC = true
		}
	case "async":
		if p.once("async", w[0].Pos, "async") {
			b.RPC, b.Async = true, true
		}
	case "once":
		p.notTwice(w)
	case "nonblocking":
		p.nonBlocking(w)
	case "reply":
		p.reply(w, all)
	case "views":
		b.Views = p.once("views", w[0].Pos, "views") || b.Views
	case "amend", "replace":
		p.amend(w, all)
	case "from":
		p.from(w)
	case "attributes":
		p.attributes(w, all)
	}
}

// counted returns a number of words.
func counted(n int) string {
	if n == 1 {
		return "1 word"
	}
	return fmt.Sprintf("%d words", n)
}

// once reports whether this is the first statement about a thing. For a second one, it reports
// a finding.
func (p *parser) once(key string, at source.Span, what string) bool {
	if first, ok := p.seen[key]; ok {
		p.report(diag.New(diag.BindDuplicate, at, "second %s", what).With(first, "the first is here"))
		return false
	}
	p.seen[key] = at
	return true
}

// insertPrefix inserts a prefix into a list that is sorted by length, longest first.
func insertPrefix(list []ir.Prefix, x ir.Prefix) []ir.Prefix {
	i := 0
	for i < len(list) && len(list[i].Text) >= len(x.Text) {
		i++
	}
	list = append(list, ir.Prefix{})
	copy(list[i+1:], list[i:])
	list[i] = x
	return list
}

func (p *parser) ddp(w []Word, all source.Span) {
	proc, ok := p.procedure(w[1])
	path := strings.Split(w[3].Text, ".")
	switch {
	case !ok:
	case w[2].Text != "args" && w[2].Text != "result":
		p.report(diag.New(diag.BindSyntax, w[2].Pos, "found %s, expected args or result", diag.Quote(w[2].Text)))
	case hasEmpty(path):
		p.report(diag.New(diag.BindSyntax, w[3].Pos, "found %s, expected names separated by dots", diag.Quote(w[3].Text)))
	case p.once("ddp "+w[1].Text+" "+w[2].Text+" "+w[3].Text, all, "ddp of "+w[3].Text):
		proc.Pos = all
		p.out.Bind.DDP = append(p.out.Bind.DDP, ir.DDPBinding{
			ProcName: proc, Reply: w[2].Text == "result", Path: path,
		})
	}
}

func hasEmpty(words []string) bool {
	for _, w := range words {
		if w == "" {
			return true
		}
	}
	return false
}

func isGoName(s string) bool {
	for i, r := range s {
		if i == 0 && !unicode.IsUpper(r) || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}
