package main

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// vectorsOf returns the vectors of a generated package, by name.
func vectorsOf(t *testing.T, unit string) map[string]string {
	t.Helper()
	return vectorsIn(t, filepath.Join("../../gen", unit))
}

// vectorsIn returns the vectors of the tests in a folder, by name.
func vectorsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	back, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	out := map[string]string{}
	for _, v := range xdrtest.Load(t) {
		out[v.Name] = hex.EncodeToString(v.Bytes)
	}
	t.Chdir(back)
	return out
}

// Words of prefixes: a message of version 2 with the XID 7, 8 credits and the header type.
func prefixHex(htype, flags uint32) string {
	return fmt.Sprintf("00000007 00000002 00000008 %08x %08x", htype, flags)
}

// TestDumpGolden dumps messages of version 2 and operations of xchar. The bytes are from the
// hand-written vectors, whose comments give the meaning of each word.
// R138, R148, R149, R150, R213, R231
func TestDumpGolden(t *testing.T) {
	const v2, xchar, last, carrier = "../../spec/x/rpcrdma2", "../../spec/x/xchar", "../../spec/x/rpcrdma2draft07", "../../spec/x/xcharcarrier"
	two, ext, seven, carried := vectorsOf(t, "rpcrdma2"), vectorsOf(t, "xchar"), vectorsIn(t, draft07), vectorsOf(t, "xcharcarrier")
	for _, c := range []struct{ name, flags, hex, unit string }{
		{"call", "-message", two["message-call"], v2},
		{"call-rpc", "-message -rpc", two["message-call"], v2},
		{"connprop", "-message", two["message-connprop"], v2},
		{"connprop-defaults", "-message", prefixHex(5, 3) + two["connprop-defaults"], v2},
		{"connprop-unknown", "-message", prefixHex(5, 0) + two["connprop-unknown"], v2},
		{"connprop-hostauth", "-message", prefixHex(5, 0) + two["connprop-hostauth"], v2},
		{"connprop-faults", "-message", prefixHex(5, 0) + "00000003 00000002 00000002 10000000 00000005 00000008 0000000000000001 00000003 00000004 00000007", v2},
		{"error", "-message", two["message-error"], v2},
		{"error-unknown", "-message", prefixHex(4, 1) + two["error-unknown"], v2},
		{"grant", "-message", two["message-grant"], v2},
		{"grant-with-payload", "-message", two["message-grant"] + "00000001", v2},
		{"lists", "-message", prefixHex(0, 2) + two["msg-all-lists"], v2},
		{"unknown-header-type", "-message", prefixHex(99, 0x80000002) + "0102030405", v2},
		{"cut", "-message", two["message-connprop"][:len(two["message-connprop"])-4], v2},
		{"init", "-type optinfo_initxch", ext["init"], xchar},
		{"init-unknown", "-type optinfo_initxch", ext["init-unknown"], xchar},
		{"update", "-type optinfo_updxch", ext["upd"], xchar},
		{"draft07-middle", "-message", seven["message-call-middle"], last},
		{"draft07-inline", "-message -rpc", seven["message-call-inline"], last},
		{"draft07-grant", "-message", seven["message-grant"], last},
		{"carrier", "-message -import xchar/xchar.x -I ../../spec/x", prefixHex(0xffffff00, 0) + carried["req"], carrier},
		{"carrier-alone", "-message -I ../../spec/x", prefixHex(0xffffff00, 0) + carried["req"], carrier},
		{"update-empty", "-type optinfo_updxch", "00000003 00000000 00000001", xchar},
	} {
		args := append([]string{"dump", "-hex", c.hex}, strings.Fields(c.flags)...)
		args = append(args, unitOf(t, c.unit)...)
		stdout, stderr, code := runWith(t, "", args...)
		golden.Check(t, filepath.Join("testdata/dump", c.name+".golden"), fmt.Appendf(nil, "%s%sexit code %d\n", stdout, stderr, code))
		stdout, _, again := runWith(t, "", append(args, "-format", "json")...)
		if again != code {
			t.Errorf("%s: exit code %d, and %d with -format json", c.name, code, again)
		}
		_, all := fieldsOf(t, stdout)
		if want := strings.ReplaceAll(c.hex, " ", ""); !strings.HasPrefix(want, all) || code == exitClean && all != want {
			t.Errorf("%s: the items have the bytes %s of %s", c.name, all, want)
		}
	}
}

func unitOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.x")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	return files
}

// TestDumpCut dumps every beginning of some messages. Each must be a fault, unless the message can
// end there: after the body of a message with a payload.
func TestDumpCut(t *testing.T) {
	two := vectorsOf(t, "rpcrdma2")
	unit := unitOf(t, "../../spec/x/rpcrdma2")
	for name, body := range map[string]int{"message-call": 36, "message-connprop": 36, "message-error": 32, "message-grant": 36} {
		for n := 0; n < len(two[name])/2; n++ {
			stdout, stderr, code := runWith(t, "", append([]string{"dump", "-message", "-hex", two[name][:2*n]}, unit...)...)
			if want := n >= body; (code == exitClean) != want || !want && !strings.Contains(stderr, "offset") {
				t.Errorf("%s, %d bytes: exit code %d\n%s%s", name, n, code, stdout, stderr)
			}
		}
	}
}

// TestDumpCarrier dumps operations of xchar in a header type of an extension that includes both
// units: its sidecar says where the operation's number and its data are. R231, R322
func TestDumpCarrier(t *testing.T) {
	ext := vectorsOf(t, "xchar")
	dir := writeFiles(t, map[string]string{
		"carrier.x":    "#include \"rpcrdma2/baseops.x\"\n#include \"xchar/xchar.x\"\nconst CARRIER = 64;\nstruct carrier { int dir; unsigned int op; opaque info<>; };\n",
		"carrier.bind": "code header-type CARRIER carrier RPCRDMA2_F_MORE\nnumber carrier.op operation info\n",
	})
	body := func(op int, info string) string {
		return prefixHex(64, 2) + fmt.Sprintf("00000001 %08x %08x", op, len(info)/2) + info
	}
	for _, c := range []struct {
		hex  string
		want []string
		code int
	}{
		{body(1, ext["init"]), []string{
			"rdma_htype = CARRIER (64)", "rdma_flags = RPCRDMA2_F_MORE (0x2)", "body.op = ROPT_INITXCH (1)",
			"body.info.optixc_start[1].xchv_which = XCHAR_RQREMINV (2)", "body.info.optixc_start[1].xchv_data = TRUE", "body.info.optixc_nochg[0] = 6",
		}, exitClean},
		{body(4, ext["upd"]), []string{"body.op = ROPT_UPDXCH (4)", "body.info.optuxc_now.xchv_data = 8192"}, exitClean},
		{body(9, "01020304"), []string{"body.op = 9 (unknown operation)", "body.info = 4 bytes"}, exitClean},
		{body(2, ext["upd"]), []string{"body.op = ROPT_REQXCH (2)", "body.info: ^ fault:"}, exitFindings},
		{prefixHex(5, 0) + "00000001 00000001 00000004 00001000", []string{"rdma_which = RDMA2_PROPID_SBSIZ (1)", "rdma_data = 4096"}, exitClean},
	} {
		stdout, stderr, code := runWith(t, "", "dump", "-message", "-I", "../../spec/x", "-hex", c.hex, filepath.Join(dir, "carrier.x"))
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s is missing", want)
			}
		}
		if code != c.code || t.Failed() {
			t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
		}
	}
}

