package rpcrdma2

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestWholeMessages decodes messages as a transport does: the prefix, then the body of its header
// type, then the payload as the rest: R138, R140, R148, R149, R150 and R213.
func TestWholeMessages(t *testing.T) {
	ext := Extension()
	prefix := func(xid, credit, htype, flags uint32) HeaderPrefix {
		return HeaderPrefix{Common{xid, 2, credit, htype}, flags}
	}
	wants := map[string]struct {
		prefix  HeaderPrefix
		body    xdr.Value
		payload int
	}{
		"message-call":  {prefix(0x1a2b3c4d, 0x00080001, HeaderMsg, 0), &Msg{}, 40},
		"message-grant": {prefix(0, 0x00400010, HeaderNomsg, 0), &Nomsg{}, 0}, // no XID
		"message-error": {
			prefix(0x1a2b3c4d, 0x00080001, HeaderError, FlagResponse),
			&Error{Err: ErrWriteResource, WriteResource: WriteShortage{1, 8192}}, 0,
		},
		"message-connprop": {
			prefix(0x1a2b3c01, 0x00080001, HeaderConnProp, 0),
			&ConnProp{PropSet{{PropIDReceiveBufferSize, []byte{0, 0, 0x10, 0}}}}, 0,
		},
	}
	for _, v := range xdrtest.OfType(xdrtest.Load(t), "message") {
		t.Run(v.Name, func(t *testing.T) {
			want := wants[v.Name]
			if want.body == nil {
				t.Fatal("the test has no value for it")
			}
			d := xdr.NewDecoder(v.Bytes, nil)
			var p HeaderPrefix
			if err := p.DecodeXDR(d); err != nil || p != want.prefix {
				t.Fatalf("prefix %+v, %v; want %+v", p, err, want.prefix)
			}
			code := ext.Find(xdr.HeaderTypes, p.Start.Htype)
			if code == nil {
				t.Fatalf("no type for header type %d", p.Start.Htype)
			}
			body := code.New()
			if err := body.DecodeXDR(d); err != nil {
				t.Fatal(err)
			}
			if got := cmp.Diff(want.body, body, cmpopts.EquateEmpty()); got != "" {
				t.Errorf("body (- expected, + decoded):\n%s", got)
			}
			rest := d.Rest()
			if len(rest) != want.payload {
				t.Fatalf("%d bytes of payload, want %d", len(rest), want.payload)
			}
			// R149: the payload begins with the XID of the RPC message.
			if want.payload != 0 && !bytes.Equal(rest[:4], v.Bytes[:4]) {
				t.Errorf("payload begins with % x", rest[:4])
			}
			e := xdr.NewEncoder(nil)
			if err := errors.Join(p.EncodeXDR(e), body.EncodeXDR(e)); err != nil {
				t.Fatal(err)
			}
			if out := append(e.Bytes(), rest...); !bytes.Equal(out, v.Bytes) {
				t.Errorf("encodes to % x", out)
			}
		})
	}
}

// TestUnknownHeaderTypes: unknown numbers have no type, so the transport detects them (T22).
func TestUnknownHeaderTypes(t *testing.T) {
	ext := Extension()
	for _, htype := range []uint32{2, 3, 6, 0xffffffff} {
		if code := ext.Find(xdr.HeaderTypes, htype); code != nil {
			t.Errorf("header type %d is %s", htype, code.Type)
		}
	}
}

