package hand_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/bench/codec/hand"
	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
)

func encode(t *testing.T, v codec) []byte {
	t.Helper()
	b := make([]byte, v.Size())
	n, err := v.EncodeInto(b)
	if err != nil || n != len(b) {
		t.Fatalf("EncodeInto = %d, %v, want %d", n, err, len(b))
	}
	return b
}

func TestSampleSizes(t *testing.T) {
	for _, c := range []struct {
		value codec
		want  int
	}{
		{sample.A(), sample.SizeA},
		{sample.B(), sample.SizeB},
		{sample.C(4096), 4100},
		{sample.C(5), 12},
		{sample.C(0), 4},
		{sample.D(), sample.SizeD},
	} {
		if got := c.value.Size(); got != c.want {
			t.Errorf("%T: size %d, want %d", c.value, got, c.want)
		}
	}
}

// Every arm and option occurs at least once, and a value that held more is reused.
var roundTrips = []struct {
	name  string
	value codec
	empty func() codec
	used  func() codec
	check func([]byte) (int, error)
}{
	{"a", sample.A(), emptyHeader, usedHeader, hand.CheckHeader},
	{"b", sample.B(), emptyHeader, usedHeader, hand.CheckHeader},
	{"msgp", &hand.Header{Proc: hand.MsgP, Align: 4, Thresh: 5, Lists: sample.A().Lists}, emptyHeader, nil, hand.CheckHeader},
	{"reply", replyHeader(), emptyHeader, nil, hand.CheckHeader},
	{"done", &hand.Header{Proc: hand.Done}, emptyHeader, nil, hand.CheckHeader},
	{"vers", &hand.Header{Proc: hand.ErrorProc, Code: hand.ErrVers, VersLow: 1, VersHigh: 2}, emptyHeader, nil, hand.CheckHeader},
	{"chunk", &hand.Header{Proc: hand.ErrorProc, Code: hand.ErrChunk}, emptyHeader, nil, hand.CheckHeader},
	{"c0", sample.C(0), func() codec { return new(hand.Opaque) }, nil, hand.CheckOpaque},
	{"c5", sample.C(5), func() codec { return new(hand.Opaque) }, nil, hand.CheckOpaque},
	{"d", sample.D(), emptyDirplus, func() codec { return sample.D() }, hand.CheckDirplus},
	{"d sparse", sparse(), emptyDirplus, nil, hand.CheckDirplus},
	{"d error", &hand.Dirplus{Status: hand.Stale}, emptyDirplus, nil, hand.CheckDirplus},
}

func emptyHeader() codec  { return new(hand.Header) }
func usedHeader() codec   { return sample.B() }
func emptyDirplus() codec { return new(hand.Dirplus) }

func replyHeader() *hand.Header {
	h := sample.A()
	h.Proc = hand.NoMsg
	h.Lists.HasReply = true
	h.Lists.Reply = sample.B().Lists.Writes[0]
	return h
}

func sparse() *hand.Dirplus {
	d := sample.D()
	d.Entries = d.Entries[:3]
	d.Entries[0].Name = nil
	d.Entries[1].Attr.Present = false
	d.Entries[2].HasHandle, d.Entries[2].Handle = false, nil
	d.EOF = false
	return d
}

func TestRoundTrip(t *testing.T) {
	for _, c := range roundTrips {
		t.Run(c.name, func(t *testing.T) {
			wire := encode(t, c.value)
			got := c.empty()
			if n, err := got.Decode(wire); n != len(wire) || err != nil {
				t.Fatalf("Decode = %d, %v, want %d", n, err, len(wire))
			}
			if n, err := c.check(wire); n != len(wire) || err != nil {
				t.Fatalf("check = %d, %v, want %d", n, err, len(wire))
			}
			if again := encode(t, got); !bytes.Equal(again, wire) {
				t.Error("decoded value makes other bytes")
			}
			if c.used != nil {
				v := c.used()
				if _, err := v.Decode(wire); err != nil {
					t.Fatal(err)
				}
				if again := encode(t, v); !bytes.Equal(again, wire) {
					t.Error("value decoded over another makes other bytes")
				}
			}
			b, err := c.value.Append([]byte("front"))
			if err != nil || string(b[:5]) != "front" || !bytes.Equal(b[5:], wire) {
				t.Errorf("Append: %v, or other bytes", err)
			}
		})
	}
}

func TestShort(t *testing.T) {
	for _, c := range roundTrips {
		t.Run(c.name, func(t *testing.T) {
			wire := encode(t, c.value)
			v := c.empty()
			for n := range wire {
				part := wire[:n:n]
				_, err := v.Decode(part)
				wantFault(t, err, hand.Short, -1)
				_, err = c.check(part)
				wantFault(t, err, hand.Short, -1)
				_, err = c.value.EncodeInto(make([]byte, n))
				wantFault(t, err, hand.Short, -1)
			}
		})
	}
}

