package xdr

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	err := Short([]byte{1, 2, 3}, 2, 4, "rpcrdma1.ReadChunk:Target[][].Handle", 5, 6)
	err = In(In(err, "rpcrdma1.Lists:Reads[]", 3), "rpcrdma1.Message:Body")
	want := "xdr: rpcrdma1.Message.Body.Reads[3].Target[5][6].Handle: offset 2: 1 bytes left, 4 needed (RFC 4506 §3)"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !errors.Is(err, ErrShort) || errors.Is(err, ErrBool) {
		t.Error("errors.Is does not tell the codes apart")
	}
}

func TestErrorPaths(t *testing.T) {
	for _, c := range []struct{ inner, outer, want string }{
		{"", "", ""},
		{"T:", "", "T"},
		{"T:F", "", "T.F"},
		{"T:[].F", "", "T[7].F"},
		{"T:F", "U:G", "U.G.F"},
		{"T:F", "U:", "U.F"},
		{"T:[].F", "U:G", "U.G[7].F"},
		{"T:", "U:G[]", "U.G[8]"},
	} {
		err := Fail(CodeBool, 0, 2, 1, c.inner, 7)
		if c.outer != "" {
			err = In(err, c.outer, 8)
		}
		if got := err.Path(); got != c.want {
			t.Errorf("%q in %q: path %q, want %q", c.inner, c.outer, got, c.want)
		}
	}
	if got := new(Error).Path(); got != "" {
		t.Errorf("an Error made by hand has path %q", got)
	}
}

func TestErrorPathIsBounded(t *testing.T) {
	err := Fail(CodeBool, 0, 2, 1, "T:leaf")
	for i := range 100 {
		err = In(err, "T:f[]", i)
	}
	want := "T.f[99]....f[5].f[4].f[3].f[2].f[1].f[0].leaf"
	if got := err.Path(); got != want {
		t.Errorf("path %q, want %q: the outermost step, and those next to the fault", got, want)
	}
}

// What a decoder says of a refusal is no dearer than it must be: one object, two
// where many functions know a part of the path.
func TestErrorIsSmall(t *testing.T) {
	var err error
	if n := testing.AllocsPerRun(10, func() { err = In(Fail(CodeBool, 0, 2, 1, "T:f[]", 3), "U:g") }); n != 1 {
		t.Errorf("%v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(10, func() {
		err = In(Fail(CodeBool, 0, 2, 1, "T:f[]", 3), "U:g")
		err = In(err, "V:g[]", 4)
	}); n != 2 {
		t.Errorf("%v allocations, want 2", n)
	}
	if n := reflect.TypeOf(err).Elem().Size(); n > 96 {
		t.Errorf("%d bytes, want 96 at most", n)
	}
}

// The error by which an encoder asks for room is shared: nothing may be added to
// it, and nobody see it.
func TestFullIsNoError(t *testing.T) {
	if err := In(Full(), "T:f"); err != Full() || err.Path() != "" {
		t.Errorf("the shared error has become %v", err)
	}
	e := NewEncoder(make([]byte, 0, 4))
	if err := e.More(Full(), 8); err != nil || !e.Fits(8) {
		t.Errorf("no room is made: %v", err)
	}
	if err := e.More(Full(), 8); err == nil {
		t.Error("a value that does not fit room of its size would be tried for ever")
	}
	if err := e.More(Fail(CodeBool, 0, 2, 1, ""), 1<<30); err == nil || err.Code != CodeBool {
		t.Errorf("another error has become %v", err)
	}
}

