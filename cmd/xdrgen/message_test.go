package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/form"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/message"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRPCUnit checks that the embedded RPC message is the same as the one in spec/x.
func TestRPCUnit(t *testing.T) {
	for _, name := range []string{"oncrpc.x", "oncrpc.bind"} {
		text, err := os.ReadFile(filepath.Join("../../spec/x/oncrpc", name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("internal/message/oncrpc", name), text)
	}
	if _, err := message.RPC(); err != nil {
		t.Error(err)
	}
}

// fieldsOf returns the first elements of the paths in a dump, in order, and the bytes of all
// items.
func fieldsOf(t *testing.T, lines string) (fields []string, all string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var item struct{ Type, Path, Hex, Role string }
		if err := json.Unmarshal([]byte(line), &item); err != nil {
			t.Fatal(err)
		}
		if item.Type != "item" {
			continue
		}
		field, _, _ := strings.Cut(item.Path, ".")
		if n := len(fields); n == 0 || fields[n-1] != field {
			fields = append(fields, field)
		}
		all += item.Hex
	}
	return fields, all
}

// TestVersionTwoMessages dumps whole messages of version 2, with prefix, body and RPC message:
// R138, R148, R149 and R150.
func TestVersionTwoMessages(t *testing.T) {
	common := []string{"-message", "../../spec/x/rpcrdma2/common.x", "../../spec/x/rpcrdma2/baseops.x"}
	t.Chdir("../../gen/rpcrdma2")
	seen := 0
	for _, v := range xdrtest.OfType(xdrtest.Load(t), "message") {
		plain, rpc := []string{"prefix", "body"}, []string{"prefix", "body"}
		if v.Name == "message-call" {
			plain, rpc = append(plain, "payload"), append(rpc, "rpc")
		}
		seen++
		input := hex.EncodeToString(v.Bytes)
		for flag, want := range map[string][]string{"": plain, "-rpc": rpc} {
			args := append([]string{"-hex", input}, common...)
			if flag != "" {
				args = append(args, flag)
			}
			stdout, stderr, code := runWith(t, "", append([]string{"dump", "-format", "json"}, args...)...)
			fields, all := fieldsOf(t, stdout)
			if d := cmp.Diff(want, fields); d != "" || all != input || code != exitClean {
				t.Errorf("%s %s: exit code %d, bytes %s\n%s\n%s", v.Name, flag, code, all, stderr, d)
			}
			stdout, stderr, code = runWith(t, "", append([]string{"json", "-bare"}, args...)...)
			var value map[string]any
			if err := json.Unmarshal([]byte(stdout), &value); err != nil || len(value) != len(want) || code != exitClean {
				t.Errorf("%s %s: exit code %d, %v\n%s%s", v.Name, flag, code, err, stdout, stderr)
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d messages", seen)
	}
}

const messageUnit = `struct head { unsigned int a; kind k; };
enum kind { NUMBER = 1, NOTHING = 2, LIST = 3, OTHER = 4, ERROR = 5, CARRIER = 6 };
struct node { int v; node *next; };
typedef hyper number;
union fail switch (unsigned int code) { case 1: int low; default: void; };
const E_LOW = 1; const E_HINT = 9; const OP = 1; const NONE = 2;
struct carrier { int op; opaque info<>; };
program P { version V { hyper GET(int, opaque<>) = 1; void PUT(int) = 2; } = 4; } = 9;
---
code header-type NUMBER number
code header-type NOTHING void
code header-type LIST node
code header-type ERROR fail
code header-type CARRIER carrier
message head k
payload NUMBER
payload NOTHING
number fail.code error
code error E_LOW void
code error E_HINT number
number carrier.op operation info
code operation OP carrier
code operation NONE void
`

const (
	callHead  = "00000007 00000000 00000002 00000009 00000004 "
	noAuth    = " 00000000 00000000 00000000 00000000 " // credential, verifier
	replyHead = "00000007 00000001 00000000 00000000 00000000 "
)

// TestWholeMessagesAreDumped dumps messages of all forms: with a body, an RPC message, its
// arguments and its results (RFC 5531 §9).
func TestWholeMessagesAreDumped(t *testing.T) {
	unit := messageFile(t)
	for _, c := range []struct{ name, flags, hex, want string }{
		{"body of fixed size", "-message", "00000005 00000001 0000000000000009", `{"prefix":{"a":5,"k":"NUMBER"},"body":"9"}`},
		{"no body", "-message", "00000005 00000002", `{"prefix":{"a":5,"k":"NOTHING"}}`},
		{"no body, payload", "-message", "00000005 00000002 01020304", `{"prefix":{"a":5,"k":"NOTHING"},"payload":"01020304"}`},
		{"body that is a list node", "-message", "00000005 00000003 00000001 00000001 00000002 00000000", `{"prefix":{"a":5,"k":"LIST"},"body":[{"v":1},{"v":2}]}`},
		{"number without a code point", "-message", "00000005 00000004 0a0b0c0d", `{"prefix":{"a":5,"k":"OTHER"},"undecoded":"0a0b0c0d"}`},
		{"unknown header type, -rpc", "-message -rpc", "00000005 00000004 0a0b0c0d", `"undecoded":"0a0b0c0d"}`},
		{"payload that is not words", "-message", "00000005 00000002 010203", `"payload":"010203"}`},
		{"prefix by -type", "-message -type head", "00000005 00000002", `{"prefix":{"a":5,"k":"NOTHING"}}`},
		{"error without data", "-message", "00000005 00000005 00000001 00000003", `"body":{"discriminant":1,"arm":3}}`},
		{"error with data after the body", "-message", "00000005 00000005 00000009 0000000000000007", `"body":{"discriminant":9},"data":"7"}`},
		{"unknown error", "-message", "00000005 00000005 00000008", `"body":{"discriminant":8}}`},
		{"body, then RPC", "-message -rpc", "00000005 00000001 0000000000000009" + replyHead + "00000003", `"body":"9","rpc":{"xid":7,`},
		{"header, then RPC", "-type number -rpc", "0000000000000001" + replyHead + "00000003", `{"header":"1","rpc":{"xid":7,"body":{"discriminant":"REPLY","arm":{"discriminant":"MSG_ACCEPTED","arm":{"verf":{"flavor":"AUTH_NONE","body":""},"reply_data":{"discriminant":"PROC_UNAVAIL"}}}}}}`},
		{"no RPC message behind the body", "-message -rpc", "00000005 00000002", `{"prefix":{"a":5,"k":"NOTHING"}}`},
		{"call", "-rpc", callHead + "00000001" + noAuth + "0000000a 00000000", `"args":{"arg1":10,"arg2":""}}`},
		{"call without arguments left", "-rpc", callHead + "00000063" + noAuth, `"verf":{"flavor":"AUTH_NONE","body":""}}}}}`},
		{"call of an unknown procedure", "-rpc", callHead + "00000063" + noAuth + "0000000a", `"payload":"0000000a"}`},
		{"call with a flavour of others", "-rpc", callHead + "00000002 0005f379 00000000 00000000 00000000 0000000a", `"flavor":390009,`},
		{"reply", "-rpc -proc P.V.GET", replyHead + "00000000 00000000 00000008", `"reply_data":{"discriminant":"SUCCESS"}}}}},"result":"8"}`},
		{"reply by .result", "-rpc -proc P.V.GET.result", replyHead + "00000000 00000000 00000008", `"result":"8"}`},
		{"reply without results", "-rpc -proc P.V.PUT", replyHead + "00000000", `"reply_data":{"discriminant":"SUCCESS"}}}}}}`},
		{"reply to an unknown procedure", "-rpc", replyHead + "00000000 00000000 00000008", `"payload":"0000000000000008"}`},
		{"reply with a mismatch", "-rpc -proc P.V.GET", replyHead + "00000002 00000003 00000004", `"reply_data":{"discriminant":"PROG_MISMATCH","arm":{"low":3,"high":4}}`},
		{"reply that refuses", "-rpc -proc P.V.GET", "00000007 00000001 00000001 00000001 00000001", `{"discriminant":"AUTH_ERROR","arm":"AUTH_BADCRED"}`},
	} {
		stdout, stderr, code := runWith(t, "", append(strings.Fields("json -bare -compact "+c.flags), "-hex", c.hex, unit)...)
		if code != exitClean || !strings.Contains(stdout, c.want) || stderr != "" {
			t.Errorf("%s: exit code %d\n%s%swant %s", c.name, code, stdout, stderr, c.want)
		}
	}
}

// TestMessageFaults checks the position of faults in a message, and the errors for flags that
// lack another one.
func TestMessageFaults(t *testing.T) {
	unit := messageFile(t)
	for _, c := range []struct {
		flags, hex, want string
		code             int
	}{
		{"dump -message", "00000005 00000001 00000000", "body: offset 8", exitFindings},
		{"dump -message", "00000005 00000009 00000000", "prefix.k: offset 4", exitFindings},
		{"dump -message", "000000", "prefix.a: offset 0 (0x0): found 3 bytes before the end of the input, expected 4", exitFindings},
		{"dump -message", "00000005", "prefix.k: offset 4 (0x4): found 0 bytes before the end of the input, expected 4", exitFindings},
		{"dump -message", "00000005 00000001", "body: offset 8 (0x8): found 0 bytes before the end of the input, expected 8", exitFindings},
		{"dump -message", "00000005 00000005 00000009 00000000", "data: offset 12 (0xc): found 4 bytes before the end of the input, expected 8", exitFindings},
		{"dump -message", "00000005 00000005 00000001 00000003 00000004", "offset 16 (0x10): found 4 bytes after the message, expected the end", exitFindings},
		{"dump -message", "00000005 00000003 00000001 00000000 01", "= note: a payload follows only header types with a payload line in the sidecar, and LIST has none", exitFindings},
		{"dump -rpc", callHead + "00000001" + noAuth + "0000000a 00000004 01", "args.arg2: offset 48", exitFindings},
		{"dump -rpc", callHead + "00000002" + noAuth + "0000000a 00000004", "offset 44 (0x2c): found 4 bytes after the message", exitFindings},
		{"dump -rpc", "00000007", "rpc.body.mtype: offset 4", exitFindings},
		{"dump -message -type node", "00", "-message: found -type node, expected a struct that messages begin with: head", exitUsage},
		{"dump -split ends -rest -type head", "00", "leave out -rest", exitUsage},
		{"dump -rpc -proc P.V.GOT", "00000007", "version P.V has no procedure GOT; did you mean P.V.GET.result?", exitUsage},
		{"dump -type head -proc P.V.GET", "00", "-proc needs -rpc", exitUsage},
		{"json -message -encode", "", "leave out -message and -rpc", exitUsage},
	} {
		args := append(strings.Fields(c.flags), unit)
		if c.hex != "" {
			args = append(args, "-hex", c.hex)
		} else {
			args = append(args, "-")
		}
		stdout, stderr, code := runWith(t, "{}", args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s %s: exit code %d\n%s%swant %s", c.flags, c.hex, code, stdout, stderr, c.want)
		}
	}
	for sidecar, want := range map[string]string{
		"":                                  "no sidecar of the unit has a message line",
		"message head k\nmessage other k\n": "messages begin with head or other; choose one with -type",
	} {
		dir := writeFiles(t, map[string]string{"u.x": "struct head { int k; string s<>; };\nstruct other { int k; };\n", "u.bind": sidecar})
		if _, stderr, code := runWith(t, "", "dump", "-message", "-hex", "00000000", filepath.Join(dir, "u.x")); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("sidecar %q: exit code %d, %s", sidecar, code, stderr)
		}
	}
}

// TestExtensionMessages checks that a unit that extends another uses the code points of both.
func TestExtensionMessages(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"ext.x": "#include \"rpcrdma2/baseops.x\"\nconst EXT_MORE = 99;\nstruct ext_more { hyper h; };\n", "ext.bind": "code header-type EXT_MORE ext_more\n",
	})
	for htype, want := range map[string]string{"00000063 00000000 0000000000000007": `"body":{"h":"7"}`, "00000005 00000000 00000000": `"body":{"rdma_props":[]}`} {
		stdout, stderr, code := runWith(t, "", "json", "-compact", "-message", "-I", "../../spec/x", "-hex", "00000001 00000002 00000003"+htype, filepath.Join(dir, "ext.x"))
		if code != exitClean || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit code %d\n%s%s", htype, code, stdout, stderr)
		}
	}
}