// TestFlagsAndErrors finds the flags of each header type and the error codes in the
// descriptor, each error with the arm of Error that it selects (R322).
func TestFlagsAndErrors(t *testing.T) {
	ext := Extension()
	for htype, want := range map[uint32]uint32{
		HeaderMsg: FlagResponse | FlagMore, HeaderNomsg: FlagResponse, HeaderError: FlagResponse, HeaderConnProp: FlagResponse | FlagMore,
	} {
		if c := ext.Find(xdr.HeaderTypes, htype); c == nil || c.Flags != want {
			t.Errorf("header type %d: %+v, want the flags %#x", htype, c, want)
		}
	}
	for flag, name := range map[uint32]string{FlagResponse: "RPCRDMA2_F_RESPONSE", FlagMore: "RPCRDMA2_F_MORE"} {
		if c := ext.Find(xdr.HeaderFlags, flag); c == nil || c.Name != name || c.New != nil {
			t.Errorf("flag %#x: %+v, want %s", flag, c, name)
		}
	}
	if ext.Find(xdr.HeaderFlags, FlagResponse|FlagMore) != nil {
		t.Error("two flags together are no flag")
	}
	for code := uint32(ErrVers); code <= ErrSystem; code++ {
		if c := ext.Find(xdr.ErrorCodes, code); c == nil || c.New != nil {
			t.Errorf("error code %d: %+v, want one with nothing behind the body", code, c)
		}
	}
	for _, code := range []uint32{0, ErrSystem + 1} {
		if c := ext.Find(xdr.ErrorCodes, code); c != nil {
			t.Errorf("error code %d: %+v, want none", code, c)
		}
	}
}

// TestVersionOneError shows why A1 requires a check of the error's length first: read as version 2,
// the 28 bytes of a version 1 ERR_VERS have the flag RESPONSE, and the lowest version as the code.
func TestVersionOneError(t *testing.T) {
	in := []byte("\x00\x00\x00\x07\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01")
	d := xdr.NewDecoder(in, nil)
	var p HeaderPrefix
	if err := p.DecodeXDR(d); err != nil || p != (HeaderPrefix{Common{7, 2, 1, HeaderError}, FlagResponse}) {
		t.Fatalf("prefix %+v, %v", p, err)
	}
	var e Error
	if err := e.DecodeXDR(d); !errors.Is(err, xdr.ErrShort) || e.Err != ErrVers {
		t.Errorf("code %d, %v; want %d and xdr.ErrShort", e.Err, err, ErrVers)
	}
}

// TestPropertyTypes proves R197 for the types that the package ties to the
// properties: data too short, too long or not valid are refused.
func TestPropertyTypes(t *testing.T) {
	ext := Extension()
	for _, c := range []struct {
		id   uint32
		data []byte
		want error
	}{
		{PropIDMaxSendSize, []byte{0, 0, 0x10, 0}, nil},
		{PropIDMaxSendSize, []byte{0, 0, 0x10}, xdr.ErrShort},
		{PropIDMaxSendSize, []byte{0, 0, 0x10, 0, 0}, xdr.ErrTrailing},
		{PropIDReceiveBufferSize, []byte{0, 0, 0x10, 0}, nil},
		{PropIDReceiveBufferSize, []byte{1}, xdr.ErrShort},
		{PropIDMaxSegmentSize, []byte{0, 0x10, 0, 0}, nil},
		{PropIDMaxSegmentSize, make([]byte, 8), xdr.ErrTrailing},
		{PropIDMaxSegmentCount, []byte{0, 0, 0, 16}, nil},
		{PropIDMaxSegmentCount, []byte{0, 0}, xdr.ErrShort},
		{PropIDReverseSupport, []byte{0, 0, 0, 1}, nil},
		{PropIDReverseSupport, make([]byte, 12), xdr.ErrTrailing},
		{PropIDHostAuth, []byte("\x00\x00\x00\x05hello\x00\x00\x00"), nil},
		{PropIDHostAuth, []byte("\x00\x00\x00\x05hello"), xdr.ErrShort},
		{PropIDHostAuth, []byte("\x00\x00\x00\x05hello\x00\x00\x01"), xdr.ErrPadding},
		{PropIDHostAuth, []byte("\xff\xff\xff\xffhell"), xdr.ErrShort},
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
	// R222: an unknown property has no type, and is skipped.
	if code := ext.Find(xdr.Properties, 7); code != nil {
		t.Errorf("property 7 has type %s", code.Type)
	}
}
