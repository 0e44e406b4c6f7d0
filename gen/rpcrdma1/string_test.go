package rpcrdma1

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrslog"
)

// message is a header with each kind of chunk, and an arm that is not selected.
func message() Message {
	return Message{
		XID: 7, Vers: 1, Credit: 32,
		Body: Body{
			Msg: Header{
				Reads:  []ReadChunk{read(148, 1, 4096, 0x1000)},
				Writes: []WriteChunk{chunk(seg(2, 8192, 0), seg(3, 8192, 8192)), chunk()},
				Reply:  xdr.Some(chunk(seg(4, 1, 1<<63))),
			},
			Error: Error{Err: ErrChunk},
		},
	}
}

const messageText = "rdma_msg{rdma_xid: 7, rdma_vers: 1, rdma_credit: 32, rdma_body: {proc: RDMA_MSG, rdma_msg: {" +
	"rdma_reads: [{position: 148, target: {handle: 1, length: 4096, offset: 4096}}], " +
	"rdma_writes: [{target: [{handle: 2, length: 8192, offset: 0}, {handle: 3, length: 8192, offset: 8192}]}, {target: []}], " +
	"rdma_reply: {target: [{handle: 4, length: 1, offset: 9223372036854775808}]}}}}"

func TestValuesPrintThemselves(t *testing.T) {
	m := message()
	if got := m.String(); got != messageText {
		t.Errorf("\ngot  %s\nwant %s", got, messageText)
	}
	m.Body = Body{Proc: ProcError, Error: Error{Err: ErrVers, Vrange: VersionRange{1, 2}}}
	const failed = "rdma_msg{rdma_xid: 7, rdma_vers: 1, rdma_credit: 32, rdma_body: {proc: RDMA_ERROR, " +
		"rdma_error: {err: ERR_VERS, rdma_vrange: {rdma_vers_low: 1, rdma_vers_high: 2}}}}"
	if got := m.String(); got != failed {
		t.Errorf("\ngot  %s\nwant %s", got, failed)
	}
	m.Body = Body{Proc: ProcDone, Error: Error{Err: ErrVers}}
	if got := m.String(); !strings.HasSuffix(got, "rdma_body: {proc: RDMA_DONE}}") {
		t.Error(got)
	}
	m.Body = Body{Proc: 99}
	if got := m.String(); !strings.HasSuffix(got, "rdma_body: {proc: rdma_proc(99)}}") {
		t.Error(got)
	}
}

// TestValuesLogThemselves logs a value, a pointer, a nil pointer and other things by both handlers.
func TestValuesLogThemselves(t *testing.T) {
	m := message()
	log := func(h func(*bytes.Buffer) slog.Handler) string {
		var b bytes.Buffer
		slog.New(h(&b)).Info("got", "value", m, "pointer", &m, "nil", (*Message)(nil), "proc", ProcMsg,
			"other", netip.MustParseAddr("::1"), "list", []int{1})
		return b.String()
	}
	text := log(func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) })
	for _, want := range []string{`value="` + messageText + `"`, `pointer="` + messageText + `"`, "nil=<nil>", "proc=RDMA_MSG"} {
		if !strings.Contains(text, want) {
			t.Errorf("TextHandler: no %s in %s", want, text)
		}
	}
	json := log(func(b *bytes.Buffer) slog.Handler {
		return slog.NewJSONHandler(b, &slog.HandlerOptions{ReplaceAttr: xdrslog.ReplaceAttr})
	})
	for _, want := range []string{
		`"value":"` + messageText + `"`, `"pointer":"` + messageText + `"`, `"nil":"<nil>"`, `"proc":"RDMA_MSG"`,
		`"level":"INFO","msg":"got"`, `"other":"::1","list":[1]}`,
	} {
		if !strings.Contains(json, want) {
			t.Errorf("JSONHandler: no %s in %s", want, json)
		}
	}
}

// TestStringAllocations: the text, the value for reflection, and one growth of the text.
func TestStringAllocations(t *testing.T) {
	m := message()
	if n := testing.AllocsPerRun(100, func() { _ = m.String() }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}
