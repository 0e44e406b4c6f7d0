package rpcrdma1

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestFaultsAreRefusedAtTheirPlace proves that each fault of a header is reported at its place.
func TestFaultsAreRefusedAtTheirPlace(t *testing.T) {
	const msg, nomsg, msgp = "rpcrdma1.Message.Body.Msg.", "rpcrdma1.Message.Body.Nomsg.", "rpcrdma1.Message.Body.Msgp."
	xdrtest.RunBad[Message](t, xdrtest.Load(t), []xdrtest.Bad{
		// R28, T24: an optional-data word other than 0 and 1, in each place.
		{
			Name: "reads 2", Vector: "msg-no-chunks", At: 16, Word: 2,
			Code: xdr.CodeBool, Offset: 16, Path: msg + "Reads",
			Text: "xdr: rpcrdma1.Message.Body.Msg.Reads: offset 16: boolean or presence word is 2, expected 0 or 1 (RFC 4506 §4.4)",
		},
		{Name: "next read 0x100", Vector: "msg-read-write", At: 40, Word: 0x100, Code: xdr.CodeBool, Offset: 40, Path: msg + "Reads"},
		{Name: "writes 2", Vector: "msg-read-write", At: 44, Word: 2, Code: xdr.CodeBool, Offset: 44, Path: msg + "Writes"},
		{Name: "next write -1", Vector: "msg-read-write", At: 84, Word: 0xffffffff, Code: xdr.CodeBool, Offset: 84, Path: msg + "Writes"},
		{Name: "reply 2", Vector: "msg-reply-chunk", At: 24, Word: 2, Code: xdr.CodeBool, Offset: 24, Path: msg + "Reply"},
		{Name: "nomsg reads 2", Vector: "nomsg-no-chunks", At: 16, Word: 2, Code: xdr.CodeBool, Offset: 16, Path: nomsg + "Reads"},
		{Name: "nomsg writes 2", Vector: "nomsg-no-chunks", At: 20, Word: 2, Code: xdr.CodeBool, Offset: 20, Path: nomsg + "Writes"},
		{Name: "nomsg reply 2", Vector: "nomsg-no-chunks", At: 24, Word: 2, Code: xdr.CodeBool, Offset: 24, Path: nomsg + "Reply"},
		{Name: "msgp reads 2", Vector: "msgp", At: 24, Word: 2, Code: xdr.CodeBool, Offset: 24, Path: msgp + "Reads"},
		{Name: "msgp writes 2", Vector: "msgp", At: 52, Word: 2, Code: xdr.CodeBool, Offset: 52, Path: msgp + "Writes"},
		{Name: "msgp reply 2", Vector: "msgp", At: 56, Word: 2, Code: xdr.CodeBool, Offset: 56, Path: msgp + "Reply"},

		// R29, T26: counts beyond the bytes left: 40 in the write list, 32 in the reply
		// chunk.
		{
			Name: "one segment more than present", Vector: "msg-reply-chunk", At: 28, Word: 3,
			Code: xdr.CodeCount, Offset: 28, Path: msg + "Reply.Target",
			Text: "xdr: rpcrdma1.Message.Body.Msg.Reply.Target: offset 28: count 3 is larger than the 2 that can be there (RFC 4506 §4.13)",
		},
		{Name: "count wraps when multiplied", Vector: "msg-read-write", At: 48, Word: 0x10000001, Code: xdr.CodeCount, Offset: 48, Path: msg + "Writes[0].Target"},
		{Name: "largest count", Vector: "msg-read-write", At: 48, Word: 0xffffffff, Code: xdr.CodeCount, Offset: 48, Path: msg + "Writes[0].Target"},
		{Name: "count in the third chunk", Vector: "msg-empty-write-chunk", At: 56, Word: 0x80000000, Code: xdr.CodeCount, Offset: 56, Path: msg + "Writes[2].Target"},

		// R31, T25: a list that goes on to the end of the input.
		{
			Name: "reads without end", Vector: "nomsg-position-zero", At: 40, Word: 1,
			Code: xdr.CodeShort, Offset: 44, Path: nomsg + "Reads[1].Position",
			Text: "xdr: rpcrdma1.Message.Body.Nomsg.Reads[1].Position: offset 44: 8 bytes left, 24 needed (RFC 4506 §3)",
		},

		// T21: unknown procedures, which the transport answers with ERR_CHUNK.
		{
			Name: "procedure 5", Vector: "done", At: 12, Word: 5,
			Code: xdr.CodeEnum, Offset: 12, Path: "rpcrdma1.Message.Body.Proc",
			Text: "xdr: rpcrdma1.Message.Body.Proc: offset 12: 5 is not a value of the enum (RFC 4506 §4.3)",
		},
		{Name: "procedure -1", Vector: "msg-read-write", At: 12, Word: 0xffffffff, Code: xdr.CodeEnum, Offset: 12, Path: "rpcrdma1.Message.Body.Proc"},
	})
}

// TestUnknownProcedureKeepsPrefix: after an unknown procedure the XID and the version are decoded,
// which the answer copies (T21, T23).
func TestUnknownProcedureKeepsPrefix(t *testing.T) {
	in := bytes.Clone(xdrtest.Find(t, xdrtest.Load(t), "done").Bytes)
	binary.BigEndian.PutUint32(in[12:], 5)
	var m Message
	if err := m.UnmarshalBinary(in); !errors.Is(err, xdr.ErrEnum) {
		t.Fatalf("%v, want xdr.ErrEnum", err)
	}
	if m.XID != 0x1a2b3c4d || m.Vers != 1 || m.Credit != 32 {
		t.Errorf("xid %#x, vers %d, credit %d are lost", m.XID, m.Vers, m.Credit)
	}
}

