package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/decode"
)

// integrity returns data as RPCSEC_GSS carries them with a checksum.
func integrity(data string) string {
	return capturetest.Words(uint32(4+len(data)), 9) + data + capturetest.Words(5) + "check\x00\x00\x00"
}

// rows returns the items of a message, with their offsets, without the header.
func rows(m decode.Message) string {
	var lines []string
	for row := range dynamic.Rows(m.Root) {
		if !strings.HasPrefix(row.Path, "rpc") {
			lines = append(lines, fmt.Sprintf("%d %s", row.Value.Offset, row.Path))
		}
	}
	return strings.Join(lines, ", ")
}

// Arguments and results with a checksum are decoded, with the words around them. Lengths that are
// wrong, and bytes after the values, are faults with their place.
func TestDataWithChecksum(t *testing.T) {
	d := compiled(t)
	args := capturetest.Words(4) + "path" + capturetest.Words(7)
	head := capturetest.Words(1, 0, 2, 99, 1, 1, 6, 20, 1, 0, 5, 2, 0, 0, 0)
	reply := capturetest.Reply(1, "")
	decoded := func(args, results string) *decode.Call {
		return d.Decode(&capture.Call{
			HasCall: true, Program: 99, Version: 1, Procedure: 1, Auth: 6, Message: []byte(head + args), Args: len(head), HasReply: true,
			Reply: []byte(reply + results), Results: len(reply), Status: capture.Status{Success: true}, Chunks: []capture.Chunk{chunk("")},
		})
	}
	c := decoded(integrity(args), integrity(capturetest.Words(5)))
	if len(c.Notes) > 0 || c.Faulty() {
		t.Errorf("notes %q, faults %v, %v", c.Notes, c.Args.Faults, c.Reply.Faults)
	}
	if got, want := decode.Brief(c.Args.Values, 80)+" "+decode.Brief(c.Reply.Values, 80), `{arg1: "path", arg2: 7} 5`; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if got, want := rows(c.Args)+" | "+rows(c.Reply), "60 gss_length, 64 gss_sequence, 68 args.arg1, 68 args.arg1, 76 args.arg2, 80 gss_checksum, 80 gss_checksum"+
		" | 24 gss_length, 28 gss_sequence, 32 result.status, 36 gss_checksum, 36 gss_checksum"; got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
	for name, tt := range map[string]struct{ args, fault string }{
		"without length":     {"\x00\x00", "args 60 found data of 0 bytes with a checksum, 2 bytes before the end, expected 4 or more (RFC 2203 §5.3.2.2)"},
		"too short":          {capturetest.Words(3, 9, 0), "args 60 found data of 3 bytes with a checksum, 12 bytes before the end, expected 4 or more (RFC 2203 §5.3.2.2)"},
		"longer than it is":  {capturetest.Words(9, 9, 0), "args 60 found data of 9 bytes with a checksum, 12 bytes before the end, expected 4 or more (RFC 2203 §5.3.2.2)"},
		"a huge length":      {capturetest.Words(0xffffffff, 9, 0), "args 60 found data of 4294967295 bytes with a checksum, 12 bytes before the end, expected 4 or more (RFC 2203 §5.3.2.2)"},
		"too many arguments": {integrity(args + capturetest.Words(7)), "args 80 found 4 bytes after the value, expected the end"},
		"too few arguments":  {integrity(args[:8]), "args.arg2 76 found 0 bytes before the end of the input, expected 4"},
		"without a checksum": {capturetest.Words(16, 9) + args, "gss_checksum 80 found 0 bytes before the end of the input, expected 4"},
		"bytes at the end":   {integrity(args) + "abcd", "gss_checksum 92 found 4 bytes after the value, expected the end"},
		"an odd length":      {capturetest.Words(15, 9) + args + capturetest.Words(0), "args.arg2 76 found 3 bytes before the end of the input, expected 4"},
	} {
		t.Run(name, func(t *testing.T) {
			c := decoded(tt.args, integrity(capturetest.Words(5)))
			if len(c.Args.Faults) != 1 {
				t.Fatalf("faults %v", c.Args.Faults)
			}
			f := c.Args.Faults[0]
			if got := fmt.Sprintf("%s %d %s", f.Path, f.Offset, f.Message); got != tt.fault {
				t.Errorf("found %s\nwant  %s", got, tt.fault)
			}
		})
	}
}