// TestDumpExtensionDoc runs the command of docs/adding-an-extension.md on the extension of that
// page.
func TestDumpExtensionDoc(t *testing.T) {
	page, err := os.ReadFile(extensionDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(page), "bin/xdrgen dump -message -I spec/x -hex \"")
	words, _, closed := strings.Cut(line, "\" spec/x/flowhint/flowhint.x")
	if !ok || !closed {
		t.Fatal("the page has no command")
	}
	dir := writeFiles(t, map[string]string{
		"flowhint/flowhint.x":    example(t, string(page), "#include \"rpcrdma2/common.x\""),
		"flowhint/flowhint.bind": example(t, string(page), "# Go names"),
	})
	words = strings.ReplaceAll(words, "\\\n", "")
	stdout, stderr, code := runWith(t, "", "dump", "-message", "-I", "../../spec/x", "-hex", words, filepath.Join(dir, "flowhint/flowhint.x"))
	for _, want := range []string{"rdma_which = FLOWHINT_PROP (200)", "rdma_data.fh_class = FLOWHINT_LATENCY (1)", "rdma_data.fh_rate = 7"} {
		if !strings.Contains(stdout, want) || code != exitClean {
			t.Errorf("exit code %d, want %s\n%s%s", code, want, stdout, stderr)
		}
	}
}

// TestDumpVersionOne dumps messages of version 1, whose type is one union, as before.
func TestDumpVersionOne(t *testing.T) {
	one := vectorsOf(t, "rpcrdma1")
	for name, want := range map[string]string{"msg-no-chunks": "rdma_body.proc = RDMA_MSG (0)", "error-vers": "rdma_body"} {
		stdout, stderr, code := runWith(t, "", "dump", "-type", "rdma_msg", "-rpc", "-hex", one[name]+callHead+"00000000"+noAuth, "../../spec/x/rpcrdma1/rpcrdma1.x")
		if code != exitClean || !strings.Contains(stdout, "header.rdma_xid") || !strings.Contains(stdout, "rpc.body.mtype = CALL (0)") {
			t.Errorf("%s: exit code %d, want %s\n%s%s", name, code, want, stdout, stderr)
		}
	}
}