func TestEveryCodeHasTextRuleAndSentinel(t *testing.T) {
	for c := CodeShort; c <= CodeChunk; c++ {
		err := Fail(c, 4, 7, 9, "T:x")
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
	if !e.Fits(8) || e.Fits(9) {
		t.Fatal("8 bytes fit 8, 9 do not")
	}
	if err := e.Grow(9); err == nil || err.Code != CodeBuffer || err.Found != 9 || err.Want != 8 {
		t.Fatalf("9 bytes into 8: %v", err)
	}
	if e.Len() != 0 {
		t.Errorf("a refused write left %d bytes", e.Len())
	}
	e.NoGrow(false)
	if err := e.Grow(9); err != nil || !e.Fits(9) {
		t.Errorf("a buffer that may grow did not: %v", err)
	}
}

func TestPutOpaquePadsWithZeros(t *testing.T) {
	for n := range 9 {
		b := bytes.Repeat([]byte{0xa5}, 20)
		data := bytes.Repeat([]byte{0x11}, n)
		end := PutOpaque(b, 4, data)
		want := append(append([]byte(nil), data...), make([]byte, Padded(n)-n)...)
		if !bytes.Equal(b[4:end], want) || b[3] != 0xa5 || b[end] != 0xa5 {
			t.Errorf("%d bytes: got % x", n, b)
		}
	}
}

func TestZeroPad(t *testing.T) {
	for n := 1; n < 8; n++ {
		for bad := range Padded(n) - n {
			b := make([]byte, Padded(n))
			copy(b, "\xff\xff\xff\xff\xff\xff\xff"[:n])
			if !ZeroPad(b, 0, n) {
				t.Errorf("%d bytes: zero padding refused", n)
			}
			b[n+bad] = 1
			if ZeroPad(b, 0, n) {
				t.Errorf("%d bytes: padding byte %d not seen", n, bad)
			}
		}
	}
}

// The links of a list are counted as far as they are there.
func TestExtendFixed(t *testing.T) {
	const element = "\x00\x00\x00\x09"
	for _, tt := range []struct {
		name, in  string
		had, want int
	}{
		{"one", element + "\x00\x00\x00\x00", 0, 1},
		{"three", element + "\x00\x00\x00\x01" + element + "\x00\x00\x00\x01" + element + "\x00\x00\x00\x00", 0, 3},
		{"two more", element + "\x00\x00\x00\x01" + element + "\x00\x00\x00\x00", 1, 3},
		{"cut short", element + "\x00\x00\x00\x01" + element, 0, 2},
		{"cut in the word", element + "\x00\x00", 0, 1},
		{"nothing", "", 0, 1},
		{"one more, doubled", element + "\x00\x00\x00\x00", 5, 10},
		{"no link", element + "\x00\x00\x00\x02" + element + "\x00\x00\x00\x01", 0, 1},
	} {
		s := make([]int32, tt.had)
		all, err := ExtendFixed(NewDecoder([]byte(tt.in), nil), &s, 4, []byte(tt.in), 0, 8)
		if err != nil || len(all) != tt.want || len(s) != tt.want {
			t.Errorf("%s: room for %d, want %d: %v", tt.name, len(all), tt.want, err)
		}
	}
}

func TestCopiedBytesCannotBeAppendedInto(t *testing.T) {
	var d Decoder
	d.Reset([]byte("abcdefgh"))
	x := d.Bytes(d.Buf[0:4:4])
	y := d.Bytes(d.Buf[4:8:8])
	_ = append(x, "XXXX"...)
	if string(y) != "efgh" {
		t.Errorf("append to one item changed the next: %q", y)
	}
}

func TestMemoryBudget(t *testing.T) {
	d := NewDecoder(make([]byte, 16), &DecoderOptions{Limits: Limits{MaxMemory: 1000}})
	refused := func(err error) *Error {
		t.Helper()
		e, ok := err.(*Error)
		if !ok || e.Code != CodeMemory {
			t.Fatalf("%v, want an error of the memory budget", err)
		}
		return e
	}
	var s, other []int64
	if err := Resize(d, &s, 100, 8, 0); err != nil || len(s) != 100 {
		t.Fatalf("800 of 1000: %v", err)
	}
	if err := refused(Resize(d, &other, 100, 8, 12)); err.Want != 200 || err.Offset != 12 || other != nil {
		t.Fatalf("1600 of 1000: %v", err)
	}
	if err := Resize(d, &s, 50, 8, 0); err != nil || len(s) != 50 {
		t.Fatalf("memory already there must cost nothing: %v", err)
	}
	s = s[:50:50]
	// Twice as many would take 400 of the 200 left.
	s[0] = 7
	all, err := Extend(d, &s, 8, 0)
	if err != nil || len(all) != 75 || len(s) != 75 || s[0] != 7 {
		t.Fatalf("50 elements, room for %d: %v", len(all), err)
	}
	_, err = Extend(d, &s, 8, 0)
	refused(err)
}

// The last room of a budget is given at once: one element at a time would copy all
// of the list for each.
func TestListTakesTheRestOfTheBudget(t *testing.T) {
	d := NewDecoder(make([]byte, 1<<20), &DecoderOptions{Limits: Limits{MaxMemory: 1000 * 8}})
	var s []int64
	made := 0
	for {
		all, err := Extend(d, &s, 8, 0)
		if err != nil {
			if !errors.Is(err, ErrMemory) {
				t.Fatal(err)
			}
			break
		}
		made += len(all)
	}
	if len(s) != 1000 || made > 3*1000 {
		t.Errorf("a list of %d elements, want 1000, took memory for %d", len(s), made)
	}
}

func TestLimitsOff(t *testing.T) {
	d := NewDecoder(nil, &DecoderOptions{Limits: Limits{MaxMemory: -1, MaxDepth: -1, MaxElements: -1}})
	if err := d.charge(1, math.MaxInt/2, 0); err != nil {
		t.Error(err)
	}
	if d.MaxElements() != math.MaxInt {
		t.Error("MaxElements is on")
	}
	for range 1000 {
		if err := d.Enter(0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDepth(t *testing.T) {
	d := NewDecoder(nil, &DecoderOptions{Limits: Limits{MaxDepth: 2}})
	for i, want := range []bool{true, true, false} {
		if err := d.Enter(0); (err == nil) != want {
			t.Errorf("level %d: %v", i+1, err)
		}
	}
	d.Reset(nil)
	if err := d.Enter(0); err != nil {
		t.Errorf("after Reset: %v", err)
	}
}

// Slab memory is the Decoder's in aliasing mode, the value's in copying mode.
func TestNewMemory(t *testing.T) {
	alias := NewDecoder(nil, &DecoderOptions{Alias: true})
	alias.Reset(make([]byte, 64))
	p, _ := New[[100]byte](alias, 100, 0)
	q, _ := New[[100]byte](alias, 100, 0)
	if p == q {
		t.Error("one value given twice")
	}
	alias.Reset(make([]byte, 64))
	if r, _ := New[[100]byte](alias, 100, 0); r != p {
		t.Error("aliasing mode does not reuse its memory after Reset")
	}
	copying := NewDecoder(make([]byte, 64), nil)
	p, _ = New[[100]byte](copying, 100, 0)
	copying.Reset(make([]byte, 64))
	if q, _ = New[[100]byte](copying, 100, 0); p == q {
		t.Error("copying mode gave a value's memory again")
	}
}

// An arm's memory is the value's in either mode: it is used again, and charged once.
func TestArmMemory(t *testing.T) {
	for _, alias := range []bool{false, true} {
		d := NewDecoder(make([]byte, 4), &DecoderOptions{Alias: alias, Limits: Limits{MaxMemory: 150}})
		var p, q *[100]byte
		if err := Arm(d, &p, 100, 0); err != nil || p == nil {
			t.Fatalf("alias %v: 100 of 150: %v", alias, err)
		}
		kept := p
		if err := Arm(d, &p, 100, 0); err != nil || p != kept {
			t.Errorf("alias %v: memory already there is given anew: %v", alias, err)
		}
		if err := Arm(d, &q, 100, 12); !errors.Is(err, ErrMemory) || q != nil {
			t.Errorf("alias %v: 200 of 150: %v", alias, err)
		}
		d.Reset(make([]byte, 4))
		if err := Arm(d, &q, 100, 0); err != nil || q == kept {
			t.Errorf("alias %v: after Reset another value has the same memory: %v", alias, err)
		}
	}
}

func TestDone(t *testing.T) {
	d := NewDecoder(make([]byte, 8), nil)
	d.Advance(4)
	if err := d.Done(); !errors.Is(err, ErrTrailing) {
		t.Errorf("4 bytes left over: %v", err)
	}
	d.Advance(8)
	if err := d.Done(); err != nil {
		t.Error(err)
	}
	d.ReinsertAt(0, []Item{{Position: 4, Data: []byte{1}}})
	if err := d.Done(); !errors.Is(err, ErrChunk) {
		t.Errorf("an item nobody took: %v", err)
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