func messageFile(t *testing.T) string {
	t.Helper()
	text, sidecar, _ := strings.Cut(messageUnit, "---\n")
	return filepath.Join(writeFiles(t, map[string]string{"u.x": text, "u.bind": sidecar}), "u.x")
}

// FuzzMessage dumps arbitrary bytes as a message. It must not panic, and the rows must cover the
// bytes from the start, each once.
func FuzzMessage(f *testing.F) {
	for _, text := range []string{
		"00000005 00000001 0000000000000009" + callHead + "00000001" + noAuth + "0000000a 00000000", "00000005 00000002" + replyHead + "00000000 00000000 00000008",
		"00000005 00000003 00000001 00000001 00000002 00000000", "00000005 00000004", "00000005 00000005 00000009 0000000000000007",
		"00000005 00000006 00000001 00000010 00000001 00000008 00000001 00000000", "00000005 00000006 00000002 00000004 00000001",
	} {
		raw, err := form.Decode([]byte(text), "hex")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	text, sidecar, _ := strings.Cut(messageUnit, "---\n")
	r, err := sema.Compile(sema.Options{Files: []string{"u.x"}, FS: twoFiles{"u.x": text, "u.bind": sidecar}})
	if err != nil || r.Unit == nil {
		f.Fatalf("%v %v", err, r)
	}
	find := func(name string) *ir.Type {
		found, err := dynamic.Find(r.Unit, name)
		if err != nil {
			f.Fatal(err)
		}
		return found
	}
	rpc, err := message.RPC()
	if err != nil {
		f.Fatal(err)
	}
	of := dataType{unit: r, codes: dynamic.NewCodes(message.Sidecars(r)...)}
	head, err := message.Prefix(r, "")
	if err != nil {
		f.Fatal(err)
	}
	programs := dynamic.Programs(r.Unit)
	kinds := []dynamic.Message{
		{Prefix: head, Codes: of.codes},
		{RPC: rpc, Programs: programs, Result: find("P.V.GET.result")},
		{Prefix: head, Codes: of.codes, RPC: rpc, Programs: programs},
		{Header: find("head"), RPC: rpc, Programs: programs},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind, m := range kinds {
			of.message = &m
			p := piece{data: data}
			p.decode(of, true)
			for _, asJSON := range []bool{false, true} {
				d := dumper{out: bufio.NewWriter(io.Discard), all: !asJSON, asJSON: asJSON}
				d.value("message", p)
			}
			root := p.root
			var seen []byte
			for row := range dynamic.Rows(root) {
				seen = append(seen, data[row.Offset:row.Offset+row.Length]...)
			}
			if !bytes.Equal(seen, data[:root.Length]) {
				t.Errorf("kind %d: rows of % x, of data % x", kind, seen, data[:root.Length])
			}
			for _, e := range p.faults() {
				if e.Offset+e.Length > len(data) {
					t.Errorf("kind %d: a fault of %d bytes at %d of %d", kind, e.Length, e.Offset, len(data))
				}
			}
			if m.Prefix != nil && p.fault == nil && root.Length < len(data) && root.Items[0].Items[1].Word < 3 && m.RPC == nil {
				t.Errorf("kind %d: %d bytes of payload are not shown", kind, len(data)-root.Length)
			}
		}
	})
}

// twoFiles is a file system with a few files.
type twoFiles map[string]string

func (m twoFiles) ReadFile(name string) ([]byte, error) {
	if text, ok := m[filepath.Base(name)]; ok {
		return []byte(text), nil
	}
	return nil, os.ErrNotExist
}

func (twoFiles) ReadDir(string) ([]os.DirEntry, error) { return nil, os.ErrNotExist }
