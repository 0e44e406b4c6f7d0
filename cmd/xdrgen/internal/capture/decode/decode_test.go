package decode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/decode"
)

const unit = `typedef string path<>;
struct good { int count; opaque data<>; string name<>; opaque more<>; unsigned hyper size; };
union result switch (int status) { case 0: good ok; default: void; };
program P { version V { result GET(path, int) = 1; } = 1; } = 99;
`

// compiled returns the decoder of unit.
func compiled(t *testing.T) *decode.Decoder {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.x")
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || len(p.Diags) > 0 {
		t.Fatal(err, p.Diags)
	}
	r, err := sema.Compile(sema.Options{Files: []string{"../../message/oncrpc/oncrpc.x"}})
	if err != nil {
		t.Fatal(err)
	}
	message, err := dynamic.Find(r.Unit, "rpc_msg")
	if err != nil {
		t.Fatal(err)
	}
	return &decode.Decoder{RPC: message, Unit: p.Unit}
}

// reply returns a call of GET whose results are as given, with write chunks.
func reply(results string, chunks ...capture.Chunk) *capture.Call {
	args := capturetest.Words(4) + "path" + capturetest.Words(7)
	call := capturetest.Call(1, 99, 1, 1, args)
	message := capturetest.Reply(1, results)
	return &capture.Call{
		XID: 1, HasCall: true, Program: 99, Version: 1, Procedure: 1, Message: []byte(call), Args: len(call) - len(args),
		HasReply: true, Reply: []byte(message), Results: len(message) - len(results), Status: capture.Status{Success: true, Text: "SUCCESS"}, Chunks: chunks,
	}
}

func chunk(data string) capture.Chunk {
	return capture.Chunk{Length: uint64(len(data)), Data: []byte(data)}
}

// The items of write chunks are put back into the results, in order, with their padding. Data that
// the capture lacks, and chunks without an item, are named.
func TestItemsArePutBack(t *testing.T) {
	d := compiled(t)
	words := capturetest.Words
	const size = "\x00\x00\x00\x00\x00\x00\x00\x09"
	for name, c := range map[string]struct {
		call        *capture.Call
		want, notes string
		faults      int
	}{
		"no chunk":       {reply(words(0, 3, 4) + "abcd" + words(1) + "n\x00\x00\x00" + words(0) + size), `0 {count: 3, data: 4 bytes, name: "n", more: 0 bytes, size: 9}`, "", 0},
		"one":            {reply(words(0, 3, 6, 1)+"n\x00\x00\x00"+words(0)+size, chunk("abcdef")), `0 {count: 3, data: 6 bytes, name: "n", more: 0 bytes, size: 9}`, "", 0},
		"with padding":   {reply(words(0, 3, 6, 1)+"n\x00\x00\x00"+words(0)+size, chunk("abcdef\x00\x00")), `0 {count: 3, data: 6 bytes, name: "n", more: 0 bytes, size: 9}`, "", 0},
		"two":            {reply(words(0, 3, 6, 5, 6)+size, chunk("abcdef"), capture.Chunk{}, chunk("nameX"), chunk("ABCDEF")), `0 {count: 3, data: 6 bytes, name: "nameX", more: 6 bytes, size: 9}`, "", 0},
		"not in capture": {reply(words(0, 3, 6, 1)+"n\x00\x00\x00"+words(0)+size, capture.Chunk{Length: 6}), `0 {count: 3, data: 6 bytes}`, "the capture lacks write chunk 1, 6 bytes of data: results decoded up to there", 0},
		"after another":  {reply(words(0, 3, 4)+"abcd"+words(1)+"n\x00\x00\x00"+words(6)+size, chunk("ABCDEF")), `0 {count: 3, data: 4 bytes, name: "n", more: 6 bytes, size: 9}`, "", 0},
		"fits no item":   {reply(words(1), chunk("abc")), `1`, "write chunk 1 of 3 bytes fits no item of the results", 0},
		"cut results":    {reply(words(0, 3)), `0 {count: 3}`, "", 1},
		"another error":  {reply(words(5)), `5`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.Decode(c.call)
			if text := decode.Brief(got.Reply.Part, 200); text != c.want || strings.Join(got.Notes, "; ") != c.notes || len(got.Reply.Faults) != c.faults {
				t.Errorf("%s, notes %q, faults %v; want %s, %q", text, got.Notes, got.Reply.Faults, c.want, c.notes)
			}
			if text := decode.Brief(got.Args.Values, 200); text != `{arg1: "path", arg2: 7}` || got.Name != "P.V.GET" {
				t.Errorf("%s %s", got.Name, text)
			}
		})
	}
}

// A value on a line has at most as many characters as asked for, and an ellipsis.
func TestBriefIsShort(t *testing.T) {
	d := compiled(t)
	got := d.Decode(reply(capturetest.Words(0, 3, 0, 12) + "\x1b[31m\"quoted" + capturetest.Words(0, 0, 9)))
	const want = `0 {count: 3, data: 0 bytes, name: "\u001b[31m\"quoted", more: 0 bytes, size: 9}`
	for width := 1; width < 100; width++ {
		text := decode.Brief(got.Reply.Values, width)
		if beginning, cut := strings.CutSuffix(text, "..."); cut && len(beginning) > width || len(text) < min(width, len(want)) || strings.Contains(text, "\x1b") {
			t.Errorf("width %d: %s", width, text)
		}
	}
	if text := decode.Brief(got.Reply.Values, 100); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// Arguments within RPCSEC_GSS are decoded unless they are encrypted.
func TestSealedArgumentsAreNotDecoded(t *testing.T) {
	d := compiled(t)
	for service, want := range map[uint32]string{1: "", 2: "", 3: "RPCSEC_GSS: encrypted", 0: "RPCSEC_GSS: for the context, not for the procedure"} {
		procedure := uint32(0)
		if service == 0 {
			procedure = 1
		}
		head := capturetest.Words(1, 0, 2, 99, 1, 1, 6, 20, 1, procedure, 5, service, 0, 0, 0)
		args := capturetest.Words(4) + "path" + capturetest.Words(7)
		if service == 2 {
			args = integrity(args)
		}
		c := d.Decode(&capture.Call{HasCall: true, Program: 99, Version: 1, Procedure: 1, Auth: 6, Message: []byte(head + args), Args: len(head)})
		if strings.Join(c.Notes, "") != want || (c.Args.Values != nil) != (service == 1 || service == 2) || len(c.Args.Faults) > 0 {
			t.Errorf("service %d: notes %q, values %v, faults %v", service, c.Notes, c.Args.Values != nil, c.Args.Faults)
		}
	}
}
