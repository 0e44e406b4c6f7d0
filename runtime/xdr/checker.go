package xdr

// Lenient says which rules of the wire form a reader does not enforce: one switch a rule, for
// peers that break it. The zero value is strict. Encoding a value again gives its canonical
// form, except that encoders always refuse numbers that are not a value of the enum.
type Lenient struct {
	// Padding allows padding bytes of any value (RFC 4506 §3).
	Padding bool
	// Booleans makes any number but 0 true, for presence words too (RFC 4506 §4.4, §4.19).
	Booleans bool
	// Enums keeps numbers that are not a value of the enum (RFC 4506 §4.3). Discriminants still
	// need an arm.
	Enums bool
	// Trailing makes Done allow bytes after the value.
	Trailing bool
}

// Checker is the state of a reader that only checks. Users pass Checkable values to
// [Decoder.Check] instead.
type Checker struct{ checkerState }

// Checkable is implemented by the pointer to every type that was generated with views. SkipXDR
// does not use its receiver, which may be nil.
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
