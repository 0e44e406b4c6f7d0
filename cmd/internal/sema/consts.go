package sema

import (
	"math"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// constant is the value of a constant and the symbol that it came from.
type constant struct {
	ir.Value
	sym *symbol // nil for a number, TRUE, FALSE and a name given with -D
}

// evaluator computes the values of a unit's constants.
type evaluator struct {
	*findings
	advice   *adviser
	u        *unit
	defines  map[string]string   // Options.Defines
	counting map[numberName]bool // names whose numbers are being computed
}

// in returns the evaluator with the scope of another unit.
func (e *evaluator) in(u *unit) *evaluator {
	other := *e
	other.u = u
	return &other
}

// resolveConsts computes all constants and enumerators.
func (e *evaluator) resolveConsts() {
	for _, s := range e.u.scope.syms {
		if s.member == nil && s.decl.Kind == ir.Const {
			e.constValue(s)
		}
	}
	for _, s := range e.u.scope.syms {
		if s.member == nil && s.decl.Kind == ir.Enum && s.def != nil {
			e.enumValues(s)
		}
	}
}

// constValue returns the value of a constant or enumerator.
func (e *evaluator) constValue(s *symbol) (ir.Value, bool) {
	switch {
	case s.broken:
		return ir.Value{}, false
	case s.state == resolved:
		return s.value, true
	case s.state == resolving:
		s.broken = true
		e.report(diag.New(diag.ConstCycle, s.span, "constant %s is defined by itself", s.name))
		return ir.Value{}, false
	case s.member != nil && s.from.Value == nil:
		return e.implied(s)
	}
	written := syntax.Value{}
	if s.member != nil {
		written = *s.from.Value
	} else {
		written = s.def.Value
	}
	s.state = resolving
	v, ok := e.eval(written)
	if !ok || s.broken {
		s.broken = true
		return ir.Value{}, false
	}
	s.value, s.state = v.Value, resolved
	if s.member == nil {
		s.decl.Value = v.Value
	}
	return s.value, true
}

// implied returns the value of an enumerator without a value in the text: its predecessor's value
// plus one, as in C. It also sets the values of all predecessors without a value.
func (e *evaluator) implied(s *symbol) (ir.Value, bool) {
	var chain []*symbol
	p := s
	for p != nil && p.state == unresolved && p.from.Value == nil && !p.broken {
		chain = append(chain, p)
		p = p.prev
	}
	next := int64(0)
	if p != nil {
		v, ok := e.constValue(p)
		if !ok {
			s.broken = true
			return ir.Value{}, false
		}
		next = signed(v) + 1
	}
	for i := len(chain) - 1; i >= 0; i-- {
		chain[i].value, chain[i].state = fromSigned(next), resolved
		next++
	}
	return s.value, true
}

func (e *evaluator) enumValues(s *symbol) {
	byValue := map[int32]*ir.Member{}
	unvalued := false
	for _, m := range s.decl.Members {
		ms := e.u.scope.names[m.Name]
		if ms.member != m { // the enum is broken, and another definition has the name
			continue
		}
		if ms.from.Value == nil && !s.broken && !unvalued {
			unvalued = true
			e.report(diag.New(diag.MemberNoValue, ms.span, "member %s of enum %s has no value", m.Name, s.name))
		}
		v, ok := e.constValue(ms)
		if !ok {
			s.broken = true
			continue
		}
		n, fits := toInt32(v)
		if !fits {
			s.broken = true
			at := ms.span
			if ms.from.Value != nil {
				at = ms.from.Value.Span
			}
			e.report(diag.New(diag.EnumRange, at, "value %s of %s does not fit into 32 bits, signed", show(v), m.Name))
			continue
		}
		m.Value = n
		if ms.from.Value != nil {
			m.Text = ms.from.Value.Text
		}
		if old := byValue[n]; old != nil {
			if d, taken := e.u.takenNumber(s, m, old); taken {
				e.report(d)
				continue
			}
			e.report(diag.New(diag.RepeatedValue, ms.span, "%s has the value of %s", m.Name, old.Name).With(old.Pos, "declared here"))
		} else {
			byValue[n] = m
		}
	}
}

// eval computes a value of the text.
func (e *evaluator) eval(v syntax.Value) (constant, bool) { return e.value(v, (*symbol).isConst) }

// label computes a case value. A name that several included units declare means the member of the
// discriminant's enum, which is nil for other discriminants.
func (e *evaluator) label(v syntax.Value, enum *ir.Decl) (constant, bool) {
	return e.value(v, func(s *symbol) bool { return s.isConst() && (s.member != nil && s.decl == enum || enum == nil) })
}

// value computes a value. If several included units declare a name, it prefers what fits.
func (e *evaluator) value(v syntax.Value, fits func(*symbol) bool) (constant, bool) {
	if v.Str {
		e.report(diag.New(diag.NotAConst, v.Span, "found a string, expected an integer"))
		return constant{}, false
	}
	if v.Expr {
		return e.expression(v)
	}
	if !v.Name {
		return constant{Value: ir.Value{Neg: v.Neg, Abs: v.Abs, Text: v.Text}}, true
	}
	if b, ok := builtinConst(v.Text); ok {
		return constant{Value: b}, true
	}
	s := e.resolve(e.u, v.Text, v.Span, fits)
	if numbers := e.u.numbered(v.Text, v.Span); len(numbers) > 0 && (s == nil || s.member == nil && s.decl.Kind == ir.Program) {
		return e.evalNumber(v)
	}
	if s == nil {
		if value, ok := e.defined(v.Text); ok {
			return constant{Value: value}, true
		}
		if at, ok := e.u.scope.strings[v.Text]; ok {
			e.report(diag.New(diag.NotAConst, v.Span, "%s is a string, expected an integer", v.Text).With(at, "declared here"))
			return constant{}, false
		}
		e.undefinedConst(v)
		return constant{}, false
	}
	if !s.isConst() {
		e.report(diag.New(diag.NotAConst, v.Span, "%s is a %s, not a constant", v.Text, kindName(s.decl.Kind)).With(s.span, "declared here"))
		return constant{}, false
	}
	value, ok := e.constValue(s)
	value.Text = v.Text
	return constant{value, s}, ok
}

// expression computes the value of an expression in a #define.
func (e *evaluator) expression(v syntax.Value) (constant, bool) {
	failed := false
	n, err := syntax.Eval(v.Text, func(name string) (int64, error) {
		k, ok := e.eval(syntax.Value{Span: v.Span, Text: name, Name: true})
		failed = failed || !ok
		return signed(k.Value), nil
	})
	switch {
	case err == nil || failed:
	case v.Odd:
		e.report(diag.New(diag.BadNumber, v.Span, "value %s: %v", diag.Quote(v.Text), err))
	default:
		e.report(diag.New(diag.BadDirective, v.Span, "value %s: %v", diag.Quote(v.Text), err))
	}
	value := fromSigned(n)
	value.Text = v.Text
	if v.Odd && err == nil && !failed {
		value.Text = show(value)
		e.report(syntax.ConstForm(v.Span, "an expression", value.Text))
	}
	return constant{Value: value}, err == nil && !failed
}

// defined returns the value of a name given with -D.
func (e *evaluator) defined(name string) (ir.Value, bool) {
	text, ok := e.defines[name]
	if !ok {
		return ir.Value{}, false
	}
	neg, abs, err := syntax.Number(text)
	if err != nil {
		return ir.Value{}, false
	}
	return ir.Value{Neg: neg, Abs: abs, Text: text}, true
}

// undefinedConst reports an undeclared constant, once for each name.
func (e *evaluator) undefinedConst(v syntax.Value) {
	if !e.u.reportMissing(v.Text) {
		return
	}
	d := e.u.undeclared.usedTimes(diag.New(diag.UndefinedConst, v.Span, "constant %s is not declared", v.Text), v.Text)
	// Not the one that the name defines.
	fits := func(s *symbol) bool { return s.isConst() && s.state != resolving }
	e.report(e.advice.suggest(e.u, d, v.Text, fits, "TRUE", "FALSE"))
}

func kindName(k ir.DeclKind) string {
	switch k {
	case ir.Const:
		return "constant"
	case ir.Enum:
		return "enum"
	case ir.Struct:
		return "struct"
	case ir.Union:
		return "union"
	case ir.Program:
		return "program"
	}
	return "typedef"
}

// uint32Value computes a value that must fit into 32 bits, unsigned.
func (e *evaluator) uint32Value(v syntax.Value, rule diag.Rule, what string) (constant, bool) {
	k, ok := e.eval(v)
	if !ok {
		return k, false
	}
	if k.Neg || k.Abs > math.MaxUint32 {
		d := diag.New(rule, v.Span, "%s is %s, expected a value from 0 to 4294967295", what, show(k.Value))
		if k.sym != nil {
			d = d.With(k.sym.span, "declared here")
		}
		e.report(d)
		return k, false
	}
	return k, true
}

// show returns a value in decimal.
func show(v ir.Value) string {
	sign := ""
	if v.Neg {
		sign = "-"
	}
	return sign + decimal(v.Abs)
}

func decimal(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

func signed(v ir.Value) int64 {
	if v.Neg {
		return -int64(v.Abs)
	}
	return int64(min(v.Abs, math.MaxInt64-1))
}

func fromSigned(n int64) ir.Value {
	if n < 0 {
		return ir.Value{Neg: true, Abs: uint64(-n)}
	}
	return ir.Value{Abs: uint64(n)}
}

func toInt32(v ir.Value) (int32, bool) {
	if v.Neg {
		return int32(-int64(v.Abs)), v.Abs <= 1<<31
	}
	return int32(v.Abs), v.Abs < 1<<31
}
