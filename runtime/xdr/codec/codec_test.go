package codec

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func TestErrorText(t *testing.T) {
	err := Short([]byte{1, 2, 3}, 2, 4, "rpcrdma1.ReadChunk:Target[][].Handle", 5, 6)
	err = In(In(err, "rpcrdma1.Lists:Reads[]", 3), "rpcrdma1.Message:Body")
	want := "xdr: rpcrdma1.Message.Body.Reads[3].Target[5][6].Handle: offset 2: 1 bytes left, 4 needed (RFC 4506 §3)"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !errors.Is(err, xdr.ErrShort) || errors.Is(err, xdr.ErrBool) {
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
		err := Fail(xdr.CodeBool, 0, 2, 1, c.inner, 7)
		if c.outer != "" {
			err = In(err, c.outer, 8)
		}
		if got := err.Path(); got != c.want {
			t.Errorf("%q in %q: path %q, want %q", c.inner, c.outer, got, c.want)
		}
	}
	if got := new(xdr.Error).Path(); got != "" {
		t.Errorf("an Error made by hand has path %q", got)
	}
}

func TestErrorPathIsBounded(t *testing.T) {
	err := Fail(xdr.CodeBool, 0, 2, 1, "T:leaf")
	for i := range 100 {
		err = In(err, "T:f[]", i)
	}
	want := "T.f[99]....f[5].f[4].f[3].f[2].f[1].f[0].leaf"
	if got := err.Path(); got != want {
		t.Errorf("path %q, want %q: the outermost step, and those next to the fault", got, want)
	}
}

// An Error is one object, or two if the path has many steps.
func TestErrorIsSmall(t *testing.T) {
	var err error
	if n := testing.AllocsPerRun(10, func() { err = In(Fail(xdr.CodeBool, 0, 2, 1, "T:f[]", 3), "U:g") }); n != 1 {
		t.Errorf("%v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(10, func() {
		err = In(Fail(xdr.CodeBool, 0, 2, 1, "T:f[]", 3), "U:g")
		err = In(err, "V:g[]", 4)
	}); n != 2 {
		t.Errorf("%v allocations, want 2", n)
	}
	if n := reflect.TypeOf(err).Elem().Size(); n > 96 {
		t.Errorf("%d bytes, want 96 at most", n)
	}
}

// The error by which an encoder asks for room is shared: nothing may be added to it, and
// callers never see it.
func TestFullIsNoError(t *testing.T) {
	if err := In(Full(), "T:f"); err != Full() || err.Path() != "" {
		t.Errorf("the shared error has become %v", err)
	}
}

// fake is a value of 8 bytes, whose encoder fails in the way that a test wants.
type fake struct {
	Type
	claims int        // the result of XDRSize
	fault  *xdr.Error // of an encoder that finds room
	calls  int
}

func (f *fake) XDRSize() int                    { return f.claims }
func (f *fake) EncodeXDR(e *xdr.Encoder) error  { return Encode(e, f) }
func (f *fake) compactXDR(e *xdr.Encoder) error { return (*compactFake)(f).EncodeXDR(e) }
func (f *fake) PutXDR(e *xdr.Encoder, b []byte, off int) (int, error) {
	switch f.calls++; {
	case f.calls > 9:
		panic("it is encoded without a limit")
	case Lacks(b, off, 8):
		return Retry(e, f, Room(e, full, f.XDRSize()))
	case f.fault != nil:
		return Retry(e, f, Room(e, f.fault, f.XDRSize()))
	}
	return off + 8, nil
}

// compactFake is fake with the methods of a compact type.
type compactFake fake

func (f *compactFake) XDRSize() int                                  { return f.claims }
func (f *compactFake) DecodeXDR(*xdr.Decoder) error                  { return nil }
func (f *compactFake) GetXDR(*xdr.Decoder, []byte, int) (int, error) { return 0, nil }
func (f *compactFake) PutXDR(_ *xdr.Encoder, b []byte, off int) (int, error) {
	return (*fake)(f).PutXDR(nil, b, off)
}
func (f *compactFake) EncodeXDR(e *xdr.Encoder) error {
	off, err := f.PutXDR(e, e.Buf, e.Off)
	return Again(e, f, Ended(e, off, err, Need(f, err)))
}

// TestFullBufferIsReplacedOnce encodes values into buffers of 5 and 16 bytes, with 3 bytes of
// output.
func TestFullBufferIsReplacedOnce(t *testing.T) {
	enum := Fail(xdr.CodeEnum, 0, 2, 1, "")
	for _, c := range []struct {
		name   string
		room   int
		noGrow bool
		value  fake
		want   error
		calls  int
	}{
		{"there is room", 13, false, fake{claims: 8}, nil, 1},
		{"there is room, the value is wrong", 13, false, fake{claims: 8, fault: enum}, xdr.ErrEnum, 1},
		{"no room", 2, false, fake{claims: 8}, nil, 2},
		{"no room, the value is wrong", 2, false, fake{claims: 8, fault: enum}, xdr.ErrEnum, 2},
		{"no room, the Encoder may not grow", 2, true, fake{claims: 8}, xdr.ErrBuffer, 1},
		{"no room, but XDRSize says that there is", 2, false, fake{claims: 2}, xdr.ErrBuffer, 1},
	} {
		for kind, encode := range map[string]func(*fake, *xdr.Encoder) error{"": (*fake).EncodeXDR, ", compact": (*fake).compactXDR} {
			v := c.value
			e := xdr.NewEncoder(append(make([]byte, 0, 3+c.room), 1, 2, 3))
			e.NoGrow(c.noGrow)
			err := encode(&v, e)
			off := 3
			if c.want == nil {
				off += 8
			}
			if !errors.Is(err, c.want) || v.calls != c.calls || len(e.Bytes()) != off || e.Buf[2] != 3 {
				t.Errorf("%s%s: error %v after %d calls, output % x; want %v after %d calls, %d bytes",
					c.name, kind, err, v.calls, e.Bytes(), c.want, c.calls, off)
			}
		}
	}
	v := fake{claims: 8}
	if off, err := v.PutXDR(nil, nil, 0); err != error(full) || off != 0 || v.calls != 1 {
		t.Errorf("a part of a value is encoded again: %d, %v after %d calls", off, err, v.calls)
	}
}

