package goexpr

import (
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
)

// OneLine is the body of a function in one line. gofmt keeps it so if the line has at most 100
// columns.
func OneLine(code ...jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{ ", Close: " }", Separator: "; "}, code...)
}

// Short is the body of a function, in one line if it is one statement.
func Short(code []jen.Code) *jen.Statement {
	if len(code) == 1 {
		return OneLine(code...)
	}
	return jen.Block(code...)
}

// Rows returns rows in a line each.
func Rows(rows []jen.Code) []jen.Code {
	out := make([]jen.Code, 0, len(rows)+1)
	for _, r := range rows {
		out = append(out, jen.Line().Add(r))
	}
	return append(out, jen.Line())
}

// Tail makes a comment for the end of a line.
func Tail(s string) string { return "// " + strings.Join(strings.Fields(s), " ") }

// Comment is lines as a comment.
func Comment(lines []string) string {
	return "// " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n// ")
}

// NonEmpty returns s alone, or nothing if it is empty.
func NonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// Literal is a number in emitted code. It may be larger than an int of the machine that runs the
// compiler.
func Literal(n uint64) jen.Code { return jen.Id(strconv.FormatUint(n, 10)) }
