package xdr

import "math"

// Lenient says which rules of the wire form a reader lets pass: one switch a
// rule, for peers that break it. The zero value is strict. What is let pass is
// read as follows; encoding the value again gives its canonical form, but for
// enumerators, which encoders never let pass.
type Lenient struct {
	Padding  bool // padding bytes may hold anything (RFC 4506 §3)
	Booleans bool // any number but 0 is true; presence words too (RFC 4506 §4.4, §4.19)
	Enums    bool // numbers that are no enumerators are kept (RFC 4506 §4.3); discriminants still need an arm
	Trailing bool // Done takes bytes after the value
}

// allows reports whether the rule that code stands for is off.
func (l *Lenient) allows(code Code) bool {
	switch code {
	case CodePadding:
		return l.Padding
	case CodeBool:
		return l.Booleans
	case CodeEnum:
		return l.Enums
	case CodeTrailing:
		return l.Trailing
	}
	return false
}

// Checker is what a check-only reader keeps: the rules in force and how deep
// it is. The zero Checker has the default rules; a nil one is for bytes that were
// checked before, and refuses nothing. For generated code.
type Checker struct {
	opt   *DecoderOptions // nil: the defaults
	depth int             // levels of types that contain themselves
	out   *placement      // items out of line; nil: none
}

// Refuses reports whether the rule that code stands for is in force. For
// generated code, which asks when a rule is broken: inlined, as a call in the
// condition of a list's loop costs 15 % of a check of message a or b.
func (c *Checker) Refuses(code Code) bool {
	return c != nil && (c.opt == nil || !c.opt.Lenient.allows(code))
}

// Enter counts one level of a type that contains itself; Leave must follow
// unless reading fails. For generated code.
func (c *Checker) Enter(off int) *Error {
	if c == nil {
		return nil
	}
	most := defaultDepth
	if c.opt != nil {
		most = limit(c.opt.Limits.MaxDepth, defaultDepth)
	}
	if c.depth >= most {
		return Fail(CodeDepth, off, uint64(c.depth)+1, uint64(most), "")
	}
	c.depth++
	return nil
}

// Leave undoes Enter. For generated code.
func (c *Checker) Leave() {
	if c != nil {
		c.depth--
	}
}

// MaxElements is the count limit for elements without bytes on the wire. For
// generated code.
func (c *Checker) MaxElements() int {
	switch {
	case c == nil:
		return math.MaxInt
	case c.opt == nil:
		return defaultElements
	}
	return limit(c.opt.Limits.MaxElements, defaultElements)
}

// Checkable is what every generated type's pointer satisfies: its check-only
// reader does not use the receiver, which may be nil.
type Checkable interface {
	SkipXDR(c *Checker, b []byte, off int) (int, *Error)
}

// Check reads past one value of v's type, by d's rules, and keeps nothing of
// it: it fails where DecodeXDR would, but for the memory budget. Items out of line
// it takes as DecodeXDR does.
func (d *Decoder) Check(v Checkable) error {
	d.checker.out = &d.placed
	off, err := v.SkipXDR(&d.checker, d.Buf, d.Off)
	if err != nil {
		return err
	}
	d.Off = off
	return nil
}