// TestErrVersLayout proves R115 on the bytes: code, low and high at 16, 20 and 24 of 28 bytes, for
// any version in the prefix (T23).
func TestErrVersLayout(t *testing.T) {
	for _, vers := range []uint32{0, 1, 2, 3, 0xffffffff} {
		m := Message{XID: 9, Vers: vers, Credit: 8, Body: Body{
			Proc: ProcError, Error: Error{Err: ErrVers, Vrange: VersionRange{Low: 5, High: 6}},
		}}
		b, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var words []uint32
		for i := 0; i+4 <= len(b); i += 4 {
			words = append(words, binary.BigEndian.Uint32(b[i:]))
		}
		if want := []uint32{9, vers, 8, 4, 1, 5, 6}; len(b) != 28 || !equal(words, want) {
			t.Errorf("version %d: %d bytes, words %d, want 28 and %d", vers, len(b), words, want)
		}
	}
}

func equal(a, b []uint32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestEncodeRefuses proves that a procedure without an arm is not encoded, and the buffer is
// unchanged; an error code may be any number (R121).
func TestEncodeRefuses(t *testing.T) {
	m := Message{Vers: 1, Body: Body{Proc: 7}}
	e := xdr.NewEncoder([]byte("before"))
	err := m.EncodeXDR(e)
	if !errors.Is(err, xdr.ErrEnum) && !errors.Is(err, xdr.ErrUnion) || e.Len() != 0 {
		t.Errorf("%v, %d bytes written; want xdr.ErrEnum and none", err, e.Len())
	}
}

// TestOnlyTheArmSelected proves R22 and R23: the contents of other arms are neither counted nor
// encoded.
func TestOnlyTheArmSelected(t *testing.T) {
	m := Message{XID: 1, Vers: 1, Credit: 2, Body: Body{
		Proc:  ProcDone,
		Msg:   Header{Reads: make([]ReadChunk, 3)},
		Error: Error{Err: ErrVers, Vrange: VersionRange{8, 9}},
	}}
	b, err := m.MarshalBinary()
	if want := "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03"; string(b) != want || m.XDRSize() != 16 {
		t.Errorf("% x, %v, size %d; want % x", b, err, m.XDRSize(), want)
	}
}

// TestExtraWordsOfUnknownError proves R121 for a peer that follows the draft to the letter, and
// sends eight words after an unknown code: they are not decoded (erratum P20), and the transport
// ignores them.
func TestExtraWordsOfUnknownError(t *testing.T) {
	in := append(bytes.Clone(xdrtest.Find(t, xdrtest.Load(t), "error-unknown").Bytes), make([]byte, 32)...)
	d := xdr.NewDecoder(in, nil)
	var m Message
	if err := m.DecodeXDR(d); err != nil || m.Body.Error.Err != 3 || len(d.Rest()) != 32 {
		t.Errorf("code %d, %d bytes left, %v; want 3, 32 and no error", m.Body.Error.Err, len(d.Rest()), err)
	}
}

// TestHugeCounts proves R29 and R324: 32 bytes that claim 2^31 segments cost only an error.
func TestHugeCounts(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector allocates")
	}
	in := make([]byte, 32)
	binary.BigEndian.PutUint32(in[4:], 1)
	binary.BigEndian.PutUint32(in[24:], 1) // a reply chunk
	binary.BigEndian.PutUint32(in[28:], 1<<31)
	d := xdr.NewDecoder(nil, nil)
	m := new(Message)
	var err error
	if n := testing.AllocsPerRun(100, func() {
		d.Reset(in)
		err = m.DecodeXDR(d)
	}); n > 1 || !errors.Is(err, xdr.ErrCount) {
		t.Errorf("%v allocations, %v; want at most the error, xdr.ErrCount", n, err)
	}
}

// TestEndlessList proves R31 and R324 for T25: a read list that fills the buffer, without the word
// that ends it.
func TestEndlessList(t *testing.T) {
	in := make([]byte, 16, 16+24*4096)
	for range 4096 {
		in = append(in, 0, 0, 0, 1)
		in = append(in, make([]byte, 20)...)
	}
	var m Message
	err := m.UnmarshalBinary(in)
	var e *xdr.Error
	if !errors.As(err, &e) || e.Code != xdr.CodeShort || e.Offset != len(in)-20 {
		t.Errorf("%v, want the end of the list missed at offset %d", err, len(in)-20)
	}
	if err := xdrtest.Bounded[Message](in); err != nil {
		t.Error(err)
	}
}

// TestManyEmptyChunks proves R324 for T27: chunks without segments take the least input, 8 bytes
// each.
func TestManyEmptyChunks(t *testing.T) {
	in := binary.BigEndian.AppendUint32(make([]byte, 0, 9000), 7)
	in = binary.BigEndian.AppendUint32(in, 1)
	in = append(in, make([]byte, 12)...) // credit, RDMA_MSG, no reads
	const chunks = 1000
	for range chunks {
		in = append(in, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	in = append(in, make([]byte, 8)...) // end of the list, no reply chunk
	if err := xdrtest.Bounded[Message](in); err != nil {
		t.Error(err)
	}
	var m Message
	if err := m.UnmarshalBinary(in); err != nil || len(m.Body.Msg.Writes) != chunks {
		t.Fatalf("%v, %d chunks, want %d", err, len(m.Body.Msg.Writes), chunks)
	}
	if got, err := m.MarshalBinary(); err != nil || !bytes.Equal(got, in) {
		t.Errorf("%v: encodes to other bytes", err)
	}
}
