package codectest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Run runs every check on every wire of every type.
func Run(t *testing.T, types []Type) {
	for i := range types {
		typ := &types[i]
		t.Run(typ.Name, func(t *testing.T) {
			wires, err := typ.wires()
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wires {
				for _, c := range checks() {
					if err := c.run(typ, w); err != nil {
						t.Fatalf("%s: %x: %v", c.name, w, err)
					}
				}
			}
			if err := reset(typ, wires); err != nil {
				t.Fatal(err)
			}
			if err := clones(typ, wires); err != nil {
				t.Fatal(err)
			}
			if err := equals(typ, wires); err != nil {
				t.Fatal(err)
			}
			if err := claims(typ); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Fuzz is the body of a fuzz target: the first argument selects the type.
func Fuzz(f *testing.F, types []Type) {
	used := make([]Value, len(types)) // reused without a reset, with the values of earlier inputs
	for i := range types {
		used[i] = types[i].New()
		wires, err := types[i].wires()
		if err != nil {
			f.Fatal(err)
		}
		for j, w := range wires {
			f.Add(uint(i), w)
			if j == 0 { // one of each: the engine runs all seeds before it begins
				f.Add(uint(i), append(w[:len(w):len(w)], 0, 0, 0, 1))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint, in []byte) {
		if len(types) == 0 {
			return
		}
		i := which % uint(len(types))
		typ := &types[i]
		if err := agree(typ, in); err != nil {
			t.Fatalf("%s: %v", typ.Name, err)
		}
		if typ.Stream != nil {
			if err := streamAgrees(typ, in, readers); err != nil {
				t.Fatalf("%s: %v", typ.Name, err)
			}
		}
		fresh := typ.New().DecodeXDR(xdr.NewDecoder(in, nil))
		again := used[i].DecodeXDR(xdr.NewDecoder(in, aliasing()))
		if (fresh == nil) != (again == nil) && !errors.Is(fresh, xdr.ErrMemory) {
			t.Fatalf("%s: fresh value: %v; reused value: %v", typ.Name, fresh, again)
		}
		if again == nil {
			if err := same(used[i], in[:used[i].XDRSize()]); err != nil {
				t.Fatalf("%s: reused value: %v", typ.Name, err)
			}
		}
	})
}

func aliasing() *xdr.DecoderOptions { return &xdr.DecoderOptions{Alias: true} }

// same checks that every way of encoding v returns wire.
func same(v Value, wire []byte) error {
	if n := v.XDRSize(); n != len(wire) {
		return fmt.Errorf("XDRSize is %d, the encoding has %d bytes", n, len(wire))
	}
	b, err := v.AppendBinary([]byte("prefix"))
	if err != nil {
		return err
	}
	if !bytes.Equal(b[6:], wire) {
		return fmt.Errorf("AppendBinary gives\n%x, want\n%x", b[6:], wire)
	}
	e := xdr.NewEncoder(make([]byte, 0, len(wire)))
	e.NoGrow(true)
	if err := v.EncodeXDR(e); err != nil {
		return fmt.Errorf("EncodeXDR into a buffer of just the size: %w", err)
	}
	if !bytes.Equal(e.Bytes(), wire) {
		return fmt.Errorf("EncodeXDR gives\n%x, want\n%x", e.Bytes(), wire)
	}
	return nil
}

// roundTrip decodes in both modes, into a fresh value and into the same one again.
func roundTrip(t *Type, wire []byte) error {
	v := t.New()
	for range 2 {
		in := bytes.Clone(wire)
		if err := v.UnmarshalBinary(in); err != nil {
			return err
		}
		for i := range in {
			in[i] = ^in[i] // copied data does not change
		}
		if err := same(v, wire); err != nil {
			return err
		}
	}
	// A copying decode into a value that aliases an input does not write into that input.
	old := bytes.Clone(wire)
	if err := v.DecodeXDR(xdr.NewDecoder(old, aliasing())); err != nil {
		return err
	}
	if err := same(v, wire); err != nil {
		return err
	}
	if err := v.UnmarshalBinary(bytes.Clone(wire)); err != nil {
		return err
	}
	if !bytes.Equal(old, wire) {
		return fmt.Errorf("decoding into a used value wrote into its old input")
	}
	return same(v, wire)
}

// bounds compares a valid encoding with the static bounds.
func bounds(t *Type, wire []byte) error {
	n := int64(len(wire))
	if n < t.Min || t.Max >= 0 && n > t.Max {
		return fmt.Errorf("%d bytes, the bounds are %d and %d", n, t.Min, t.Max)
	}
	bounded, ok := t.New().(interface{ XDRMaxSize() int })
	switch {
	case ok != (t.Max >= 0):
		return fmt.Errorf("has XDRMaxSize: %v, but the largest size is %d", ok, t.Max)
	case ok && int64(bounded.XDRMaxSize()) != t.Max:
		return fmt.Errorf("XDRMaxSize is %d, the largest size %d", bounded.XDRMaxSize(), t.Max)
	}
	return nil
}

// most returns the largest number of places at which one encoding is cut or changed. Of more
// places, evenly spaced ones are used. In short runs it is a third: with the race detector, or an
// emulator of another machine, each takes ten times as long.
func most() int {
	if testing.Short() {
		return 8
	}
	return 24
}

// truncation checks that all readers refuse every prefix of an encoding with the same error.
func truncation(t *Type, wire []byte) error {
	for n := 0; n < len(wire); n += 1 + len(wire)/most() {
		in := wire[:n:n]
		if err := t.New().UnmarshalBinary(in); err == nil {
			return fmt.Errorf("the first %d bytes are accepted as a whole value", n)
		}
		if err := agree(t, in); err != nil {
			return fmt.Errorf("the first %d bytes: %w", n, err)
		}
	}
	return nil
}

func trailing(t *Type, wire []byte) error {
	in := append(wire[:len(wire):len(wire)], 0, 0, 0, 0)
	if err := t.New().UnmarshalBinary(in); !errors.Is(err, xdr.ErrTrailing) {
		return fmt.Errorf("four bytes more: %v, want %v", err, xdr.ErrTrailing)
	}
	return agree(t, in)
}

// mutations replaces each word. The result must be refused, or be the encoding of its value.
func mutations(t *Type, wire []byte) error {
	in := bytes.Clone(wire)
	for off := 0; off+4 <= len(in); off += 4 * (1 + len(in)/(4*most())) {
		for _, word := range []uint32{0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff} {
			binary.BigEndian.PutUint32(in[off:], word)
			if err := agree(t, in); err != nil {
				return fmt.Errorf("%#x at offset %d: %w", word, off, err)
			}
		}
		copy(in[off:], wire[off:off+4])
	}
	return nil
}

// reset checks that a value after ResetXDR encodes like a new one. Where a large arm has number 0,
// only the former can be encoded: a new value has no memory for the arm.
func reset(t *Type, wires [][]byte) error {
	used := t.New()
	for _, w := range wires {
		if err := used.UnmarshalBinary(w); err != nil {
			return err
		}
	}
	used.ResetXDR()
	a, errA := used.MarshalBinary()
	b, errB := t.New().MarshalBinary()
	if errA == nil && errors.Is(errB, xdr.ErrEmpty) {
		b, errB = make([]byte, len(a)), nil
	}
	if (errA == nil) != (errB == nil) || errA == nil && !bytes.Equal(a, b) {
		return fmt.Errorf("after ResetXDR: %x, %v; a zero value: %x, %v", a, errA, b, errB)
	}
	return nil
}
