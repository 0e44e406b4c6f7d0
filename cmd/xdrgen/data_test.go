package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/form"
	"github.com/rpcrdma/rpcrdma/internal/cli"
)

const dataUnit = `enum color { RED = 0, GREEN = 7 };
struct item { color c; opaque id[6]; string name<8>; unsigned hyper n; };
struct list { item entry; list *next; };
union reply switch (bool ok) { case TRUE: list *items; case FALSE: void; };
program P { version V { reply GET(int) = 1; } = 1; } = 9;
`

// runWith is runCommand with text on standard input.
func runWith(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, environment{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, terminal: cli.IsTerminal,
	})
	return out.String(), errs.String(), code
}

const (
	replyHex  = "00000001 00000001 00000007 010203040506 0000 00000002 68690000 0000000000000005 00000001 00000000 aaaaaaaaaaaa0000 00000000 0000000000010000 00000000"
	replyDump = `00000000  00 00 00 01              ok = TRUE
00000004  00 00 00 01              items: element 0 follows
00000008  00 00 00 07              items[0].entry.c = GREEN (7)
0000000c  01 02 03 04 05 06 00 00  items[0].entry.id = 6 bytes
00000014  00 00 00 02              items[0].entry.name: 2 bytes
00000018  68 69 00 00              items[0].entry.name = "hi"
0000001c  00 00 00 00 00 00 00 05  items[0].entry.n = 5
00000024  00 00 00 01              items: element 1 follows
00000028  00 00 00 00              items[1].entry.c = RED (0)
0000002c  aa aa aa aa aa aa 00 00  items[1].entry.id = 6 bytes
00000034  00 00 00 00              items[1].entry.name: 0 bytes
00000038  00 00 00 00 00 01 00 00  items[1].entry.n = 65536
00000040  00 00 00 00              items: end of list
`
	replyJSON = `{"discriminant":true,"arm":[{"entry":{"c":"GREEN","id":"010203040506","name":"hi","n":"5"}},{"entry":{"c":"RED","id":"aaaaaaaaaaaa","name":"","n":"65536"}}]}`
)

func dataFiles(t *testing.T) (unit string, at func(string) string) {
	dir := writeFiles(t, map[string]string{
		"u.x":     dataUnit,
		"bad.x":   "struct a { nothing x; };\n",
		"given.x": "struct b { nothing x; };\n",
		"hex":     replyHex + "\n",
		"base64":  "AAAAAQAAAAEAAAAHAQIDBAUGAAAAAAACaGkAAAAAAAAAAAAFAAAAAQAAAACqqqqqqqoAAAAAAAAAAAAAAAEAAAAAAAA=\n",
	})
	return filepath.Join(dir, "u.x"), func(name string) string { return filepath.Join(dir, name) }
}

// TestEachFormOfInputGivesOneDump checks that every form of input gives the same dump.
func TestEachFormOfInputGivesOneDump(t *testing.T) {
	unit, at := dataFiles(t)
	raw, err := form.Decode([]byte(replyHex), "hex")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, stdin string
		args        []string
		note        string
	}{
		{"hex flag", "", []string{"-hex", replyHex}, ""},
		{"hex flag with 0x", "", []string{"-hex", "0x" + replyHex}, ""},
		{"raw on stdin", string(raw), []string{"-"}, ""},
		{"hex on stdin", replyHex, []string{"-"}, "looks like hex"},
		{"hex file", "", []string{at("hex")}, "looks like hex"},
		{"hex file with -as hex", "", []string{"-as", "hex", at("hex")}, ""},
		{"base64 file", "", []string{at("base64")}, "looks like base64"},
	} {
		stdout, stderr, code := runWith(t, c.stdin, append([]string{"dump", "-type", "reply", unit}, c.args...)...)
		if code != exitClean || stdout != replyDump || (stderr == "") != (c.note == "") || !strings.Contains(stderr, c.note) {
			t.Errorf("%s: exit code %d, stderr %q\n%s", c.name, code, stderr, stdout)
		}
	}
	stdout, _, code := runWith(t, "", "dump", "-type", "P.V.GET.args", "-rest", "-hex", "00000001 00ff", unit)
	if want := "00000000  00 00 00 01              arg1 = 1\n00000004  00 ff                    (2 bytes after the value, not decoded)\n"; code != exitClean || stdout != want {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

// TestDumpFault checks that a dump shows the items before a fault, and the fault.
func TestDumpFault(t *testing.T) {
	unit, _ := dataFiles(t)
	for _, c := range []struct{ typ, hex, stdout, stderr string }{
		{
			"reply", "00000001 00000001 00000003",
			"00000000  00 00 00 01              ok = TRUE\n00000004  00 00 00 01              items: element 0 follows\n" +
				"00000008  00 00 00 03              ^ fault: enum\n",
			"xdrgen: reply: items[0].entry.c: offset 8 (0x8): found 3, which is not a member of enum color\n  = rule: RFC 4506 §4.3\n",
		},
		{
			"reply", "00000000 00000000",
			"00000000  00 00 00 00              ok = FALSE\n00000004  00 00 00 00              ^ fault: trailing\n",
			"xdrgen: reply: offset 4 (0x4): found 4 bytes after the value, expected the end\n  = rule: the data is one value\n",
		},
		{
			"color", "", "00000000                           ^ fault: short\n",
			"xdrgen: color: offset 0 (0x0): found 0 bytes before the end of the input, expected 4\n  = rule: RFC 4506 §3\n",
		},
	} {
		stdout, stderr, code := runWith(t, "", "dump", "-type", c.typ, "-hex", c.hex, unit)
		if code != exitFindings || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s %s: exit code %d\n%s%s", c.typ, c.hex, code, stdout, stderr)
		}
	}
}