func TestPutOpaquePadsWithZeros(t *testing.T) {
	for n := range 9 {
		b := bytes.Repeat([]byte{0xa5}, 20)
		data := bytes.Repeat([]byte{0x11}, n)
		end := PutOpaque(b, 4, data)
		want := append(append([]byte(nil), data...), make([]byte, xdr.Padded(n)-n)...)
		if !bytes.Equal(b[4:end], want) || b[3] != 0xa5 || b[end] != 0xa5 {
			t.Errorf("%d bytes: got % x", n, b)
		}
	}
}

// The elements of a list are counted up to the end of the list or of the input.
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
		all, err := ExtendFixed(xdr.NewDecoder([]byte(tt.in), nil), &s, 4, []byte(tt.in), 0, 8)
		if err != nil || len(all) != tt.want || len(s) != tt.want {
			t.Errorf("%s: room for %d, want %d: %v", tt.name, len(all), tt.want, err)
		}
	}
}

func TestCopiedBytesCannotBeAppendedInto(t *testing.T) {
	var d xdr.Decoder
	d.Reset([]byte("abcdefgh"))
	x := Bytes(&d, d.Buf[0:4:4])
	y := Bytes(&d, d.Buf[4:8:8])
	_ = append(x, "XXXX"...)
	if string(y) != "efgh" {
		t.Errorf("append to one item changed the next: %q", y)
	}
}

func TestMemoryBudget(t *testing.T) {
	d := xdr.NewDecoder(make([]byte, 16), &xdr.DecoderOptions{Limits: xdr.Limits{MaxMemory: 1000}})
	refused := func(err error) *xdr.Error {
		t.Helper()
		e, ok := err.(*xdr.Error)
		if !ok || e.Code != xdr.CodeMemory {
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

// A list gets the rest of the budget at once. If it got one element at a time, the whole list
// would be copied for each.
func TestListTakesTheRestOfTheBudget(t *testing.T) {
	d := xdr.NewDecoder(make([]byte, 1<<20), &xdr.DecoderOptions{Limits: xdr.Limits{MaxMemory: 1000 * 8}})
	var s []int64
	made := 0
	for {
		all, err := Extend(d, &s, 8, 0)
		if err != nil {
			if !errors.Is(err, xdr.ErrMemory) {
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
	d := xdr.NewDecoder(nil, &xdr.DecoderOptions{Limits: xdr.Limits{MaxMemory: -1, MaxDepth: -1, MaxElements: -1}})
	if err := charge(d, 1, math.MaxInt/2, 0); err != nil {
		t.Error(err)
	}
	if MaxElements(&d.Rules) != math.MaxInt {
		t.Error("MaxElements is on")
	}
	for range 1000 {
		if err := Enter(&d.Rules, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDepth(t *testing.T) {
	d := xdr.NewDecoder(nil, &xdr.DecoderOptions{Limits: xdr.Limits{MaxDepth: 2}})
	for i, want := range []bool{true, true, false} {
		if err := Enter(&d.Rules, 0); (err == nil) != want {
			t.Errorf("level %d: %v", i+1, err)
		}
	}
	d.Reset(nil)
	if err := Enter(&d.Rules, 0); err != nil {
		t.Errorf("after Reset: %v", err)
	}
}

// New returns memory of the Decoder in aliasing mode, and memory of the value in copying mode.
func TestNewMemory(t *testing.T) {
	alias := xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true})
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
	copying := xdr.NewDecoder(make([]byte, 64), nil)
	p, _ = New[[100]byte](copying, 100, 0)
	copying.Reset(make([]byte, 64))
	if q, _ = New[[100]byte](copying, 100, 0); p == q {
		t.Error("copying mode gave a value's memory again")
	}
}

// The memory of an arm belongs to the value in both modes. It is reused, and charged once.
func TestArmMemory(t *testing.T) {
	for _, alias := range []bool{false, true} {
		d := xdr.NewDecoder(make([]byte, 4), &xdr.DecoderOptions{Alias: alias, Limits: xdr.Limits{MaxMemory: 150}})
		var p, q *[100]byte
		if err := Arm(d, &p, 100, 0); err != nil || p == nil {
			t.Fatalf("alias %v: 100 of 150: %v", alias, err)
		}
		kept := p
		if err := Arm(d, &p, 100, 0); err != nil || p != kept {
			t.Errorf("alias %v: memory already there is given again: %v", alias, err)
		}
		if err := Arm(d, &q, 100, 12); !errors.Is(err, xdr.ErrMemory) || q != nil {
			t.Errorf("alias %v: 200 of 150: %v", alias, err)
		}
		d.Reset(make([]byte, 4))
		if err := Arm(d, &q, 100, 0); err != nil || q == kept {
			t.Errorf("alias %v: after Reset another value has the same memory: %v", alias, err)
		}
	}
}
