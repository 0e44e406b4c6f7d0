package codec

// The names of the operations, in the order of the tables.
const (
	OpEncode = "encode"
	OpAppend = "append"
	OpDecode = "decode"
	OpFresh  = "decode fresh"
	OpCopy   = "decode copying"
	OpCheck  = "check only"
	OpVisit  = "check and visit"
)

// OpNames returns the operations in the order of the tables.
func OpNames() []string {
	return []string{OpEncode, OpAppend, OpDecode, OpFresh, OpCopy, OpCheck, OpVisit}
}

// Op is an operation of a codec, ready to be timed.
type Op struct {
	Name string
	// Run does the operation n times. It reads wire or fills out, which has the same length.
	// Because the loop is in Run, the time of every codec includes only one call through a
	// function value.
	Run func(wire, out []byte, n int) error
}

// Ops returns the operations that c has.
func (c *Codec) Ops() []Op {
	var ops []Op
	if f := c.EncodeInto; f != nil {
		ops = append(ops, Op{OpEncode, func(_, out []byte, n int) error { return repeat(f, out, n) }})
	}
	if f := c.Append; f != nil {
		ops = append(ops, Op{OpAppend, func(_, out []byte, n int) error {
			for range n {
				if _, err := f(out[:0]); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	for _, d := range []struct {
		name string
		f    func([]byte) (int, error)
	}{
		{OpDecode, c.Decode}, {OpFresh, c.DecodeFresh}, {OpCopy, c.DecodeCopy}, {OpCheck, c.Check}, {OpVisit, c.Visit},
	} {
		if f := d.f; f != nil {
			ops = append(ops, Op{d.name, func(wire, _ []byte, n int) error { return repeat(f, wire, n) }})
		}
	}
	return ops
}

func repeat(f func([]byte) (int, error), b []byte, n int) error {
	for range n {
		if _, err := f(b); err != nil {
			return err
		}
	}
	return nil
}