// TestDumpJSON checks the JSON output: one object per line, versions and types, and items that
// add up to the input.
func TestDumpJSON(t *testing.T) {
	unit, _ := dataFiles(t)
	for hex, last := range map[string]string{replyHex: "item", "0000000100000002": "error"} {
		stdout, stderr, _ := runWith(t, "", "dump", "-type", "reply", "-format", "json", "-hex", hex, unit)
		if stderr != "" {
			t.Errorf("stderr %q", stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		total, kind := 0, ""
		for _, l := range lines {
			var f struct {
				V            int
				Type, Path   string
				Length_bytes int
				Where        struct{ Offset int }
				Complete     bool
			}
			if err := json.Unmarshal([]byte(l), &f); err != nil || f.V != 1 {
				t.Fatalf("%s: %v", l, err)
			}
			if f.Type == "summary" {
				if kind != last || f.Complete != (last == "item") {
					t.Errorf("after %s: %s", kind, l)
				}
				break
			}
			if kind = f.Type; kind == "error" && f.Where.Offset != 4 {
				t.Error(l)
			}
			total += f.Length_bytes
		}
		if want := map[string]int{"item": 68, "error": 4}[last]; total != want {
			t.Errorf("%s: %d bytes, expected %d", last, total, want)
		}
	}
}

// TestLongItem checks that long opaque data is cut, except with -all.
func TestLongItem(t *testing.T) {
	file := filepath.Join(writeFiles(t, map[string]string{"u.x": "typedef opaque blob[4096];\n"}), "u.x")
	for args, lines := range map[string]int{"": maxLines + 1, "-all": 4096 / perLine} {
		stdout, _, code := runWith(t, strings.Repeat("\x00a", 2048), append([]string{"dump", "-type", "blob", "-", file}, strings.Fields(args)...)...)
		if n := strings.Count(stdout, "\n"); code != exitClean || n != lines {
			t.Errorf("%q: exit code %d, %d lines, expected %d", args, code, n, lines)
		}
	}
}

func TestJSONCommand(t *testing.T) {
	unit, _ := dataFiles(t)
	want := `{"v":1,"type":"value","xdr_type":"reply","value":` + replyJSON + "}\n"
	stdout, stderr, code := runWith(t, "", "json", "-type", "reply", "-compact", "-hex", replyHex, unit)
	if code != exitClean || stdout != want || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	raw, err := form.Decode([]byte(replyHex), "hex")
	if err != nil {
		t.Fatal(err)
	}
	pretty, _, _ := runWith(t, "", "json", "-type", "reply", "-hex", replyHex, unit)
	for _, c := range []struct{ args, stdin, want string }{
		{"", stdout, string(raw)},
		{"", pretty, string(raw)},
		{"-bare", replyJSON, string(raw)},
		{"-bare -as hex", replyJSON, strings.ReplaceAll(replyHex, " ", "") + "\n"},
		{"-bare -as base64", `{"discriminant":false}`, "AAAAAA==\n"},
	} {
		args := append([]string{"json", "-encode", "-type", "reply", "-", unit}, strings.Fields(c.args)...)
		if stdout, stderr, code := runWith(t, c.stdin, args...); code != exitClean || stdout != c.want {
			t.Errorf("%s: exit code %d, %q %s", c.args, code, stdout, stderr)
		}
	}
	_, stderr, code = runWith(t, "{\n  \"discriminant\": tru\n}", "json", "-encode", "-bare", "-type", "reply", "-", unit)
	if code != exitFindings || !strings.Contains(stderr, "xdrgen: reply: offset 20 (0x14): line 2, column 19: ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	_, stderr, code = runWith(t, "", "json", "-type", "reply", "-hex", "00000005", unit)
	if code != exitFindings || !strings.Contains(stderr, "reply: ok: offset 0 (0x0): found 5 (0x5), expected 0 or 1") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestDataUsage(t *testing.T) {
	unit, at := dataFiles(t)
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"dump -hex 00 " + unit, "-type is missing; the types are color, item, list, reply, P.V.GET.args, P.V.GET.result", exitUsage},
		{"dump -type rply -hex 00 " + unit, "type rply is not declared; did you mean reply?", exitUsage},
		{"dump -type reply -type item -hex 00 " + unit, "found -type reply and -type item; the data has one type", exitUsage},
		{"dump -type reply -type item= -hex 00 " + unit, "expected NAME=XDRTYPE", exitUsage},
		{"dump -type b -type nothing=hyper -hex 0000000000000001 " + at("given.x"), "", exitClean},
		{"dump -type PP.V.GET.args -hex 00 " + unit, "program PP is not declared; did you mean P.V.GET.args?", exitUsage},
		{"dump -type NFS_PROGRAM.V.GET.args -hex 00 " + unit, "program NFS_PROGRAM is not declared; expected one of P\n", exitUsage},
		{"dump -type P.NFS_VERSION.GET.args -hex 00 " + unit, "program P has no version NFS_VERSION; expected one of P.V\n", exitUsage},
		{"dump -type P.V.NFSPROC_READ.args -hex 00 " + unit, "version P.V has no procedure NFSPROC_READ; expected one of P.V.GET\n", exitUsage},
		{"dump -type P.V.GET -hex 00 " + unit, "P.V.GET is a procedure, not a type; expected one of P.V.GET.args, P.V.GET.result", exitUsage},
		{"dump -type zzzzzzz -hex 00 " + unit, "type zzzzzzz is not declared; expected one of color", exitUsage},
		{"dump -type reply " + unit, "no data: expected a file, - for standard input, or -hex STRING", exitUsage},
		{"dump -type reply -hex 00 " + at("hex") + " " + unit, "found data in -hex and in", exitUsage},
		{"dump -type reply " + at("hex") + " " + at("base64") + " " + unit, "found two data files", exitUsage},
		{"dump -type reply -hex 00", "FILE is missing", exitUsage},
		{"dump -type reply " + at("hex"), "no .x file", exitUsage},
		{"dump -type reply -hex 0x0 " + unit, "the data is not valid hex: found an odd number of digits, 1, expected two for each byte", exitFindings},
		{"dump -type reply -hex 0z " + unit, `the data is not valid hex: found "z", expected the digits 0 to 9 and a to f`, exitFindings},
		{"dump -type reply -as base64 " + unit + " -hex 00?", "the data is not valid base64", exitFindings},
		{"dump -type reply -hex 00 " + at("none.x"), "none.x", exitFailed},
		{"dump -type reply " + at("none") + " " + unit, "none", exitFailed},
		{"dump -type a -hex 00 " + at("bad.x"), "undefined-type", exitFindings},
		{"json -type reply -encode -hex 00 " + unit, "-encode reads JSON", exitUsage},
	} {
		_, stderr, code := runWith(t, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("xdrgen %s: exit code %d, %s", c.args, code, stderr)
		}
	}
}

// XDR that is expected, and JSON that is given, lead to the flag that reads JSON.
func TestJSONInPlaceOfXDRNamesTheFlag(t *testing.T) {
	unit, _ := dataFiles(t)
	_, stderr, code := runWith(t, `{"count":"many"}`, "json", "-type", "reply", "-as", "raw", "-", unit)
	if code != exitFindings || !strings.Contains(stderr, "the data is JSON: xdrgen json -encode") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestDiffShowsWhatGenWouldWrite checks that diff shows what gen would write, and writes nothing.
func TestDiffShowsWhatGenWouldWrite(t *testing.T) {
	dir := writeFiles(t, map[string]string{"u.x": dataUnit})
	out := filepath.Join(dir, "out")
	args := []string{"-o", out, "-package", "u", filepath.Join(dir, "u.x")}
	stdout, stderr, code := runCommand(t, append([]string{"diff"}, args...)...)
	name := filepath.ToSlash(out) + "/u_xdr.go"
	if code != exitFindings || !strings.HasPrefix(stdout, "--- /dev/null\n+++ "+name+"\n@@ -0,0 +1,") || stderr != "" {
		t.Errorf("missing: exit code %d, %.200s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("diff created the folder")
	}
	if _, stderr, code := runCommand(t, append([]string{"gen"}, args...)...); code != exitClean {
		t.Fatal(stderr)
	}
	if stdout, _, code := runCommand(t, append([]string{"diff"}, args...)...); code != exitClean || stdout != "" {
		t.Errorf("same: exit code %d, %s", code, stdout)
	}
	if err := os.WriteFile(filepath.Join(dir, "u.x"), []byte(strings.Replace(dataUnit, "GREEN = 7", "GREEN = 8", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, _, code = runCommand(t, append([]string{"diff"}, args...)...)
	if code != exitFindings || !strings.HasPrefix(stdout, "--- "+name+"\n+++ "+name+"\n@@ ") || !strings.Contains(stdout, "\n-") {
		t.Errorf("changed: exit code %d, %s", code, stdout)
	}
	runCommand(t, append([]string{"gen"}, args...)...)
	for file, text := range map[string]string{
		"old_xdr.go": generatedBy + "from old.x. DO NOT EDIT.\n", "u_xdr_test.go": generatedBy + "from u.x. DO NOT EDIT.\n",
		"mine_xdr.go": "package u\n", "other.go": generatedBy + "x\n",
	} {
		if err := os.WriteFile(filepath.Join(out, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.ToSlash(out) + "/old_xdr.go"
	stdout, _, code = runCommand(t, append([]string{"diff"}, args...)...)
	if want := "--- " + old + "\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-" + generatedBy + "from old.x. DO NOT EDIT.\n"; code != exitFindings || stdout != want {
		t.Errorf("stale: exit code %d, %s", code, stdout)
	}
	if stdout, stderr, code = runCommand(t, append([]string{"gen"}, args...)...); code != exitClean || stdout != "" || !strings.HasPrefix(stderr, "xdrgen: "+old+" is stale: ") {
		t.Errorf("stale: exit code %d, %s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "u.x"), []byte("struct a { nothing x; };"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code = runCommand(t, append([]string{"diff"}, args...)...); code != exitFindings || !strings.Contains(stderr, "undefined-type") {
		t.Errorf("bad: exit code %d, %s", code, stderr)
	}
}

// Strings of a message do not reach the terminal as they are (RFC 8259 §7 has escapes for them).
func TestJSONHostileText(t *testing.T) {
	unit, _ := dataFiles(t)
	const item = "00000000 000000000000 0000 00000006 7f c29b e280ae 0000 0000000000000000"
	for _, args := range [][]string{{"json", "-type", "item", "-hex", item, unit}, {"dump", "-type", "item", "-format", "json", "-hex", item, unit}} {
		stdout, stderr, code := runWith(t, "", args...)
		if code != exitClean || !strings.Contains(stdout, `"\u007f\u009b\u202e"`) {
			t.Errorf("%s: exit %d, %+q%s", args[0], code, stdout, stderr)
		}
	}
}

// Captures are recognized in both byte orders and formats. -as raw decodes any file.
func TestCapturesAreNotTakenForMessages(t *testing.T) {
	unit, at := dataFiles(t)
	for kind, begin := range map[string][]string{
		"pcapng": {"\x0a\x0d\x0d\x0a\x00\x00\x00\x1c\x1a\x2b\x3c\x4d", "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a"},
		"pcap":   {"\xa1\xb2\xc3\xd4\x00\x02\x00\x04\x00\x00\x00\x00", "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00", "\x4d\x3c\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00"},
	} {
		for _, b := range begin {
			name := at("capture")
			if err := os.WriteFile(name, []byte(b), 0o666); err != nil {
				t.Fatal(err)
			}
			_, stderr, code := runCommand(t, "json", "-rpc", name, unit)
			if code != exitUsage || !strings.Contains(stderr, "is a capture ("+kind+"), expected the bytes of a message; xdrgen dump ") {
				t.Errorf("%x: exit code %d, %s", b, code, stderr)
			}
			if stdout, stderr, _ := runCommand(t, "dump", "-rpc", "-as", "raw", name, unit); !strings.Contains(stdout, fmt.Sprintf("rpc.xid = 0x%x\n", b[:4])) {
				t.Errorf("%x: -as raw: %s%s", b, stdout, stderr)
			}
		}
	}
	for _, near := range []string{"0a0d0d0a 00000000", "0a0d0d0a 00000000 1a2b3c4e", "a1b2c3d4 00020003 00000000"} {
		data, err := form.Decode([]byte(near), "hex")
		if kind := packets.Kind(data); kind != "" || err != nil {
			t.Errorf("%s: %s, %v", near, kind, err)
		}
	}
}
