package rpcrdma2draft07

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestWholeMessages proves R320 for messages as a transport decodes them: the prefix, then the body
// of its header type, then the payload as the rest.
func TestWholeMessages(t *testing.T) {
	ext := Extension()
	prefix := func(xid, credit, htype uint32) HeaderPrefix { return HeaderPrefix{Common{xid, 2, credit, htype}} }
	wants := map[string]struct {
		prefix  HeaderPrefix
		body    xdr.Value // nil: no body
		payload int
	}{
		"message-call-inline": {prefix(0x1a2b3c4d, 16, HeaderCallInline), &CallInline{}, 40},
		"message-call-middle": {prefix(0x1a2b3c4d, 16, HeaderCallMiddle), &CallMiddle{Remaining: 3}, 37},
		"message-call-last":   {prefix(0x1a2b3c4d, 16, HeaderCallInline), &CallInline{}, 3},
		"message-call-external": {
			prefix(0x1a2b3c4e, 17, HeaderCallExternal),
			&CallExternal{InvHandle: 0x51, Call: []ReadSegment{read(0, 0x51, 12345, 0x400000)}}, 0,
		},
		"message-reply-inline": {prefix(0x1a2b3c4d, 34, HeaderReplyInline), &ReplyInline{}, 24},
		"message-reply-external": {
			prefix(0x1a2b3c4e, 35, HeaderReplyExternal),
			&ReplyExternal{Reply: xdr.Some(chunk(seg(0x61, 8192, 0x500000)))}, 0,
		},
		"message-grant": {prefix(0, 64, HeaderGrant), nil, 0},
		"message-connprop-final": {
			prefix(0x1a2b3c01, 8, HeaderConnPropFinal),
			&ConnProp{PropSet{{PropIDReceiveBufferSize, []byte{0, 0, 0x10, 0}}}}, 0,
		},
		"message-error-vers": {
			prefix(0x1a2b3c4d, 1, HeaderError), &Error{Err: ErrVers, Versions: VersionRange{1, 1}}, 0,
		},
	}
	for _, v := range xdrtest.OfType(xdrtest.Load(t), "message") {
		t.Run(v.Name, func(t *testing.T) {
			want, ok := wants[v.Name]
			if !ok {
				t.Fatal("the test has no value for it")
			}
			d := xdr.NewDecoder(v.Bytes, nil)
			var p HeaderPrefix
			if err := p.DecodeXDR(d); err != nil || p != want.prefix {
				t.Fatalf("prefix %+v, %v; want %+v", p, err, want.prefix)
			}
			e := xdr.NewEncoder(nil)
			err := p.EncodeXDR(e)
			code := ext.Find(xdr.HeaderTypes, p.Start.Htype)
			switch {
			case code == nil:
				t.Fatalf("header type %d is unknown", p.Start.Htype)
			case want.body == nil:
				if code.New != nil {
					t.Fatalf("header type %d has the body %s, want none", p.Start.Htype, code.Type)
				}
			default:
				body := code.New()
				if err := body.DecodeXDR(d); err != nil {
					t.Fatal(err)
				}
				if got := cmp.Diff(want.body, body, cmpopts.EquateEmpty()); got != "" {
					t.Errorf("body (- expected, + decoded):\n%s", got)
				}
				err = errors.Join(err, body.EncodeXDR(e))
			}
			rest := d.Rest()
			if len(rest) != want.payload {
				t.Fatalf("%d bytes of payload, want %d", len(rest), want.payload)
			}
			if out := append(e.Bytes(), rest...); err != nil || !bytes.Equal(out, v.Bytes) {
				t.Errorf("encodes to % x, %v", out, err)
			}
		})
	}
}

// TestCodePoints finds in the descriptor each header type, each error code and no flag, and nothing
// beside them (R320).
func TestCodePoints(t *testing.T) {
	ext := Extension()
	known := map[xdr.CodeSpace][]uint32{
		xdr.HeaderTypes: {4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
		xdr.ErrorCodes:  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100},
		xdr.Properties:  {1, 2, 3, 4, 5, 6},
		xdr.HeaderFlags: nil,
	}
	for space, want := range known {
		var got []uint32
		for n := range uint32(256) {
			if ext.Find(space, n) != nil {
				got = append(got, n)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("space %s (- expected, + found):\n%s", space, diff)
		}
	}
}

// TestPropertyTypes: data of a property that are too short, too long or not valid are refused
// (§5.1, §7.2.2).
func TestPropertyTypes(t *testing.T) {
	ext := Extension()
	for _, c := range []struct {
		id   uint32
		data []byte
		want error
	}{
		{PropIDMaxSendSize, []byte{0, 0, 0x10, 0}, nil},
		{PropIDMaxSendSize, []byte{0, 0, 0x10}, xdr.ErrShort},
		{PropIDReceiveBufferSize, []byte{0, 0, 0x10, 0, 0}, xdr.ErrTrailing},
		{PropIDMaxSegmentSize, make([]byte, 8), xdr.ErrTrailing},
		{PropIDMaxSegmentCount, []byte{0, 0}, xdr.ErrShort},
		{PropIDReverseSupport, []byte{0, 0, 0, ReverseContinued}, nil},
		{PropIDHostAuth, []byte("\x00\x00\x00\x05hello\x00\x00\x00"), nil},
		{PropIDHostAuth, []byte("\x00\x00\x00\x05hello"), xdr.ErrShort},
		{PropIDHostAuth, []byte("\x00\x00\x00\x05hello\x00\x00\x01"), xdr.ErrPadding},
	} {
		code := ext.Find(xdr.Properties, c.id)
		if code == nil {
			t.Fatalf("no type for property %d", c.id)
		}
		d := xdr.NewDecoder(c.data, nil)
		err := code.New().DecodeXDR(d)
		if err == nil {
			err = d.Done()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("property %d, % x: %v, want %v", c.id, c.data, err, c.want)
		}
	}
}
