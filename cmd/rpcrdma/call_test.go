package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

const notesFile = "../../examples/notes/notes.x"

// board is a service of examples/notes. It counts the texts that came by RDMA Read, and keeps the
// credential of the last call.
type board struct {
	mu     sync.Mutex
	texts  map[string][]byte
	placed int
	cred   oncrpc.OpaqueAuth
}

func (b *board) Put(r *rpc.Request, args *notes.Note) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts[args.Name.String()] = bytes.Clone(args.Text)
	b.cred = oncrpc.OpaqueAuth{Flavor: r.Cred().Flavor, Body: bytes.Clone(r.Cred().Body)}
	return nil
}

func (b *board) Get(_ *rpc.Request, args *notes.NoteName, res *notes.GetRes) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.texts[args.String()]
	if !ok {
		res.Status = notes.NoteStatusUnknown
		return nil
	}
	res.Found = notes.Note{Name: *args, Text: text}
	return nil
}

func (b *board) List(_ *rpc.Request, res *notes.NoteNames) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.texts {
		*res = append(*res, notes.NoteName(name))
	}
	return nil
}

// servingNotes serves a board over TCP and RDMA until the test ends.
func servingNotes(t *testing.T) (b *board, tcpAddr, rdmaAddr string) {
	t.Helper()
	b = &board{texts: map[string][]byte{}}
	service := rpc.NewHandler(nil, notesrpc.NewService(b))
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		b.mu.Lock()
		b.placed += len(r.Placed)
		b.mu.Unlock()
		service.ServeRPC(r)
	})
	ctx := context.Background()
	byTCP, err := tcp.Listen(ctx, "127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	byRDMA, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []io.Closer{byTCP, byRDMA, dev} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return b, byTCP.Addr(), byRDMA.Addr()
}

// call runs rpcrdma call with an input.
func call(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs buffer
	code = run(context.Background(), append([]string{"call"}, args...), environment{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs})
	return code, out.String(), errs.String()
}

// A text is put over one carrier and read over the other, by names and by numbers.
func TestCallPutsAndReadsAText(t *testing.T) {
	b, tcpAddr, rdmaAddr := servingNotes(t)
	for _, tt := range []struct {
		args string
		want string
	}{
		{"-d {\"name\":\"a\",\"text\":{\"text\":\"hello\"}} " + notesFile + " " + tcpAddr + " NOTES.NOTES_V1.NOTES_PUT", "{}"},
		{"-carrier rdma -d \"a\" " + notesFile + " " + rdmaAddr + " NOTES.NOTES_V1.NOTES_GET", `{"discriminant":"NOTE_OK","arm":{"name":"a","text":"68656c6c6f"}}`},
		{"-carrier rdma -versions 2,1 -d {\"name\":\"b\",\"text\":{\"hex\":\"00ff\"}} -cred sys:1:2,3 " + notesFile + " " + rdmaAddr + " 0x20000200.1.1", "{}"},
		{"-d \"b\" " + notesFile + " " + tcpAddr + " 536871424.1.NOTES_GET", `{"discriminant":"NOTE_OK","arm":{"name":"b","text":"00ff"}}`},
		{"-d \"c\" " + notesFile + " " + tcpAddr + " NOTES.1.2", `{"discriminant":"NOTE_UNKNOWN"}`},
		{notesFile + " " + tcpAddr + " NOTES.NOTES_V1.NOTES_NULL", "{}"},
		{"-d {} " + notesFile + " " + rdmaAddr + " -carrier rdma NOTES.NOTES_V1.NOTES_NULL", "{}"},
	} {
		code, out, errs := call("", strings.Fields(tt.args)...)
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(out)); code != exitDone || err != nil || got.String() != tt.want || errs != "" {
			t.Errorf("%s: exit %d, %v, %s%s", tt.args, code, err, out, errs)
		}
	}
	sys, err := oncrpc.ParseAuthSys(&b.cred)
	if err != nil || sys.UID != 1 || sys.GID != 2 || fmt.Sprint(sys.GIDs) != "[3]" {
		t.Errorf("credential %v, %v", sys, err)
	}
	_, out, _ := call("", "-json", notesFile, tcpAddr, "NOTES.NOTES_V1.NOTES_LIST")
	if o := objects(t, out); len(o) != 1 || o[0]["type"] != "value" || o[0]["xdr_type"] != "NOTES.NOTES_V1.NOTES_LIST.result" || len(o[0]["value"].([]any)) != 2 {
		t.Errorf("with -json: %s", out)
	}
}

// A server's strings do not reach the terminal as they are: they could change its state, or show
// other text than there is (RFC 8259 §7 has escapes for them).
func TestCallHostileText(t *testing.T) {
	b, addr, _ := servingNotes(t)
	const hostile = "a\x7f\u009b31m\u202e\x1b[2J"
	b.texts[hostile] = nil
	for _, more := range [][]string{nil, {"-json"}} {
		code, out, _ := call("", append(more, notesFile, addr, "NOTES.NOTES_V1.NOTES_LIST")...)
		if code != exitDone || !strings.Contains(out, `"a\u007f\u009b31m\u202e\u001b[2J"`) {
			t.Errorf("exit %d, %+q", code, out)
		}
	}
}