// wantFault checks the fault, and the offset unless it is negative.
func wantFault(t *testing.T, err error, f hand.Fault, off int) {
	t.Helper()
	var e *hand.Error
	if !errors.As(err, &e) || e.Fault != f || off >= 0 && e.Offset != off {
		t.Fatalf("error %#v, want fault %d at %d", err, f, off)
	}
}

func TestRefused(t *testing.T) {
	// Offsets in d: status 0, flag 4, attributes 8, verifier 92, flag 100,
	// then the first entry: id 104, count 112, name of 8, cookie 124, flag
	// 132, attributes 136, flag 220, count 224, handle.
	d5 := sample.D()
	d5.Entries[0].Name = []byte("abcde")
	cases := []struct {
		name   string
		value  codec
		off    int
		word   uint32
		fault  hand.Fault
		wantAt int
	}{
		{"proc", sample.A(), 12, 5, hand.BadEnum, 12},
		{"read flag", sample.A(), 16, 2, hand.BadBool, 16},
		{"read end", sample.A(), 40, 2, hand.BadBool, 40},
		{"write flag", sample.A(), 44, 2, hand.BadBool, 44},
		{"write count", sample.A(), 48, 3, hand.Short, -1},
		{"write count huge", sample.A(), 48, 1<<32 - 1, hand.Short, -1},
		{"write end", sample.A(), 84, 3, hand.BadBool, 84},
		{"reply flag", sample.A(), 88, 3, hand.BadBool, 88},
		{"error code", &hand.Header{Proc: hand.ErrorProc, Code: hand.ErrChunk}, 16, 3, hand.BadEnum, 16},
		{"opaque count", sample.C(8), 0, 1<<32 - 1, hand.Short, 0},
		{"opaque pad", sample.C(5), 8, 1, hand.BadPad, 0},
		{"status", sample.D(), 0, 1, hand.BadEnum, 0},
		{"directory flag", sample.D(), 4, 2, hand.BadBool, 4},
		{"directory type", sample.D(), 8, 0, hand.BadEnum, 8},
		{"entry flag", sample.D(), 100, 2, hand.BadBool, 100},
		{"name over 255", sample.D(), 112, 256, hand.TooLong, 112},
		{"name pad", d5, 120, 'e'<<24 | 1, hand.BadPad, 112},
		{"attr flag", sample.D(), 132, 9, hand.BadBool, 132},
		{"attr type", sample.D(), 136, 8, hand.BadEnum, 136},
		{"handle flag", sample.D(), 220, 7, hand.BadBool, 220},
		{"handle over 64", sample.D(), 224, 65, hand.TooLong, 224},
		{"end of list", sample.D(), sample.SizeD - 8, 2, hand.BadBool, sample.SizeD - 8},
		{"eof", sample.D(), sample.SizeD - 4, 2, hand.BadBool, sample.SizeD - 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wire := encode(t, c.value)
			binary.BigEndian.PutUint32(wire[c.off:], c.word)
			v := reflect.New(reflect.TypeOf(c.value).Elem()).Interface().(codec)
			_, err := v.Decode(wire)
			wantFault(t, err, c.fault, c.wantAt)
			var check func([]byte) (int, error)
			switch c.value.(type) {
			case *hand.Header:
				check = hand.CheckHeader
			case *hand.Opaque:
				check = hand.CheckOpaque
			case *hand.Dirplus:
				check = hand.CheckDirplus
			}
			_, err = check(wire)
			wantFault(t, err, c.fault, c.wantAt)
		})
	}
}

func TestEncodeRefused(t *testing.T) {
	long, handle, kind := sample.D(), sample.D(), sample.D()
	long.Entries[0].Name = make([]byte, 256)
	handle.Entries[0].Handle = make([]byte, 65)
	kind.Entries[0].Attr.Attr.Type = 8
	for _, c := range []struct {
		name  string
		value codec
		fault hand.Fault
	}{
		{"name", long, hand.TooLong},
		{"handle", handle, hand.TooLong},
		{"type", kind, hand.BadEnum},
		{"status", &hand.Dirplus{Status: 1}, hand.BadEnum},
		{"proc", &hand.Header{Proc: 5}, hand.BadEnum},
		{"code", &hand.Header{Proc: hand.ErrorProc, Code: 3}, hand.BadEnum},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.value.EncodeInto(make([]byte, 30000))
			wantFault(t, err, c.fault, -1)
		})
	}
}

func TestNoAllocation(t *testing.T) {
	for _, m := range messages {
		wire := encode(t, m.value)
		v := m.empty()
		if n := testing.AllocsPerRun(20, func() {
			if _, err := v.Decode(wire); err != nil {
				t.Error(err)
			}
			if _, err := m.value.EncodeInto(wire); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", m.name, n)
		}
	}
}
