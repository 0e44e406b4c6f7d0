package codectest

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// word is a codec of one 32-bit word in the form of generated ones, with a fault.
type word struct {
	V     uint32
	in    []byte
	fault string
}

func (v *word) XDRSize() int {
	if v.fault == "size" {
		return 8
	}
	return 4
}

func (v *word) XDRMaxSize() int {
	if v.fault == "largest" {
		return 8
	}
	return 4
}

func (v *word) EncodeXDR(e *xdr.Encoder) error {
	if room := len(e.Buf) - e.Off; room < 4 {
		if err := e.Grow(4); err != nil {
			if v.fault == "forgetful" {
				e.Off = 0
			}
			return err
		}
		if v.fault == "moving" {
			e.Off = 0
		}
	}
	b, err := e.Next(4)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b, v.V)
	if v.fault == "encode" {
		b[3]++
	}
	return nil
}

func (v *word) DecodeXDR(d *xdr.Decoder) error {
	b, off := d.Buf, d.Off
	off, err := v.SkipXDR(new(xdr.Checker), b, off)
	if err != nil {
		if v.fault == "other words" {
			err = codec.Short(b, off, 8, "codectest.word:V")
		}
		if v.fault == "greedy" {
			return nil
		}
		return err
	}
	if v.fault == "scribble" && v.in != nil {
		v.in[0] = b[0] // the same value: only a write fault shows it
	}
	v.in = b
	if v.fault == "wordy" && b[off-1] == 0xff {
		return fmt.Errorf("word: %w", fmt.Errorf("last byte: %w", codec.Fail(xdr.CodeEnum, off, 0, 0, "")))
	}
	v.V = binary.BigEndian.Uint32(b[off-4:])
	if v.fault == "canonical" {
		v.V &^= 2
	}
	d.Off = off
	return nil
}

func (v *word) SkipXDR(_ *xdr.Checker, b []byte, off int) (int, *xdr.Error) {
	if len(b)-off < 4 {
		return off, codec.Short(b, off, 4, "codectest.word:V")
	}
	return off + 4, nil
}

func (v *word) CheckXDR(b []byte) (int, error) {
	n, err := v.SkipXDR(nil, b, 0)
	if err != nil {
		return 0, err
	}
	if v.fault == "length" {
		n = 0
	}
	return n, nil
}

func (v *word) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint32(b, v.V), nil
}
func (v *word) MarshalBinary() ([]byte, error) { return v.AppendBinary(nil) }
func (v *word) UnmarshalBinary(b []byte) error {
	d := xdr.NewDecoder(b, nil)
	if err := v.DecodeXDR(d); err != nil {
		return err
	}
	if v.fault == "trailing" {
		return nil
	}
	return d.Done()
}
func (v *word) ResetXDR() { v.V = 0 }

func (v *word) String() string {
	switch v.fault {
	case "long text":
		return strings.Repeat("a", 4097)
	case "two lines":
		return "a\nb"
	case "bytes":
		return "\xff"
	case "panic":
		panic("no text")
	}
	return "word{v: 7}"
}

// wordView is the view of word, with or without a fault.
type wordView struct {
	b     []byte
	fault string
}

func (v wordView) V() uint32 {
	if v.fault == "view" {
		return 1
	}
	return codec.Uint32(v.b, 0)
}

// Each fault is detected, by an error that names it.
func TestCanaries(t *testing.T) {
	for fault, want := range map[string]string{
		"":            "",
		"size":        "XDRSize is 8",
		"largest":     "XDRMaxSize is 8",
		"encode":      "EncodeXDR gives",
		"other words": "decode and check",
		"greedy":      "accepted as a whole value",
		"canonical":   "AppendBinary gives",
		"length":      "CheckXDR: 0",
		"trailing":    "four bytes more: <nil>",
		"view":        "view: V: ",
		"forgetful":   "room for 0 bytes: xdr: ",
		"moving":      "growing from 0 bytes: ",
		"scribble":    "copying, after aliasing: runtime error",
		"long text":   "text: method String returns 4097 bytes",
		"two lines":   `text: method String returns "a\nb"`,
		"bytes":       `text: method String returns "\xff"`,
		"panic":       "text: method String: no text",
		"wordy":       "allocations for word: last byte",
	} {
		if fault == "wordy" && race {
			continue // the race detector allocates
		}
		typ := &Type{
			Name: "word", Min: 4, Max: 4,
			New:   func() Value { return &word{fault: fault} },
			Check: &word{fault: fault},
		}
		typ.View = func(b []byte) any { return wordView{b, fault} }
		got := ""
		for _, c := range checks() {
			if c.name == "allocations" {
				continue // EncodeXDR above does not support it
			}
			if err := c.run(typ, []byte{0, 0, 0, 7}); err != nil {
				got += c.name + ": " + err.Error() + "\n"
			}
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("fault %q: found %q, want %q", fault, got, want)
		}
	}
	word := func() Value { return new(word) }
	if err := bounds(&Type{New: word, Min: 8, Max: 4}, make([]byte, 4)); err == nil {
		t.Error("4 bytes where 8 are the least: not found")
	}
	if err := bounds(&Type{New: word, Min: 4, Max: -1}, make([]byte, 4)); err == nil {
		t.Error("an XDRMaxSize where there is no largest size: not found")
	}
}