// The sidecar makes the text of a note eligible: a long one goes as a read chunk (RFC 8166 §3.4).
// A reply that is longer than the inline threshold comes back too.
func TestCallChunks(t *testing.T) {
	b, _, addr := servingNotes(t)
	text := strings.Repeat("0123456789", 10_001)
	args := fmt.Sprintf(`{"name":"long","text":{"text":%q}}`, text)
	if code, _, errs := call("", "-carrier", "rdma", "-d", args, notesFile, addr, "NOTES.NOTES_V1.NOTES_PUT"); code != exitDone {
		t.Fatal(errs)
	}
	if b.placed != 1 || string(b.texts["long"]) != text {
		t.Errorf("%d items placed, %d bytes", b.placed, len(b.texts["long"]))
	}
	code, out, errs := call("", "-carrier", "rdma", "-d", `"long"`, notesFile, addr, "NOTES.NOTES_V1.NOTES_GET")
	if code != exitDone || !strings.Contains(out, fmt.Sprintf("%x", text)) {
		t.Errorf("exit %d: %.200s%s", code, out, errs)
	}
	// Without the sidecar, the whole call is one long message.
	empty := filepath.Join(t.TempDir(), "empty.bind")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call("", "-bind", empty, "-carrier", "rdma", "-d", args, notesFile, addr, "NOTES.NOTES_V1.NOTES_PUT"); code != exitDone || b.placed != 1 {
		t.Errorf("exit %d, %d items placed: %s", code, b.placed, errs)
	}
}

// Each line of standard input has an answer, in order, with its number. The first line that failed
// has the exit code.
func TestCallLines(t *testing.T) {
	_, addr, _ := servingNotes(t)
	in := "\"a\"\n\n  \n5\n{\"hex\":\"62\"}\n\"c"
	code, out, errs := call(in, "-d", "-", notesFile, addr, "NOTES.NOTES_V1.NOTES_GET")
	var got []string
	for _, o := range objects(t, out) {
		got = append(got, fmt.Sprint(o["line"], " ", o["type"], " ", o["code"]))
	}
	if want := "[1 value <nil> 4 error 3 5 value <nil> 6 error 3]"; code != exitInput || errs != "" || fmt.Sprint(got) != want {
		t.Errorf("exit %d, %v, expected %s; %s", code, got, want, errs)
	}
	if code, out, errs = call("\n", "-d", "-", notesFile, addr, "NOTES.NOTES_V1.NOTES_GET"); code != exitDone || out+errs != "" {
		t.Errorf("no lines: exit %d, %s%s", code, out, errs)
	}
	long := strings.Repeat(" ", maxLine) + "x\n\"a\"\n"
	code, out, _ = call(long, "-d", "-", notesFile, addr, "NOTES.NOTES_V1.NOTES_GET")
	if o := objects(t, out); code != exitInput || len(o) != 2 || !strings.Contains(out, "too long") || o[1]["line"] != 2. {
		t.Errorf("a long line: exit %d, %.300s", code, out)
	}
}