// TestDumpSplit dumps several messages of one input.
func TestDumpSplit(t *testing.T) {
	two := vectorsOf(t, "rpcrdma2")
	raw := func(name string) string {
		b, err := hex.DecodeString(two[name])
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	mark := func(n int, last uint32) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(n)|last<<31))
	}
	record := func(s string) string { return mark(len(s), 1) + s }
	grant, call, fail := raw("message-grant"), raw("message-call"), raw("message-error")
	for _, c := range []struct {
		name, flags, in string
		out             []string // in order
		errs            string
		code            int
	}{
		{
			"lines", "-split lines", two["message-grant"] + "\n\n  " + two["message-error"] + "\r\n",
			[]string{"message 1: line 1, 36 bytes\n00000000  ", "\n\nmessage 2: line 3, 32 bytes\n00000000  "},
			"looks like hex", exitClean,
		},
		{
			"a fault in a line", "-split lines -as hex", two["message-grant"] + "\n" + two["message-error"][:40] + "\n" + two["message-grant"],
			[]string{"message 1: line 1", "message 2: line 2, 20 bytes", "^ fault: short", "message 3: line 3"},
			"message 2: body.rdma_err: offset 20 (0x14): found 0 bytes before the end of the input, expected 4", exitFindings,
		},
		{"a line that is not hex", "-split lines -as hex", "00\n0x\n0g\n", nil, "xdrgen: line 3: the data is not valid hex", exitFindings},
		{"no line", "-split lines", "\n \n", nil, "found no line with data", exitFindings},
		{"lines of raw data", "-split lines", grant, nil, "-split lines: the data is raw", exitUsage},
		{
			"ends", "-split ends", grant + fail + call,
			[]string{"message 1: offset 0, 36 bytes", "message 2: offset 36, 32 bytes", "message 3: offset 68, 76 bytes", "payload = 40 bytes"},
			"", exitClean,
		},
		{
			"a fault between ends", "-split ends", grant + fail[:30],
			[]string{"message 1: offset 0, 36 bytes", "message 2: offset 36, 30 bytes", "^ fault: short"},
			"message 2: body.rdma_writeres.rdma_length_needed: offset 28 (0x1c): found 2 bytes", exitFindings,
		},
		{"no message", "-split ends", "", []string{"message 1: offset 0, 0 bytes"}, "message 1: prefix.rdma_start.rdma_xid: offset 0", exitFindings},
		{"one message of two", "", grant + fail, []string{"^ fault: trailing"}, "offset 36 (0x24): found 32 bytes after the message, expected the end", exitFindings},
		{"the rest", "-rest", grant + fail, []string{"(32 bytes after the value, not decoded)"}, "", exitClean},
		{
			"records", "-split records", record(grant) + mark(10, 0) + call[:10] + record(call[10:]),
			[]string{"message 1: offset 0, 36 bytes", "message 2: offset 40, 76 bytes", "payload = 40 bytes"},
			"", exitClean,
		},
		{"a cut record", "-split records", record(grant)[:30], nil, "offset 0: the record mark announces a fragment of 36 bytes, found 26 (RFC 5531 §11)", exitFindings},
		{"a cut mark", "-split records", record(grant) + "ab", nil, "offset 40: found 2 bytes, expected a record mark of 4 bytes", exitFindings},
		{"a record without an end", "-split records", mark(4, 0) + "abcd", nil, "offset 8: found 0 bytes, expected a record mark", exitFindings},
		{"no record", "-split records", "", nil, "found no record in the input", exitFindings},
		{"an empty record", "-split records", mark(0, 1), []string{"message 1: offset 0, 0 bytes"}, "message 1: prefix", exitFindings},
		{"values of one type", "-type uint32 -split ends", "\x00\x00\x00\x05\x00\x00\x00\x06", []string{"uint32 1: offset 0, 4 bytes", "uint32 = 5", "uint32 2: offset 4, 4 bytes", "uint32 = 6"}, "", exitClean},
	} {
		args := append([]string{"dump", "-"}, strings.Fields(c.flags)...)
		if !strings.Contains(c.flags, "-type") {
			args = append(args, "-message")
		}
		args = append(args, unitOf(t, "../../spec/x/rpcrdma2")...)
		stdout, stderr, code := runWith(t, c.in, args...)
		rest := stdout
		for _, want := range c.out {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: %q is missing", c.name, want)
			}
			rest = after
		}
		if code != c.code || !strings.Contains(stderr, c.errs) || c.errs == "" && stderr != "" {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", c.name, code, c.code, c.errs, stdout, stderr)
		}
	}
}

// TestDumpSplitJSON checks the lines of JSON for several messages, and that -errors limits the
// faults in text alone.
func TestDumpSplitJSON(t *testing.T) {
	two := vectorsOf(t, "rpcrdma2")
	bad := prefixHex(5, 0) + "00000002 00000002 00000000 00000005 00000004 00000002\n"
	bad += prefixHex(5, 0) + "00000002 00000002 00000001 01000000 00000005 00000001 02000000\n"
	args := append([]string{"dump", "-", "-message", "-split", "lines", "-as", "hex"}, unitOf(t, "../../spec/x/rpcrdma2")...)
	stdout, stderr, code := runWith(t, two["message-error"]+"\n"+bad, append(args, "-format", "json")...)
	if code != exitFindings || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	var types []string
	last := map[string]any{}
	for line := range strings.Lines(stdout) {
		last = map[string]any{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
		if last["type"] != "item" {
			types = append(types, fmt.Sprint(last["type"]))
		}
	}
	if got := strings.Join(types, " "); got != "message message message error error summary" {
		t.Errorf("lines of the types %s", got)
	}
	if last["messages"] != 3.0 || last["complete"] != false || last["input_bytes"] != 124.0 || last["decoded_bytes"] != 124.0 {
		t.Errorf("summary %v", last)
	}
	_, stderr, code = runWith(t, bad, append(args, "-errors", "1")...)
	if code != exitFindings || strings.Count(stderr, "xdrgen: message ") != 1 || !strings.Contains(stderr, "xdrgen: more faults: 1 (-errors 0 shows all)") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
