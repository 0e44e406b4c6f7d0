package v2_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The fault of each invalid message. Of its fields, only those that Decode documents are set.
func TestDecodeReturnsTheFault(t *testing.T) {
	const (
		// An entry of the read list.
		chunk   = "00000001 00000078 00000007 00001000 00000000 00000000 "
		answer  = true
		request = false
	)
	for _, c := range []struct {
		name   string
		hex    string
		code   header.Code
		xdr    error // within FaultXDR
		kind   header.Kind
		answer bool
	}{
		{"T18: nothing", "", header.FaultShort, nil, 0, request},
		{"T18: 15 bytes", "cafe0001 00000002 00200001 000000", header.FaultShort, nil, 0, request},
		{"R138: 16 bytes", prefix + "00000000", header.FaultShort, nil, 0, request},
		{"R138: 19 bytes", prefix + "00000005 000000", header.FaultShort, nil, 0, request},
		{"R139, T101: version 1", "cafe0001 00000001 00200001 00000000 00000000 00000000 00000000", header.FaultVersion, nil, 0, request},
		{"T23: version 3 with a flags word", "cafe0001 00000003 00200001 00000005 00000001", header.FaultVersion, nil, 0, request},
		{"T23: version 0 of 16 bytes", "cafe0001 00000000 00200001 00000000", header.FaultVersion, nil, 0, request},
		{"T22, R141: header type 2", prefix + "00000002 00000000 " + none, header.FaultProcedure, nil, 0, request},
		{"T22: header type 3", prefix + "00000003 00000000", header.FaultProcedure, nil, 0, request},
		{"T22: header type 6, as an answer", prefix + "00000006 00000001", header.FaultProcedure, nil, 0, answer},
		{"T22, T87: header type 0xffffffff with MORE and undefined flags", prefix + "ffffffff ffffffff", header.FaultProcedure, nil, 0, answer},
		{"T30, R143, A32: undefined flag", prefix + "00000000 00000004 " + none, header.FaultFlags, nil, header.KindMsg, request},
		{"T30: all flags", prefix + "00000005 ffffffff 00000000", header.FaultFlags, nil, header.KindProps, answer},
		{"T30: a flag of an extension on another header type", prefix + "00000001 00000100 " + none, header.FaultFlags, nil, header.KindNomsg, request},
		{"T30: an undefined flag on an extension", prefix + "00000020 00000301 ", header.FaultFlags, nil, header.KindOther, answer},
		{"T30: an undefined flag on an ERROR", prefix + "00000004 80000000 0000000a", header.FaultFlags, nil, header.KindError, answer},
		{"T87, R157: NOMSG with MORE", prefix + "00000001 00000002 " + none, header.FaultMore, nil, header.KindNomsg, request},
		{"T87: ERROR with MORE", prefix + "00000004 00000003 0000000a", header.FaultMore, nil, header.KindError, answer},
		{"T87: an extension with MORE", prefix + "00000020 00000002", header.FaultMore, nil, header.KindOther, request},
		{"T88, R158: MORE with a read list", prefix + "00000000 00000002 00000000 " + chunk + "00000000 00000000 00000000 cafe0001", header.FaultMore, nil, header.KindMsg, request},
		{"T88: MORE with an empty write chunk", prefix + "00000000 00000003 00000000 00000000 00000001 00000000 00000000 00000000", header.FaultMore, nil, header.KindMsg, answer},
		{"T88: MORE with an empty reply chunk", prefix + "00000000 00000002 00000000 00000000 00000000 00000001 00000000", header.FaultMore, nil, header.KindMsg, request},
		{"T78, R262: a key that is no handle", prefix + "00000000 00000000 00000008 " + chunk + "00000000 00000000 00000000 cafe0001", header.FaultKey, nil, header.KindMsg, request},
		{"T78: a key without chunks", prefix + "00000000 00000000 00000008 00000000 00000000 00000000 cafe0001", header.FaultKey, nil, header.KindMsg, request},
		{"T78: the key of a part without chunks", prefix + "00000000 00000002 00000008 00000000 00000000 00000000 cafe0001", header.FaultKey, nil, header.KindMsg, request},
		{"MSG without rdma_inv_handle", prefix + "00000000 00000000", header.FaultXDR, xdr.ErrShort, header.KindMsg, request},
		{"MSG that ends after the write list", prefix + "00000000 00000001 00000000 00000000 00000000", header.FaultXDR, xdr.ErrShort, header.KindMsg, answer},
		{"T24: read list word 2", prefix + "00000000 00000000 00000000 00000002 00000000 00000000", header.FaultXDR, xdr.ErrBool, header.KindMsg, request},
		{"T24: write list word 2", prefix + "00000000 00000000 00000000 00000000 00000002 00000000", header.FaultXDR, xdr.ErrBool, header.KindMsg, request},
		{"T24: reply chunk word 2", prefix + "00000001 00000000 00000000 00000000 00000000 00000002", header.FaultXDR, xdr.ErrBool, header.KindNomsg, request},
		{"T25: unterminated read list", prefix + "00000000 00000000 00000000 " + chunk + "00000001", header.FaultXDR, xdr.ErrShort, header.KindMsg, request},
		{"T26: 0xffffffff segments", prefix + "00000000 00000000 00000000 00000000 00000001 ffffffff 00000000 00000000", header.FaultXDR, xdr.ErrCount, header.KindMsg, request},
		{"T26: a count that wraps when times 16", prefix + "00000000 00000000 00000000 00000000 00000001 10000001 00000011 00000100 00000000 00000000 00000000 00000000", header.FaultXDR, xdr.ErrCount, header.KindMsg, request},
		{"T26: one segment more than there is", prefix + "00000000 00000000 00000000 00000000 00000001 00000002 00000011 00000100 00000000 00000000 00000000 00000000", header.FaultXDR, xdr.ErrCount, header.KindMsg, request},
		{"T32: NOMSG with bytes after the lists", prefix + "00000001 00000000 00000000 " + chunk + "00000000 00000000 00000000 cafe0001", header.FaultTrailing, nil, header.KindNomsg, request},
		{"T32: a grant with bytes after the lists", prefix + "00000001 00000000 " + none + "00", header.FaultTrailing, nil, header.KindGrant, request},
		{"CONNPROP without a set", prefix + "00000005 00000000", header.FaultXDR, xdr.ErrShort, header.KindProps, request},
		{"T102, R197: 2^32-1 properties", prefix + "00000005 00000000 ffffffff 00000001 00000004 00001000", header.FaultXDR, xdr.ErrCount, header.KindProps, request},
		{"T102, R197: data past the end of the message", prefix + "00000005 00000000 00000001 00000002 00000008 00001000", header.FaultXDR, xdr.ErrShort, header.KindProps, request},
		{"T102: 4 GiB of data", prefix + "00000005 00000000 00000001 00000006 ffffffff 00001000", header.FaultXDR, xdr.ErrShort, header.KindProps, request},
		{"data padded with other bytes than zeros", prefix + "00000005 00000000 00000001 00000063 00000003 01020304", header.FaultXDR, xdr.ErrPadding, header.KindProps, request},
		{"bytes after a set", prefix + "00000005 00000000 00000000 00000000", header.FaultTrailing, nil, header.KindProps, request},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m header.Message
			f := newVersion(false).Decode(unhex(t, c.hex), &m)
			if f == nil || f.Code != c.code {
				t.Fatalf("fault %v, want code %d", f, c.code)
			}
			_ = f.Error()
			if c.xdr != nil && !errors.Is(f, c.xdr) {
				t.Errorf("fault %v, want %v", f, c.xdr)
			}
			if c.code == header.FaultShort {
				return
			}
			if m.Kind == header.KindGrant {
				m.XID = 0xcafe0001 // a grant has none
			}
			want := header.Message{
				XID: 0xcafe0001, Vers: binary.BigEndian.Uint32(unhex(t, c.hex)[4:]), Credit: 0x00200001,
				Kind: c.kind, Answer: c.answer,
			}
			if diff := cmp.Diff(want, m, same); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// T22: without extensions, only the header types of the draft are known.
func TestNoExtensions(t *testing.T) {
	var m header.Message
	f := v2.New(v2.Config{}).Decode(unhex(t, prefix+"00000020 00000000"), &m)
	if f == nil || f.Code != header.FaultProcedure || f.Found != extType || f.Want != 5 {
		t.Errorf("%+v, want FaultProcedure", f)
	}
}

// FaultXDR names the place in the whole message: the first list begins at byte 24.
func TestFaultOffset(t *testing.T) {
	var m header.Message
	f := newVersion(false).Decode(unhex(t, prefix+"00000000 00000000 00000000 00000002 00000000 00000000"), &m)
	if f == nil || f.Found != 24 || f.Want != 36 {
		t.Errorf("%+v, want offset 24 of 36", f)
	}
}

// A1: 28 bytes whose fifth word is 1 are ERR_VERS of version 1 only as the first message of version
// 2 to the end that dialed. At any other time they are one of four codes of version 2, or a body
// that is cut.
func TestVersionOneForm(t *testing.T) {
	const grant = "00000000 00000002 00200001 00000001 00000000 " + none
	for _, c := range []struct {
		name   string
		dialed bool
		before string
		hex    string
		want   header.Error
	}{
		{"first at the end that dialed", true, "", "00000001 00000001 00000001", header.Error{Code: header.ErrVers, Low: 1, High: 1}},
		{"T98: a range from 5 to 9", true, "", "00000001 00000005 00000009", header.Error{Code: header.ErrVers, Low: 5, High: 9}},
		{"T98: a range with 2, its end before its start", true, "", "00000001 00000002 00000001", header.Error{Code: header.ErrVers, Low: 2, High: 1}},
		{"later", true, grant, "00000001 00000005 00000009", header.Error{Code: header.ErrReadChunks, Max: 9}},
		{"later, WRITE_CHUNKS", true, grant, "00000001 00000006 00000001", header.Error{Code: header.ErrWriteChunks, Max: 1}},
		{"later, SEGMENTS", true, grant, "00000001 00000007 00000001", header.Error{Code: header.ErrSegments, Max: 1}},
		{"later, REPLY_RESOURCE", true, grant, "00000001 00000009 00000001", header.Error{Code: header.ErrReplyResource, Need: 1}},
		{"after a message that is none", true, "ff", "00000001 00000001 00000001", header.Error{Code: header.ErrVers, Low: 1, High: 1}},
		{"after a message of version 1", true, "cafe0001 00000001 00000001 00000000 00000000 00000000 00000000", "00000001 00000001 00000001", header.Error{Code: header.ErrVers, Low: 1, High: 1}},
		{"later, a cut ERR_VERS of version 2", true, grant, "00000001 00000001 00000001", header.Error{}},
		{"at the end that accepted", false, "", "00000001 00000005 00000009", header.Error{Code: header.ErrReadChunks, Max: 9}},
		{"first, without the RESPONSE flag", true, "", "00000000 00000005 00000009", header.Error{Code: header.ErrReadChunks, Max: 9}},
		{"first, 32 bytes", true, "", "00000001 00000001 00000001 00000002", header.Error{Code: header.ErrVers, Low: 1, High: 2}},
		{"T97: later, 32 bytes", true, grant, "00000001 00000001 00000001 00000002", header.Error{Code: header.ErrVers, Low: 1, High: 2}},
		{"first, 24 bytes", true, "", "00000001 0000000a", header.Error{Code: header.ErrSystem}},
	} {
		t.Run(c.name, func(t *testing.T) {
			codec := newVersion(c.dialed)
			var m header.Message
			if c.before != "" {
				codec.Decode(unhex(t, c.before), &m)
			}
			if f := codec.Decode(unhex(t, prefix+"00000004 "+c.hex), &m); f != nil || m.Err != c.want || m.Kind != header.KindError {
				t.Errorf("%+v, fault %v, want %+v", m, f, c.want)
			}
		})
	}
}

// No prefix of a valid message is valid, unless it ends where the header does or is an ERROR. None
// panics.
func TestTruncatedMessageIsRefused(t *testing.T) {
	for _, v := range vectors() {
		b := unhex(t, v.hex)
		whole := len(b) - len(v.msg.Payload)
		var m header.Message
		for n := range len(b) {
			f := newVersion(v.dialed).Decode(b[:n:n], &m)
			if f == nil && n < whole && m.Kind != header.KindError { // T72
				t.Errorf("%s: %d of %d bytes are taken for a message", v.name, n, whole)
			}
			if f != nil && n >= whole {
				t.Errorf("%s: %d bytes with a header of %d: %v", v.name, n, whole, f)
			}
		}
	}
}

// Every word of every vector is set to edge values. Decode may accept or refuse the result; what it
// accepts encodes to bytes that it decodes to the same message.
func TestSubstitutedWordsPanicNowhere(t *testing.T) {
	tried, taken := 0, 0
	for _, v := range vectors() {
		good := unhex(t, v.hex)
		for at := 0; at+4 <= len(good); at += 4 {
			for _, w := range []uint32{0, 1, 2, 3, 4, 5, extType, 0x7fffffff, 0x80000000, 0xffffffff} {
				b := bytes.Clone(good)
				binary.BigEndian.PutUint32(b[at:], w)
				for _, dialed := range []bool{false, true} {
					tried++
					if roundTrip(t, b, dialed) {
						taken++
					}
				}
			}
		}
	}
	if taken == 0 || taken == tried {
		t.Errorf("%d of %d were accepted: the test proves nothing", taken, tried)
	}
}

// roundTrip decodes b as the first message, encodes the result and decodes it again: into the same
// message, of the same bytes. It returns false if Decode refused b.
func roundTrip(t *testing.T, b []byte, dialed bool) bool {
	t.Helper()
	var m, again header.Message
	f := newVersion(dialed).Decode(b, &m)
	if f != nil {
		_ = f.Error()
		return false
	}
	if m.Kind == header.KindError && m.Err.Code == 0 {
		return true
	}
	out, err := newVersion(dialed).Append(make([]byte, 0, len(b)+32), &m)
	if err != nil {
		t.Fatalf("%x: accepted, but cannot be encoded: %v", b, err)
	}
	dialed = m.Err.Code == header.ErrVers // only there are its 28 bytes ERR_VERS
	out = append(out, m.Payload...)
	if f := newVersion(dialed).Decode(out, &again); f != nil {
		t.Fatalf("%x encodes to %x: %v", b, out, f)
	}
	if diff := cmp.Diff(m, again, same); diff != "" {
		t.Errorf("%x encodes to %x: %s", b, out, diff)
	}
	// An ERROR may be followed by bytes that are ignored, and a grant or an answer may have words
	// that are: all other messages have one form.
	if m.Kind != header.KindError && m.Kind != header.KindGrant && !m.Answer && !bytes.Equal(b, out) {
		t.Errorf("%x encodes to %x", b, out)
	}
	return true
}

// R33: a header that does not fit is an error, and b is returned as it was.
func TestDoesNotFit(t *testing.T) {
	c := newVersion(false)
	for _, v := range vectors() {
		if v.cut {
			continue
		}
		whole, err := c.Append(make([]byte, 0, 1024), &v.msg)
		if err != nil {
			t.Fatal(err)
		}
		for room := range len(whole) {
			buf := make([]byte, room)
			out, err := c.Append(buf[:0:room], &v.msg)
			if !errors.Is(err, xdr.ErrBuffer) || len(out) != 0 {
				t.Fatalf("%s: into %d bytes: %d written, %v", v.name, room, len(out), err)
			}
		}
	}
}

// Decoding and encoding again allocate nothing.
func TestCodecAllocatesNothing(t *testing.T) {
	for _, v := range vectors() {
		if v.cut || v.dialed {
			continue
		}
		c := newVersion(false)
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

// A first message takes memory in proportion to its own bytes, whatever numbers are in it.
func TestMemoryBound(t *testing.T) {
	const size = 1 << 16
	var sets, chunks, reads []byte
	head := func(htype string) []byte { return unhex(t, prefix+htype+" 00000000 ") }
	// As many properties without data as fit.
	sets = binary.BigEndian.AppendUint32(head("00000005"), (size-24)/8)
	sets = append(sets, make([]byte, size-len(sets))...)
	// As many write chunks without segments as fit (T27).
	chunks = append(head("00000001"), make([]byte, 8)...)
	for len(chunks) < size-8 {
		chunks = append(chunks, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	chunks = append(chunks, make([]byte, 8)...)
	// As many read segments as fit.
	reads = append(head("00000001"), make([]byte, 4)...)
	for len(reads) < size-24 {
		reads = append(reads, 0, 0, 0, 1)
		reads = append(reads, make([]byte, 20)...)
	}
	reads = append(reads, make([]byte, 12)...)
	for name, b := range map[string][]byte{"properties": sets, "write chunks": chunks, "read segments": reads} {
		var before, after runtime.MemStats
		var m header.Message
		runtime.ReadMemStats(&before)
		f := newVersion(false).Decode(b, &m)
		runtime.ReadMemStats(&after)
		if f != nil {
			t.Fatalf("%s: %v", name, f)
		}
		if per := (after.TotalAlloc - before.TotalAlloc) / size; per > 32 {
			t.Errorf("%s: %d bytes for each byte of the message", name, per)
		}
	}
}

// What Decode accepts, Append encodes, and the terms that Learn returns are within the limits.
func FuzzDecode(f *testing.F) {
	for _, v := range vectors() {
		f.Add(unhex(f, v.hex), v.dialed)
	}
	f.Fuzz(func(t *testing.T, b []byte, dialed bool) {
		if !roundTrip(t, b, dialed) {
			return
		}
		var m header.Message
		c := newVersion(dialed)
		if c.Decode(b, &m); m.Kind != header.KindProps {
			return
		}
		_, fault := c.Learn(m.Props)
		if fault != nil {
			_ = fault.Error()
			return
		}
		checkTerms(t, c.Terms(true), v2.DefaultProperties())
	})
}
