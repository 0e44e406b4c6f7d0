package xdr

// Lenient says which rules of the wire form a reader does not enforce: one switch a rule, for
// peers that break it. The zero value is strict. Each field says how the reader understands
// what breaks the rule. Encoding such a value again gives its canonical form, except for
// numbers that are no enumerators: encoders always refuse them.
type Lenient struct {
	Padding  bool // padding bytes may have any value (RFC 4506 §3)
	Booleans bool // any number but 0 is true; presence words too (RFC 4506 §4.4, §4.19)
	Enums    bool // numbers that are no enumerators are kept (RFC 4506 §4.3); discriminants still need an arm
	Trailing bool // Done allows bytes after the value
}

// Checker is the state of a reader that only checks. Users pass Checkable values to
// [Decoder.Check] instead.
type Checker struct{ checkerState }

// Checkable is implemented by the pointer to every generated type. SkipXDR does not use its
// receiver, which may be nil.
type Checkable interface {
	SkipXDR(c *Checker, b []byte, off int) (int, *Error)
}

// Check reads past one value of v's type, by d's rules, without decoding it. It fails where
// DecodeXDR would, except that it needs no memory budget. It treats items out of line as
// DecodeXDR does.
func (d *Decoder) Check(v Checkable) error {
	d.Rules.Decoder = d
	off, err := v.SkipXDR(&d.Rules, d.Buf, d.Off)
	if err != nil {
		return err
	}
	d.Off = off
	return nil
}
