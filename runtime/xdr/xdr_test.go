package xdr

import (
	"errors"
	"strings"
	"testing"
)

func TestEveryCodeHasTextRuleAndSentinel(t *testing.T) {
	for c := CodeShort; c <= CodeLimit; c++ {
		err := &Error{Code: c, Offset: 4, Found: 7, Want: 9}
		if s := err.Error(); strings.Contains(s, ":  (") || strings.Contains(s, "()") {
			t.Errorf("code %d renders as %q", c, s)
		}
		if !errors.Is(err, rules[c].err) {
			t.Errorf("code %d does not match its sentinel", c)
		}
	}
}

func TestEncoderNoGrow(t *testing.T) {
	e := NewEncoder(make([]byte, 0, 8))
	e.NoGrow(true)
	if err := e.Grow(8); err != nil {
		t.Fatalf("8 bytes into 8: %v", err)
	}
	var full *Error
	if _, err := e.Next(9); !errors.As(err, &full) || full.Code != CodeBuffer || full.Found != 9 || full.Want != 8 {
		t.Fatalf("9 bytes into 8: %v", err)
	}
	if e.Len() != 0 {
		t.Errorf("a refused write left %d bytes", e.Len())
	}
	e.NoGrow(false)
	if b, err := e.Next(9); err != nil || len(b) != 9 || e.Len() != 9 {
		t.Errorf("a buffer that may grow did not: %d bytes, %v", len(b), err)
	}
}

// An Encoder that grows allocates memory in proportion to its output, like append.
func TestEncoderGrowth(t *testing.T) {
	for _, n := range []int{1 << 10, 1 << 15, 1 << 20} {
		var e Encoder
		made, buffers := 0, 0
		for e.Off < n {
			before := len(e.Buf)
			b, err := e.Next(4)
			if err != nil {
				t.Fatal(err)
			}
			b[3] = byte(e.Off)
			if len(e.Buf) != before {
				made, buffers = made+len(e.Buf), buffers+1
			}
		}
		if made > 8*n || buffers > 64 {
			t.Errorf("%d bytes: %d buffers of %d bytes together", n, buffers, made)
		}
		for i := 3; i < n; i += 4 {
			if e.Buf[i] != byte(i+1) {
				t.Fatalf("%d bytes: byte %d is %d, want %d", n, i, e.Buf[i], byte(i+1))
			}
		}
	}
}

func TestDone(t *testing.T) {
	d := NewDecoder(make([]byte, 8), nil)
	if b, err := d.Next(4); err != nil || len(b) != 4 || d.Offset() != 4 {
		t.Fatalf("4 of 8 bytes: %d, offset %d, %v", len(b), d.Offset(), err)
	}
	if err := d.Done(); !errors.Is(err, ErrTrailing) {
		t.Errorf("4 bytes left over: %v", err)
	}
	if _, err := d.Next(5); !errors.Is(err, ErrShort) || d.Offset() != 4 {
		t.Errorf("5 of the last 4 bytes: offset %d, %v", d.Offset(), err)
	}
	d.Next(4)
	if err := d.Done(); err != nil {
		t.Error(err)
	}
	d.ReinsertAt(0, []Item{{Position: 4, Data: []byte{1}}})
	if err := d.Done(); !errors.Is(err, ErrChunk) {
		t.Errorf("an item that no site has taken: %v", err)
	}
}

// Lenient.Trailing lets Done pass bytes after the value, and no other leniency does.
func TestDoneLenient(t *testing.T) {
	for l, want := range map[Lenient]bool{{Trailing: true}: true, {Padding: true, Booleans: true, Enums: true}: false} {
		d := NewDecoder(make([]byte, 4), &DecoderOptions{Lenient: l})
		if err := d.Done(); (err == nil) != want {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestOptional(t *testing.T) {
	o := Some(7)
	if p := o.Get(); p == nil || *p != 7 {
		t.Error("Some(7) does not hold 7")
	}
	o = Optional[int]{Value: 7}
	if o.Get() != nil {
		t.Error("Get of an absent value")
	}
}

func TestExtensionFind(t *testing.T) {
	x := Extension{Codes: []CodePoint{
		{Space: Properties, Value: 1, Name: "P"},
		{Space: HeaderTypes, Value: 1, Name: "H"},
	}}
	if c := x.Find(HeaderTypes, 1); c == nil || c.Name != "H" {
		t.Errorf("found %v", c)
	}
	if c := x.Find(HeaderTypes, 2); c != nil {
		t.Errorf("found %v", c)
	}
}
