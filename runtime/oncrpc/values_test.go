package oncrpc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The types of values.go, with their encodings by RFC 4506.
func TestValuesAreReadBack(t *testing.T) {
	ptr := func(v any) (xdr.Value, xdr.Value) {
		switch v := v.(type) {
		case Bool:
			return &v, new(Bool)
		case Int32:
			return &v, new(Int32)
		case Uint32:
			return &v, new(Uint32)
		case Int64:
			return &v, new(Int64)
		case Uint64:
			return &v, new(Uint64)
		}
		return new(Void), new(Void)
	}
	for _, tt := range []struct {
		v    any
		wire string
	}{
		{Void{}, ""},
		{Bool(false), "00000000"},
		{Bool(true), "00000001"},
		{Int32(-2), "fffffffe"},
		{Uint32(0x80000001), "80000001"},
		{Int64(-2), "fffffffffffffffe"},
		{Uint64(1 << 40), "0000010000000000"},
	} {
		t.Run(fmt.Sprintf("%T %v", tt.v, tt.v), func(t *testing.T) {
			v, got := ptr(tt.v)
			e := xdr.NewEncoder(make([]byte, 0, 1)) // too small: it has to grow
			if err := v.EncodeXDR(e); err != nil || hex.EncodeToString(e.Bytes()) != tt.wire || v.XDRSize() != len(e.Bytes()) {
				t.Fatalf("%x, %v, size %d", e.Bytes(), err, v.XDRSize())
			}
			if n := v.(interface{ XDRMaxSize() int }).XDRMaxSize(); n != len(e.Bytes()) {
				t.Errorf("XDRMaxSize is %d, want %d", n, len(e.Bytes()))
			}
			d := xdr.NewDecoder(append(e.Bytes(), 7), nil)
			if err := got.DecodeXDR(d); err != nil || d.Offset() != len(e.Bytes()) {
				t.Fatalf("%v at %d", err, d.Offset())
			}
			if diff := cmp.Diff(v, got); diff != "" {
				t.Error(diff)
			}
			for n := range e.Bytes() {
				if err := got.DecodeXDR(xdr.NewDecoder(e.Bytes()[:n], nil)); !errors.Is(err, xdr.ErrShort) {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
			e.Reset(nil)
			e.NoGrow(true)
			if err := v.EncodeXDR(e); (err != nil) != (tt.wire != "") {
				t.Errorf("without room: %v", err)
			}
		})
	}
	var b Bool
	two := []byte{0, 0, 0, 2}
	if err := b.DecodeXDR(xdr.NewDecoder(two, nil)); !errors.Is(err, xdr.ErrBool) || bool(b) {
		t.Errorf("2 as a boolean: %v, %v", b, err)
	}
	if err := b.DecodeXDR(xdr.NewDecoder(two, &xdr.DecoderOptions{Lenient: xdr.Lenient{Booleans: true}})); err != nil || !bool(b) {
		t.Errorf("2 as a boolean, leniently: %v, %v", b, err)
	}
}

func TestSitesAreThoseOfAProcedure(t *testing.T) {
	p := Program{Number: 7, Version: 2, Bindings: []xdr.Binding{
		{Program: 7, Version: 2, Procedure: 1, Site: "a"},
		{Program: 7, Version: 2, Procedure: 1, Reply: true, Site: "b"},
		{Program: 7, Version: 2, Procedure: 1, Site: "c"},
		{Program: 7, Version: 3, Procedure: 1, Site: "d"},
		{Program: 8, Version: 2, Procedure: 1, Site: "e"},
		{Program: 7, Version: 2, Procedure: 4, Site: "f"},
	}}
	if diff := cmp.Diff([]xdr.Site{"a", "c"}, p.Sites(1, false)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]xdr.Site{"b"}, p.Sites(1, true)); diff != "" {
		t.Error(diff)
	}
	if got := p.Sites(2, false); got != nil {
		t.Errorf("procedure 2 has %v", got)
	}
}

// CheckReply returns the error that Refusal has put into the reply.
func TestCheckReplyReturnsTheRefusal(t *testing.T) {
	system := ReplyError{Accept: SystemErr}
	for _, tt := range []struct {
		err  error
		want ReplyError
	}{
		{errors.New("anything"), system},
		{new(ReplyError), system}, // would mean Success
		{fmt.Errorf("so: %w", ErrProgUnavail), ReplyError{Accept: ProgUnavail}},
		{ErrProcUnavail, ReplyError{Accept: ProcUnavail}},
		{ErrGarbageArgs, ReplyError{Accept: GarbageArgs}},
		{ErrAuth, ReplyError{Reply: Denied, Reject: AuthError, Auth: AuthStatFailed}},
		{ErrSystem, system},
		{ErrProgMismatch, system}, // has no versions
		{fmt.Errorf("so: %w", Refused(AuthStatTooWeak)), ReplyError{Reply: Denied, Reject: AuthError, Auth: AuthStatTooWeak}},
		{&ReplyError{Accept: ProgMismatch, Range: VersionRange{2, 4}}, ReplyError{Accept: ProgMismatch, Range: VersionRange{2, 4}}},
		{&ReplyError{Reply: Denied, Range: VersionRange{2, 2}}, ReplyError{Reply: Denied, Range: VersionRange{2, 2}}},
	} {
		b, err := Refusal(tt.err).Header(5).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var m Header
		if err := m.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		var got *ReplyError
		if !errors.As(CheckReply(&m, 5), &got) || *got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.err, got, tt.want)
		}
	}
}