// A fault of the interface file or the arguments is reported with its place before anything is
// sent, also if there is no server.
func TestCallInput(t *testing.T) {
	put := "NOTES.NOTES_V1.NOTES_PUT"
	broken := filepath.Join(t.TempDir(), "broken.x")
	if err := os.WriteFile(broken, []byte("struct a { unknown x; };\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file, proc, data string
		code             int
		want             string
	}{
		{notesFile, put, `{"nam":"a","text":""}`, exitInput, "did you mean name?"},
		{notesFile, put, `@args.json`, exitInput, "try: -d - < args.json, to read arguments from a file"},
		{notesFile, put, `{"name":"a","text":"0"}`, exitInput, `text: column 20: found string "0", expected a string of hex digits`},
		{notesFile, put, `{"name":"` + strings.Repeat("a", 65) + `","text":""}`, exitInput, "found 65 bytes, expected at most 64 (RFC 4506 §4.10)"},
		{notesFile, put, "{\n\"name\": 1,\"text\":\"\"}", exitInput, "name: line 2, column 9: found number 1"},
		{notesFile, put, `{"name":"a","text":"","more":1}`, exitInput, `"more"`},
		{notesFile, put, `-5`, exitInput, "found number -5"},
		{notesFile, put, ``, exitInput, "column 1"},
		{notesFile, "NOTES.NOTES_V1.NOTES_NULL", `1`, exitInput, "expected an object"},
		{notesFile, "NOTES.NOTES_V1.NOTES_PUTT", `{}`, exitInput, "try: NOTES.NOTES_V1.NOTES_PUT"},
		{notesFile, "NOTES.7.0", `{}`, exitInput, "program NOTES has no version 7"},
		{notesFile, "NOTE.1.0", `{}`, exitInput, "try: NOTES"},
		{notesFile, "NOTES_PUT", `{}`, exitInput, "expected PROGRAM.VERSION.PROCEDURE"},
		{broken, put, `{}`, exitInput, "broken.x:1:12"},
		{"missing.x", put, `{}`, exitInput, "missing.x"},
		{"../../spec/x/rpcrdma1/rpcrdma1.x", put, `{}`, exitInput, "declares no procedures"},
	} {
		code, out, errs := call("", "-d", tt.data, tt.file, "127.0.0.1:1", tt.proc)
		if code != tt.code || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("%s %s: exit %d, found %s%s, expected %q", tt.proc, tt.data, code, out, errs, tt.want)
		}
	}
	for args, want := range map[string]string{
		"-d - - h:1 " + put:                                         "FILE and -d are both standard input",
		notesFile + " 127.0.0.1:1 " + put:                           "-d is missing",
		notesFile:                                                   "HOST is missing\nusage: rpcrdma call [flags] FILE HOST[:PORT] PROGRAM.VERSION.PROCEDURE\ntry: rpcrdma help call\n",
		"127.0.0.1:1 " + notesFile:                                  "found the address 127.0.0.1:1, expected the interface file first\ntry: rpcrdma call " + notesFile + " 127.0.0.1:1 PROGRAM.VERSION.PROCEDURE",
		"127.0.0.1:1 " + notesFile + " X":                           "found the address 127.0.0.1:1, expected the interface file first",
		notesFile + " 127.0.0.1:1":                                  "PROCEDURE is missing\ntry: NOTES.NOTES_V1.NOTES_NULL, NOTES",
		notesFile + " :1 " + put:                                    "found no host",
		"-W 0s " + notesFile + " h:1 " + put:                        "-W is 0s",
		"-cred sys:1 " + notesFile + " h:1 " + put:                  "UID:GID",
		"-cred sys:x:1 " + notesFile + " h:1 " + put:                `found "x"`,
		"-cred unix " + notesFile + " h:1 " + put:                   "expected none, sys",
		"-cred sys:1:" + ints(18) + " " + notesFile + " h:1 " + put: "found 17 groups after the first, expected at most 16 (RFC 5531 appendix A)",
		"-tls wanted -carrier rdma " + notesFile + " h:1 " + put:    "cannot fall back",
		"-ca f " + notesFile + " h:1 " + put:                        "-ca has no effect without -tls",
		"-pcap f -tls required " + notesFile + " h:1 " + put:        "leave one of them out",
		"-trace f " + notesFile + " h:1 " + put:                     "no effect without -carrier rdma",
		"-max-reply 5 " + notesFile + " h:1 " + put:                 "-max-reply is 5",
	} {
		code, _, errs := call("", strings.Fields(args)...)
		if code != exitUsage && !strings.Contains(args, "127.0.0.1:1 ") || code == exitDone || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
}

// ints returns the numbers from 1 to n with commas between them.
func ints(n int) string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprint(i+1))
	}
	return strings.Join(words, ",")
}

// Each procedure in NFSv3 and in the notes accepts its own template as arguments.
func TestCallTemplates(t *testing.T) {
	n := 0
	for _, file := range []string{"../../spec/x/nfs3/nfs3.x", notesFile} {
		r, err := sema.Compile(sema.Options{Files: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range dynamic.Procedures(r.Unit) {
			n++
			code, out, errs := call("", "-template", file, name)
			p, err := dynamic.FindProcedure(r.Unit, name)
			if code != exitDone || err != nil {
				t.Fatalf("%s: exit %d, %v %s", name, code, err, errs)
			}
			if _, err := parseArguments(p, bindings(r), []byte(out)); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	}
	if n != 26 {
		t.Errorf("%d procedures", n)
	}
	text, err := os.ReadFile(notesFile)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := call(string(text), "-template", "-", "NOTES.1.1"); code != exitDone || !strings.Contains(out, `"name"`) {
		t.Errorf("a file on standard input: exit %d, %s%s", code, out, errs)
	}
	_, out, _ := call("", "-template", "../../spec/x/nfs3/nfs3.x", "storage", "NFS_PROGRAM.NFS_V3.NFSPROC3_SETATTR")
	for _, want := range []string{`"discriminant": true`, `"arm": 0`, `"guard"`, `"seconds": 0`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

// scripted is a TCP server that answers the first call of each connection with the bytes of answer,
// without their record mark, and then reads until the client is gone. Nil bytes: it says nothing.
func scripted(t *testing.T, answer func(xid uint32) []byte) string {
	t.Helper()
	l := listener(t, func(c net.Conn) {
		defer c.Close()
		mark := make([]byte, 4)
		if _, err := io.ReadFull(c, mark); err != nil {
			return
		}
		rec := make([]byte, binary.BigEndian.Uint32(mark)&^(1<<31))
		if _, err := io.ReadFull(c, rec); err != nil {
			return
		}
		if b := answer(binary.BigEndian.Uint32(rec)); b != nil {
			binary.BigEndian.PutUint32(mark, 1<<31|uint32(len(b)))
			if _, err := c.Write(append(mark, b...)); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, c)
	})
	return l.Addr().String()
}

func encoded(h *oncrpc.Header, more ...byte) []byte {
	b, err := h.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return append(b, more...)
}
