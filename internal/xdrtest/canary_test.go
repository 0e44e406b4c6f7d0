package xdrtest

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// The faults that a codec can have. Each check must detect its fault.
type (
	none     struct{}
	swapped  struct{} // decodes another value
	stale    struct{} // an empty item leaves the one decoded before
	scribble struct{} // decodes into the memory of the value
	keeper   struct{} // aliases in copying mode
	lax      struct{} // takes any word for a boolean
	blind    struct{} // checks nothing
	greedy   struct{} // allocates before it checks the input
	reader   struct{} // reads past the received length
	longer   struct{} // returns a wrong size
	deaf     struct{} // UnmarshalBinary ignores trailing bytes
	wasteful struct{} // allocates each time
	crasher  struct{} // encodes less than it decodes
)

// item is a codec in the form of generated ones, with fault F.
type item[F any] struct {
	Flag bool
	Data []byte
}

func has[F, Fault any]() bool {
	_, yes := any(*new(F)).(Fault)
	return yes
}

func (v *item[F]) XDRSize() int {
	n := 8 + xdr.Padded(len(v.Data))
	if has[F, longer]() {
		n += 4
	}
	return n
}

func (v *item[F]) EncodeXDR(e *xdr.Encoder) error {
	if err := e.Grow(v.XDRSize()); err != nil {
		return err
	}
	b, err := e.Next(8 + xdr.Padded(len(v.Data)))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b, codec.Word(v.Flag))
	binary.BigEndian.PutUint32(b[4:], uint32(len(v.Data)))
	codec.PutOpaque(b, 8, v.Data)
	return nil
}

func (v *item[F]) AppendBinary(b []byte) ([]byte, error) {
	var e xdr.Encoder
	e.Reset(b)
	err := v.EncodeXDR(&e)
	return e.Bytes(), err
}

func (v *item[F]) MarshalBinary() ([]byte, error) {
	if has[F, crasher]() {
		return nil, nil
	}
	return v.AppendBinary(nil)
}

func (v *item[F]) UnmarshalBinary(b []byte) error {
	d := xdr.NewDecoder(b, nil)
	if err := v.DecodeXDR(d); err != nil || has[F, deaf]() {
		return err
	}
	return d.Done()
}

// scan checks the bytes of an item at off by the rules that apply.
func (v *item[F]) scan(b []byte, off int, bools, pads bool) (flag, n uint32, err *xdr.Error) {
	if len(b)-off < 8 {
		return 0, 0, codec.Short(b, off, 8, "item:Flag")
	}
	flag, n = binary.BigEndian.Uint32(b[off:]), binary.BigEndian.Uint32(b[off+4:])
	if flag > 1 && bools && !has[F, lax]() {
		return 0, 0, codec.Fail(xdr.CodeBool, off, uint64(flag), 1, "item:Flag")
	}
	off += 8
	if (uint64(n)+3)&^3 > uint64(len(b)-off) {
		return 0, 0, codec.Short(b, off, xdr.Padded(int(n)), "item:Data")
	}
	if !codec.ZeroPad(b, off, int(n)) && pads {
		return 0, 0, codec.Fail(xdr.CodePadding, off+int(n), 1, 0, "item:Data")
	}
	return flag, n, nil
}

func (v *item[F]) CheckXDR(b []byte) (int, error) {
	off, err := v.SkipXDR(new(xdr.Checker), b, 0)
	if err != nil {
		return 0, err
	}
	return off, nil
}

func (v *item[F]) SkipXDR(c *xdr.Checker, b []byte, off int) (int, *xdr.Error) {
	_, n, err := v.scan(b, off, codec.Refuses(c, xdr.CodeBool), codec.Refuses(c, xdr.CodePadding))
	if err != nil && !has[F, blind]() {
		return off, err
	}
	return off + 8 + xdr.Padded(int(n)), nil
}

