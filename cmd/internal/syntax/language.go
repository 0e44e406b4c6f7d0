package syntax

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// languages are kinds of files that may be given by mistake. text matches such a file from its
// first syntax error on, and no misspelled XDR definition.
var languages = []struct {
	is   string
	text *regexp.Regexp
	help string
}{
	{
		"a file of Protocol Buffers", regexp.MustCompile(`^(?:(?:syntax|edition)\s*=\s*["']|message\s+\w+\s*\{[^{}]*=\s*\d+\s*[;\[]|service\s+\w+\s*\{\s*rpc\b|option\s+\w+\s*=)`),
		"use protoc, or declare each message as a struct and each service as a program: the encoding is another",
	},
	{
		"a file of Thrift", regexp.MustCompile(`^(?:namespace\s+[\w*]+\s+[\w.]+|include\s+["'][^"'\n]*\.thrift["']|service\s+\w+\s*(?:extends\s+[\w.]+\s*)?\{|exception\s+\w+\s*\{|\d+\s*:\s*(?:required\s|optional\s)?\s*\w+)`),
		"use thrift, or declare each structure without field numbers and each service as a program: the encoding is another",
	},
	{
		"Go source", regexp.MustCompile(`^package[ \t]+\w+[ \t\r]*\n`),
		"give the .x file: the comment at the top of a generated Go file has its name",
	},
	{
		"a file with the marks of an unfinished merge", regexp.MustCompile(`^<<<<<<< `),
		"choose one of the two versions at each place, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>",
	},
	{
		"a patch", regexp.MustCompile(`^(?:diff --git |\S[^\n]*\n\+\+\+ )`),
		"apply it with git apply or patch, and give the file that it changes",
	},
	{
		"a PEM file, with a certificate or a key", regexp.MustCompile(`^BEGIN [A-Z0-9 ]+-----`),
		"give the .x file",
	},
	{
		"HTML or XML", regexp.MustCompile(`(?i)^<(?:!doctype|!--|\?xml|html|rfc)\b`),
		"give the .x file; a document of the IETF in plain text is read by tools/extract",
	},
}

// sidecarHelp is the help on a sidecar in place of XDR.
const sidecarHelp = "give the .x file: its sidecar is found by its name, or given with -bind"

// jsonHelp is the help on JSON in place of XDR.
const jsonHelp = "a JSON Schema has no order and no sizes of fields: declare the types in XDR; xdrgen json converts values of declared types"

// otherLanguage returns a finding if a file is in another language, to judge by the text from its
// first syntax error on. Then other findings say nothing more.
func otherLanguage(f *source.File, first source.Span) (d diag.Diagnostic, found bool) {
	finding := func(is, help string) (diag.Diagnostic, bool) {
		return diag.New(diag.SyntaxError, first, "found %s: %s is %s, expected XDR", diag.Quote(first.Text()), f.Base(), is).
			Helpf("%s", help), true
	}
	if !first.Valid() {
		return d, false
	}
	text := f.Text[first.Start:]
	for _, l := range languages {
		if l.text.Match(text[:min(len(text), maxLanguage)]) {
			return finding(l.is, l.help)
		}
	}
	if start := bytes.TrimSpace(f.Text); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return finding("JSON", jsonHelp)
	}
	if path.Ext(f.Base()) == ".bind" {
		return finding("a sidecar", sidecarHelp)
	}
	if isDocument(f.Text) {
		x := strings.TrimSuffix(f.Base(), path.Ext(f.Base())) + ".x"
		if x == f.Base() {
			x = "extracted-" + x
		}
		return finding("a document", fmt.Sprintf("extract its XDR with tools/extract, and compile that: extract -doc %s >%s", f.Name, x))
	}
	return d, false
}

var (
	fence    = regexp.MustCompile("(?m)^ {0,3}(?:```|~~~)")
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	prose    = regexp.MustCompile(`(?m)^[ \t]*(?:[A-Z0-9]\S*|[a-z][a-z'-]*,?)(?: +[("]?[A-Za-z0-9][A-Za-z0-9'-]*[)",.;:]*){4,}[ \t\r]*$`)
	code     = regexp.MustCompile(`(?m)^[^\n]*[;{}][ \t\r]*$`)
)

// isDocument reports whether a text with a syntax error is Markdown or prose, which may contain
// XDR. Prose has lines with at least five words outside comments, more than one, and more than
// there are lines that end as XDR does.
func isDocument(text []byte) bool {
	text = text[:min(len(text), maxDocument)]
	if fence.Match(text) {
		return true
	}
	text = comments.ReplaceAll(text, nil)
	lines := len(prose.FindAllIndex(text, -1))
	return lines > 1 && lines > len(code.FindAllIndex(text, -1))
}

// maxDocument is the most bytes that are searched for prose.
const maxDocument = 64 << 10

// maxLanguage is the most bytes that are searched for another language.
const maxLanguage = 4 << 10

// isEmpty reports whether a file has neither definitions nor lines for a preprocessor or for C.
func isEmpty(s *scanner) bool {
	return len(s.toks) == 0 && len(s.defs) == 0 && !bytes.ContainsAny(s.f.Text, "#%")
}
