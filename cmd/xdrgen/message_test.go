package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRPCUnit checks that the embedded RPC message is the same as that of spec/x.
func TestRPCUnit(t *testing.T) {
	for _, name := range []string{"oncrpc.x", "oncrpc.bind"} {
		text, err := os.ReadFile(filepath.Join("../../spec/x/oncrpc", name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("oncrpc", name), text)
	}
	if _, err := rpcMessage(); err != nil {
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
	common := []string{"-type", "rpcrdma2_hdr_prefix", "-body", "rdma_start.rdma_htype", "../../spec/x/rpcrdma2/common.x", "../../spec/x/rpcrdma2/baseops.x"}
	t.Chdir("../../gen/rpcrdma2")
	seen := 0
	for _, v := range xdrtest.OfType(xdrtest.Load(t), "message") {
		plain, rpc := []string{"header", "body"}, []string{"header", "body"}
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
enum kind { NUMBER = 1, NOTHING = 2, LIST = 3, OTHER = 4 };
struct node { int v; node *next; };
typedef hyper number;
program P { version V { hyper GET(int, opaque<>) = 1; void PUT(int) = 2; } = 4; } = 9;
---
code header-type NUMBER number
code header-type NOTHING void
code header-type LIST node
`

const (
	callHead  = "00000007 00000000 00000002 00000009 00000004 "
	noAuth    = " 00000000 00000000 00000000 00000000 " // credential, verifier
	replyHead = "00000007 00000001 00000000 00000000 00000000 "
)

// TestMessages dumps messages of all forms: with a body, an RPC message, its arguments and its
// results (RFC 5531 §9).
func TestMessages(t *testing.T) {
	unit := messageFile(t)
	for _, c := range []struct{ name, flags, hex, want string }{
		{"body of fixed size", "-type head -body k", "00000005 00000001 0000000000000009", `{"header":{"a":5,"k":"NUMBER"},"body":"9"}`},
		{"no body", "-type head -body k", "00000005 00000002", `{"header":{"a":5,"k":"NOTHING"}}`},
		{"no body, payload", "-type head -body k", "00000005 00000002 01020304", `{"header":{"a":5,"k":"NOTHING"},"payload":"01020304"}`},
		{"body that is a list node", "-type head -body k", "00000005 00000003 00000001 00000001 00000002 00000000", `{"header":{"a":5,"k":"LIST"},"body":[{"v":1},{"v":2}]}`},
		{"number without a code point", "-type head -body k", "00000005 00000004 0a0b0c0d", `{"header":{"a":5,"k":"OTHER"},"payload":"0a0b0c0d"}`},
		{"header, then RPC", "-type number -rpc", "0000000000000001" + replyHead + "00000003", `{"header":"1","rpc":{"xid":7,"body":{"discriminant":"REPLY","arm":{"discriminant":"MSG_ACCEPTED","arm":{"verf":{"flavor":"AUTH_NONE","body":""},"reply_data":{"discriminant":"PROC_UNAVAIL"}}}}}}`},
		{"no RPC message behind the body", "-type head -body k -rpc", "00000005 00000002", `{"header":{"a":5,"k":"NOTHING"}}`},
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
		{"dump -type head -body k", "00000005 00000001 00000000", "body: offset 8", exitFindings},
		{"dump -type head -body k", "00000005 00000009 00000000", "header.k: offset 4", exitFindings},
		{"dump -type head -body k", "00000005 00000002 010203", "offset 8 (0x8): found 3 bytes after the value", exitFindings},
		{"dump -rpc", callHead + "00000001" + noAuth + "0000000a 00000004 01", "args.arg2: offset 48", exitFindings},
		{"dump -rpc", callHead + "00000002" + noAuth + "0000000a 00000004", "offset 44 (0x2c): found 4 bytes after the value", exitFindings},
		{"dump -rpc", "00000007", "rpc.body.mtype: offset 4", exitFindings},
		{"dump -type head -body z", "00000005 00000001", "-body: head has no field z", exitUsage},
		{"dump -type node -body next", "00000005 00000000", "has no field next", exitUsage},
		{"dump -type number -body z", "0000000000000001", "number has no field z", exitUsage},
		{"dump -rpc -proc P.V.GOT", "00000007", "version P.V has no procedure GOT; did you mean P.V.GET.result?", exitUsage},
		{"dump -body k", "00", "-body needs -type", exitUsage},
		{"dump -type head -proc P.V.GET", "00", "-proc needs -rpc", exitUsage},
		{"json -type head -body k -encode", "", "leave out -body and -rpc", exitUsage},
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
	dir := writeFiles(t, map[string]string{"u.x": "struct head { int k; string s<>; };\n"})
	for field, want := range map[string]string{"k": "no \"code header-type\" lines"} {
		if _, stderr, code := runWith(t, "", "dump", "-type", "head", "-body", field, "-hex", "00000000", filepath.Join(dir, "u.x")); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("without a sidecar: exit code %d, %s", code, stderr)
		}
	}
}

// TestExtensionMessages checks that a unit that extends another uses the code points of both.
func TestExtensionMessages(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"ext.x": "#include \"rpcrdma2/baseops.x\"\nconst EXT_MORE = 99;\nstruct ext_more { hyper h; };\n", "ext.bind": "code header-type EXT_MORE ext_more\n",
	})
	for htype, want := range map[string]string{"00000063 00000000 0000000000000007": `"body":{"h":"7"}`, "00000005 00000000 00000000": `"body":{"rdma_props":[]}`} {
		stdout, stderr, code := runWith(t, "", "json", "-compact", "-type", "rpcrdma2_hdr_prefix", "-body", "rdma_start.rdma_htype",
			"-I", "../../spec/x", "-hex", "00000001 00000002 00000003"+htype, filepath.Join(dir, "ext.x"))
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
		"00000005 00000003 00000001 00000001 00000002 00000000", "00000005 00000004",
	} {
		raw, err := unform([]byte(text), "hex")
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
	rpc, err := rpcMessage()
	if err != nil {
		f.Fatal(err)
	}
	programs, codes := dynamic.Programs(r.Unit), headerCodes(r)
	kinds := []dynamic.Message{
		{Header: find("head"), Path: "k", Codes: codes},
		{RPC: rpc, Programs: programs, Result: find("P.V.GET.result")},
		{Header: find("head"), Path: "k", Codes: codes, RPC: rpc, Programs: programs},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind, m := range kinds {
			typ, err := m.Type(data, limits(data))
			if err != nil {
				t.Fatal(err)
			}
			root, err := dynamic.Decode(data, typ, limits(data))
			var fault *dynamic.Error
			errors.As(err, &fault)
			for _, all := range []bool{false, true} {
				d := dumper{out: bufio.NewWriter(io.Discard), data: data, name: "message", all: all}
				d.text(root, fault)
				d.json(root, fault)
			}
			var seen []byte
			for row := range dynamic.Rows(root) {
				seen = append(seen, data[row.Offset:row.Offset+row.Length]...)
			}
			if !bytes.Equal(seen, data[:root.Length]) {
				t.Errorf("kind %d: rows of % x, of data % x", kind, seen, data[:root.Length])
			}
			if err == nil && root.Length < len(data) && len(data)%4 == 0 && len(typ.Ref.Fields) > 0 && typ.Ref.Fields[len(typ.Ref.Fields)-1].Name == "rpc" {
				t.Errorf("kind %d: %d bytes after the RPC message are not shown", kind, len(data)-root.Length)
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