// Errors are equal only if their paths are, except for the steps that a long path omits.
func TestSameError(t *testing.T) {
	long := func(code xdr.Code, steps int, last string) error {
		err := codec.Fail(code, 8, 2, 1, last)
		for i := range steps {
			err = codec.In(err, "T:f"+string(rune('a'+i)))
		}
		return err
	}
	for _, c := range []struct {
		a, b error
		same bool
	}{
		{nil, nil, true},
		{nil, long(xdr.CodeBool, 1, "x"), false},
		{long(xdr.CodeBool, 3, "x"), long(xdr.CodeBool, 3, "x"), true},
		{long(xdr.CodeBool, 3, "x"), long(xdr.CodeBool, 2, "x"), false},
		{long(xdr.CodeBool, 12, "x"), long(xdr.CodeBool, 12, "y"), false},
		{long(xdr.CodeBool, 12, "x"), long(xdr.CodePadding, 12, "x"), false},
		{long(xdr.CodeBool, 12, "fa.x"), long(xdr.CodeBool, 12, "x"), false},
	} {
		if err := sameError(c.a, c.b); (err == nil) != c.same {
			t.Errorf("%v and %v: %v, want same: %v", c.a, c.b, err, c.same)
		}
	}
	// The same path in other steps: one is cut elsewhere.
	a, b := codec.Fail(xdr.CodeBool, 8, 2, 1, "i.j"), codec.Fail(xdr.CodeBool, 8, 2, 1, "j")
	b = codec.In(b, "T:i")
	for _, f := range []string{"h", "g", "f", "e", "d", "c", "b", "a"} {
		a, b = codec.In(a, "T:"+f), codec.In(b, "T:"+f)
	}
	if a.Error() == b.Error() {
		t.Fatalf("%v is not cut", a)
	}
	if err := sameError(a, b); err != nil {
		t.Error(err)
	}
}

// optionalView is a view of an arm that is optional data. The value may hold such an arm by
// pointer.
type optionalView struct{ word xdr.Optional[uint32] }

func (v optionalView) Arm() (xdr.Optional[uint32], bool) { return v.word, true }

func TestOptionalArmByPointer(t *testing.T) {
	some, other, none := xdr.Some(uint32(7)), xdr.Some(uint32(8)), xdr.Optional[uint32]{}
	for _, c := range []struct {
		view, held xdr.Optional[uint32]
		same       bool
	}{{some, some, true}, {none, none, true}, {some, none, false}, {none, some, false}, {some, other, false}} {
		held := struct{ Arm *xdr.Optional[uint32] }{&c.held}
		if err := sameView(reflect.ValueOf(optionalView{c.view}), reflect.ValueOf(held)); (err == nil) != c.same {
			t.Errorf("view %v, held %v: %v", c.view, c.held, err)
		}
	}
}

// A path leads through pointers and optional data, and both at once.
func TestFollow(t *testing.T) {
	type inner struct{ List []int32 }
	some := xdr.Some(inner{[]int32{1, 2}})
	type outer struct {
		Plain   inner
		Pointer *inner
		Both    *xdr.Optional[inner]
		None    *xdr.Optional[inner]
	}
	v := reflect.ValueOf(outer{Pointer: &inner{[]int32{3}}, Both: &some})
	for path, want := range map[string]int{".Plain.List": 0, ".Pointer.List": 1, ".Both.List": 2, ".None.List": -1} {
		got := -1
		if l := follow(v, path); l.IsValid() {
			got = l.Len()
		}
		if got != want {
			t.Errorf("%s: %d elements, want %d", path, got, want)
		}
	}
}

// borrower has a word behind a pointer, which belongs to the decoder in every second step of moves.
// The next step must not write there.
type borrower struct {
	word
	P     *uint32
	step  int
	pools *[6]uint32 // of each step's decoder
}

func (v *borrower) DecodeXDR(d *xdr.Decoder) error {
	if err := v.word.DecodeXDR(d); err != nil {
		return err
	}
	switch aliasing := v.step%2 == 0; {
	case aliasing, v.fault == "gives":
		v.P = &v.pools[v.step]
	case v.fault != "writes":
		v.P = new(uint32)
	}
	*v.P = v.V
	v.step++
	return nil
}

func TestMoves(t *testing.T) {
	for fault, want := range map[string]string{
		"":       "",
		"gives":  "copying, after aliasing: the decoder gives a uint32 to two values",
		"writes": "copying, after aliasing: writes into a uint32 that belongs to another decoder",
	} {
		pools, values := new([6]uint32), 0
		typ := &Type{Name: "borrower", New: func() Value {
			step := max(0, values-1) // the first value is used in all steps, each other in one
			values++
			return &borrower{word: word{fault: fault}, step: step, pools: pools}
		}}
		got := ""
		if err := moves(typ, []byte{0, 0, 0, 7}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("fault %q: found %q, want %q", fault, got, want)
		}
	}
}
