package syntax

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// Eval evaluates an integer expression of #if or #define: numbers, names, parentheses and the
// operators of C except assignment, ?: and the comma. value returns the value of a name.
func Eval(text string, value func(name string) (int64, error)) (int64, error) {
	e := &expr{rest: text, value: value}
	return e.all()
}

// ExprNames returns the names in an expression in order, with repetitions.
func ExprNames(text string) []string {
	var out []string
	for i := 0; i < len(text); i++ {
		switch {
		case isLetter(text[i]):
			word, _ := splitWord(text[i:])
			out = append(out, word)
			i += len(word) - 1
		case isDigit(text[i]):
			for i+1 < len(text) && isWord(text[i+1]) {
				i++
			}
		}
	}
	return out
}

var errDivision = errors.New("division by 0")

// maxExpr limits how deep an expression nests.
const maxExpr = 64

// expr evaluates one expression by precedence climbing.
type expr struct {
	rest    string
	value   func(name string) (int64, error)
	defined func(name string) bool // nil outside #if
	err     error
}

// all evaluates the whole expression.
func (e *expr) all() (int64, error) {
	v := e.binary(0, 0)
	if rest := strings.TrimSpace(e.rest); e.err == nil && rest != "" {
		e.fail("found %s, expected the end of the line", diag.Quote(rest))
	}
	return v, e.err
}

// fail records the first error and stops the evaluation.
func (e *expr) fail(format string, args ...any) int64 {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
	e.rest = ""
	return 0
}

// accept skips op if it comes next, and reports whether it did.
func (e *expr) accept(op string) bool {
	e.rest = strings.TrimLeft(e.rest, " \t\r\n")
	rest, ok := strings.CutPrefix(e.rest, op)
	if ok {
		e.rest = rest
	}
	return ok
}

// operator returns the next binary operator and its precedence, or 0 if no operator follows.
func (e *expr) operator() (op string, binds int) {
	e.rest = strings.TrimLeft(e.rest, " \t\r\n")
	// Operators of two characters come first: some of them begin with another operator.
	for _, o := range []struct {
		op    string
		binds int
	}{
		{"||", 1},
		{"&&", 2},
		{"==", 6},
		{"!=", 6},
		{"<<", 8},
		{">>", 8},
		{"<=", 7},
		{">=", 7},
		{"|", 3},
		{"^", 4},
		{"&", 5},
		{"<", 7},
		{">", 7},
		{"+", 9},
		{"-", 9},
		{"*", 10},
		{"/", 10},
		{"%", 10},
	} {
		if strings.HasPrefix(e.rest, o.op) {
			return o.op, o.binds
		}
	}
	return "", 0
}

// binary evaluates operands with operators of a higher precedence than least.
func (e *expr) binary(depth, least int) int64 {
	v := e.unary(depth)
	for {
		op, binds := e.operator()
		if binds <= least {
			return v
		}
		e.rest = e.rest[len(op):]
		v = e.apply(op, v, e.binary(depth+1, binds))
	}
}

func (e *expr) apply(op string, a, b int64) int64 {
	switch op {
	case "||":
		return truth(a != 0 || b != 0)
	case "&&":
		return truth(a != 0 && b != 0)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<":
		return truth(a < b)
	case ">":
		return truth(a > b)
	case "<=":
		return truth(a <= b)
	case ">=":
		return truth(a >= b)
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "&":
		return a & b
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "<<", ">>":
		if b < 0 || b > 63 {
			return e.fail("shift by %d, expected 0 to 63", b)
		}
		if op == "<<" {
			return a << b
		}
		return a >> b
	}
	if b == 0 {
		return e.fail("%w", errDivision)
	}
	if op == "/" {
		return a / b
	}
	return a % b
}

func (e *expr) unary(depth int) int64 {
	if depth > maxExpr {
		return e.fail("nested more than %d deep", maxExpr)
	}
	switch {
	case e.accept("!"):
		return truth(e.unary(depth+1) == 0)
	case e.accept("~"):
		return ^e.unary(depth + 1)
	case e.accept("-"):
		return -e.unary(depth + 1)
	case e.accept("+"):
		return e.unary(depth + 1)
	case e.accept("("):
		v := e.binary(depth+1, 0)
		if !e.accept(")") {
			e.fail("found %s, expected )", diag.Quote(e.rest))
		}
		return v
	}
	word, rest := splitWord(e.rest)
	switch {
	case e.rest == "":
		return e.fail("found the end, expected a name or an integer")
	case word == "":
		return e.fail("found %s, expected a name or an integer", diag.Quote(e.rest))
	case isDigit(word[0]):
		_, abs, err := Number(strings.TrimRight(word, "uUlL"))
		if err != nil {
			return e.fail("found %s, expected an integer", diag.Quote(word))
		}
		e.rest = rest
		return int64(abs)
	}
	e.rest = rest
	if word == "defined" && e.defined != nil {
		paren := e.accept("(")
		name, rest := splitWord(e.rest)
		e.rest = rest
		if name == "" || paren && !e.accept(")") {
			return e.fail("found defined without a name")
		}
		return truth(e.defined(name))
	}
	v, err := e.value(word)
	if err != nil {
		return e.fail("%w", err)
	}
	return v
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
