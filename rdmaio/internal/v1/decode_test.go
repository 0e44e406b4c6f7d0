package v1_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// R28, R29, R118, R325: Decode returns the fault of an invalid message, and its XID if there is
// one.
func TestDecodeReturnsTheFault(t *testing.T) {
	const prefix = "cafe0001 00000001 00000020 "
	for _, c := range []struct {
		name string
		hex  string
		code header.Code
		xdr  error // within FaultXDR
	}{
		{"T18: nothing", "", header.FaultShort, nil},
		{"T18: 15 bytes", "cafe0001 00000001 00000020 000000", header.FaultShort, nil},
		{"T19: MSG of 16 bytes", prefix + "00000000", header.FaultShort, nil},
		{"T19: MSG of 27 bytes", prefix + "00000000 00000000 00000000 000000", header.FaultShort, nil},
		{"T21: procedure 5", prefix + "00000005 00000000 00000000 00000000", header.FaultProcedure, nil},
		{"T21: procedure 0xffffffff", prefix + "ffffffff 00000000 00000000 00000000", header.FaultProcedure, nil},
		{"T19: MSGP of 32 bytes", prefix + "00000002 00000004 00000010 00000000 00000000", header.FaultXDR, xdr.ErrShort},
		{"T23: version 0", "cafe0001 00000000 00000020 00000000 00000000 00000000 00000000", header.FaultVersion, nil},
		{"T23: version 2, though a message of 16 bytes", "cafe0001 00000002 00000020 00000000", header.FaultVersion, nil},
		{"T24: read list word 2", prefix + "00000000 00000002 00000000 00000000", header.FaultXDR, xdr.ErrBool},
		{"T24: write list word 2", prefix + "00000000 00000000 00000002 00000000", header.FaultXDR, xdr.ErrBool},
		{"T24: reply chunk word 2", prefix + "00000000 00000000 00000000 00000002", header.FaultXDR, xdr.ErrBool},
		{"T25: unterminated read list", prefix + "00000000 00000001 00000078 00000001 00000001 00000000 00000000 00000001", header.FaultXDR, xdr.ErrShort},
		{"T26: 0xffffffff segments", prefix + "00000000 00000000 00000001 ffffffff 00000000", header.FaultXDR, xdr.ErrCount},
		{"T26: a count that wraps when times 16", prefix + "00000000 00000000 00000001 10000001 00000011 00000100 00000000 00000000 00000000 00000000", header.FaultXDR, xdr.ErrCount},
		{"T26: one segment more than there is", prefix + "00000000 00000000 00000001 00000002 00000011 00000100 00000000 00000000 00000000 00000000", header.FaultXDR, xdr.ErrCount},
		{"T32: NOMSG with bytes after the lists", prefix + "00000001 00000000 00000000 00000000 cafe0001", header.FaultTrailing, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var codec v1.Version
			var m header.Message
			f := codec.Decode(unhex(t, c.hex), &m)
			if f == nil || f.Code != c.code {
				t.Fatalf("fault %v, want code %d", f, c.code)
			}
			if c.xdr != nil && !errors.Is(f, c.xdr) {
				t.Errorf("fault %v, want %v", f, c.xdr)
			}
			if c.code != header.FaultShort && m.XID != 0xcafe0001 {
				t.Errorf("XID %#x: the answer needs it", m.XID)
			}
			if m.Payload != nil {
				t.Error("there is a payload")
			}
		})
	}
}

// R30, R31: no prefix of a valid message is valid, unless it ends where the lists do. None panics.
func TestTruncatedMessageIsRefused(t *testing.T) {
	for _, v := range vectors() {
		b := unhex(t, v.hex)
		whole := len(b) - len(v.msg.Payload)
		var c v1.Version
		var m header.Message
		for n := range whole {
			f := c.Decode(b[:n:n], &m)
			if f == nil && m.Kind != header.KindError { // T72
				t.Errorf("%s: %d of %d bytes are taken for a message", v.name, n, whole)
			}
		}
	}
}