func (v *item[F]) DecodeXDR(d *xdr.Decoder) error {
	b, off := d.Buf, d.Off
	if has[F, reader]() {
		b = b[:cap(b)]
	}
	if has[F, greedy]() && len(b) >= 8 {
		v.Data = make([]byte, min(binary.BigEndian.Uint32(b[4:]), 1<<20))
	}
	flag, n, err := v.scan(b, off, codec.Refuses(&d.Rules, xdr.CodeBool), codec.Refuses(&d.Rules, xdr.CodePadding))
	if err != nil {
		return err
	}
	v.Flag = flag != 0 != has[F, swapped]()
	off += 8
	switch {
	case has[F, stale]() && n == 0:
	case has[F, scribble]() && int(n) <= cap(v.Data):
		v.Data = append(v.Data[:0], b[off:off+int(n)]...)
	case has[F, wasteful]():
		v.Data = bytes.Clone(b[off : off+int(n)])
	case has[F, keeper]():
		v.Data = b[off : off+int(n)]
	default:
		v.Data = codec.Bytes(d, b[off:off+int(n):off+int(n)])
	}
	d.Off = off + xdr.Padded(int(n))
	return nil
}

// samples returns a full and an empty item.
func samples[F any]() (full, empty sample[item[F]]) {
	full = sample[item[F]]{"full", []byte("\x00\x00\x00\x01\x00\x00\x00\x05hello\x00\x00\x00"), item[F]{true, []byte("hello")}}
	empty = sample[item[F]]{"empty", make([]byte, 8), item[F]{}}
	return full, empty
}

// all runs every check on items with fault F and returns their errors.
func all[F any]() map[string]error {
	full, empty := samples[F]()
	found := map[string]error{}
	for _, c := range checks[item[F]]() {
		found[c.name] = c.run(full)
	}
	found["reused"] = reused(full, empty)
	if found["reused"] == nil {
		found["reused"] = reused(full, full)
	}
	return found
}

// TestCanaries proves that each check detects its fault, and that a codec without a fault passes
// all of them.
func TestCanaries(t *testing.T) {
	for name, err := range all[none]() {
		if err != nil {
			t.Errorf("no fault, but %s reports %v", name, err)
		}
	}
	for _, c := range []struct {
		check string
		found map[string]error
		text  string
	}{
		{"decode", all[swapped](), "value differs"},
		{"encode", all[longer](), "XDRSize is 20, want 16"},
		{"encode", all[crasher](), "MarshalBinary"},
		{"truncated", all[reader](), "first 0 of 16 bytes"},
		{"truncated", all[blind](), "CheckXDR returns <nil>"},
		{"trailing", all[deaf](), "want xdr.ErrTrailing"},
		{"memory of the input", all[keeper](), "kept bytes"},
		{"words replaced", all[lax](), "not canonical"},
		{"words replaced", all[greedy](), "are justified"},
		{"reused", all[stale](), "left data of the value before"},
		{"reused", all[scribble](), "wrote into its input"},
	} {
		if err := c.found[c.check]; err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s reports %v, want %q", c.check, err, c.text)
		}
	}
	if err := all[wasteful]()["allocations"]; !Race && (err == nil || !strings.Contains(err.Error(), "want none")) {
		t.Errorf("allocations says %v", err)
	}
}

// TestRetained proves that spare capacity counts.
func TestRetained(t *testing.T) {
	type list struct{ Lists [][]uint64 }
	v := list{Lists: make([][]uint64, 1, 2)}
	v.Lists[:2][1] = make([]uint64, 0, 10)
	want := 2*uint64(reflect.TypeFor[[]uint64]().Size()) + 80
	if got := retainedOf(&v); got != want {
		t.Errorf("retained %d bytes, want %d", got, want)
	}
}

// TestKeptArm checks what diff ignores: the memory of an arm that an earlier input selected, if it
// is empty and the expected value has none.
func TestKeptArm(t *testing.T) {
	type arm struct {
		N    int
		Data []byte
		Sub  *arm
	}
	type union struct{ Arm *arm }
	for _, tt := range []struct {
		want, got union
		differ    bool
	}{
		{union{}, union{}, false},
		{union{}, union{&arm{}}, false},
		{union{}, union{&arm{Data: make([]byte, 0, 9), Sub: &arm{}}}, false},
		{union{&arm{}}, union{}, true},
		{union{}, union{&arm{N: 1}}, true},
		{union{}, union{&arm{Data: []byte{0}}}, true},
		{union{}, union{&arm{Sub: &arm{N: 1}}}, true},
		{union{&arm{N: 1}}, union{&arm{N: 1, Sub: &arm{}}}, false},
		{union{&arm{N: 1}}, union{&arm{N: 2}}, true},
	} {
		if got := diff(&tt.want, &tt.got); (got != "") != tt.differ {
			t.Errorf("%+v, %+v: %q", tt.want.Arm, tt.got.Arm, got)
		}
	}
}