// Every word of every vector is set to edge values. Decode may accept or refuse the result; a
// message that it accepts encodes to the same bytes.
func TestSubstitutedWordsPanicNowhere(t *testing.T) {
	tried, taken := 0, 0
	for _, v := range vectors() {
		good := unhex(t, v.hex)
		for at := 0; at+4 <= len(good)-len(v.msg.Payload); at += 4 {
			for _, w := range []uint32{0, 1, 2, 3, 4, 0x7fffffff, 0x80000000, 0xffffffff} {
				b := append([]byte(nil), good...)
				binary.BigEndian.PutUint32(b[at:], w)
				tried++
				if roundTrip(t, b) {
					taken++
				}
			}
		}
	}
	if taken == 0 || taken == tried {
		t.Errorf("%d of %d were accepted: the test proves nothing", taken, tried)
	}
}

// roundTrip decodes b, encodes the result and compares. It returns false if Decode refused b.
func roundTrip(t *testing.T, b []byte) bool {
	t.Helper()
	var c v1.Version
	var m header.Message
	if f := c.Decode(b, &m); f != nil {
		_ = f.Error()
		return false
	}
	if m.Kind == header.KindError && m.Err.Code == 0 {
		return true
	}
	out, err := c.Append(make([]byte, 0, len(b)), &m)
	if err != nil {
		t.Fatalf("%x: accepted, but cannot be encoded: %v", b, err)
	}
	if m.Kind == header.KindDone || m.Kind == header.KindError {
		b = b[:min(len(out), len(b))] // bytes after an ERROR or DONE are ignored
	}
	if diff := cmp.Diff(b, append(out, m.Payload...)); diff != "" {
		t.Errorf("%x: encodes to other bytes: %s", b, diff)
	}
	return true
}

// R33: a header that does not fit is an error, and no byte of it is written.
func TestDoesNotFit(t *testing.T) {
	for _, v := range vectors() {
		if v.oneWay {
			continue
		}
		var c v1.Version
		for room := range v1.Size(&v.msg) {
			buf := make([]byte, room)
			out, err := c.Append(buf[:0:room], &v.msg)
			if !errors.Is(err, xdr.ErrBuffer) || len(out) != 0 {
				t.Fatalf("%s: into %d bytes: %d written, %v", v.name, room, len(out), err)
			}
		}
	}
}

// R324: decoding and encoding again allocate nothing.
func TestCodecAllocatesNothing(t *testing.T) {
	for _, v := range vectors() {
		if v.oneWay {
			continue
		}
		var c v1.Version
		var m header.Message
		b := unhex(t, v.hex)
		buf := make([]byte, 0, 1024)
		if n := testing.AllocsPerRun(20, func() {
			if f := c.Decode(b, &m); f != nil {
				t.Fatal(f)
			}
			if _, err := c.Append(buf, &m); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", v.name, n)
		}
	}
}

// An accepted message encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	for _, v := range vectors() {
		f.Add(unhex(f, v.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) { roundTrip(t, b) })
}

// R115, R119, A2: ERR_VERS has the same place in all versions, so it is decoded from a header of
// any version. Nothing else is.
func TestOtherVersionsErrors(t *testing.T) {
	for _, c := range []struct {
		name, hex string
		want      header.Message // without a fault
		fault     bool
	}{
		{
			"ERR_VERS", "cafe0001 00000002 00000020 00000004 00000001 00000002 00000003",
			header.Message{Vers: 2, Kind: header.KindError, Err: header.Error{Code: header.ErrVers, Low: 2, High: 3}},
			false,
		},
		{
			"version 0", "cafe0001 00000000 00000020 00000004 00000001 00000007 00000005",
			header.Message{Vers: 0, Kind: header.KindError, Err: header.Error{Code: header.ErrVers, Low: 7, High: 5}},
			false,
		},
		{"cut", "cafe0001 00000002 00000020 00000004 00000001 00000002", header.Message{Vers: 2, Kind: header.KindError}, false},
		{"another error", "cafe0001 00000002 00000020 00000004 00000002", header.Message{Vers: 2, Kind: header.KindError}, false},
		{"no error", "cafe0001 00000002 00000020 00000000 00000001 00000002 00000003", header.Message{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var codec v1.Version
			var m header.Message
			f := codec.Decode(unhex(t, c.hex), &m)
			if c.fault {
				if f == nil || f.Code != header.FaultVersion {
					t.Errorf("fault %v, want FaultVersion", f)
				}
				return
			}
			c.want.XID, c.want.Credit = 0xcafe0001, 0x20
			if f != nil || m.Vers != c.want.Vers || m.XID != c.want.XID || m.Kind != c.want.Kind || m.Err != c.want.Err {
				t.Errorf("got %+v, fault %v, want %+v", m, f, c.want)
			}
		})
	}
}
