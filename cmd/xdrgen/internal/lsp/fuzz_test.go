package lsp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lsp"
)

// frame returns a message with its header.
func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

const (
	fuzzBegin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}`
	fuzzOpen  = `{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"untitled:a","languageId":"xdr","version":1,"text":"const A = 1;\r\n"}}}`
)

// FuzzMessages has a client that sends any bytes after it has begun a session and opened a
// document. Whatever they are, Serve returns, memory is in proportion to the bytes, and each
// request that the client knows to be one has at most one response.
//
//fuzz:floor 200 each execution is a session with a goroutine for reading and one for checking
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		frame(`{"id":1,"method":"textDocument/hover","params":{"textDocument":{"uri":"untitled:a"},"position":{"line":0,"character":6}}}`),
		frame(`{"id":"x","method":"shutdown"}`) + frame(`{"method":"exit"}`),
		frame(`{"method":"textDocument/didChange","params":{"textDocument":{"uri":"untitled:a","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":1},"end":{"line":4294967295,"character":7}},"text":"\ud83d\ude00"},{"text":"x"}]}}`),
		frame(`{"method":"textDocument/didClose","params":{"textDocument":{"uri":"untitled:a"}}}`),
		frame(`{"id":2,"method":"textDocument/formatting","params":{"textDocument":{"uri":"untitled:a"}}}`) + frame(`{"method":"$/cancelRequest","params":{"id":2}}`),
		"Content-Length: 67108864\r\n\r\n{",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
		frame("[]") + frame(""),
	} {
		f.Add([]byte(seed))
	}
	compile := func(o sema.Options) (*sema.Result, error) {
		_, err := o.FS.ReadFile(o.Files[0])
		return &sema.Result{Index: &sema.Index{}}, err
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if bytes.Contains(sent, []byte("file:")) {
			return // no file of this host
		}
		var out, log bytes.Buffer
		in := io.MultiReader(strings.NewReader(frame(fuzzBegin)+frame(fuzzOpen)), bytes.NewReader(sent))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		code := lsp.Serve(lsp.Config{In: in, Out: &out, Log: &log, Compile: compile, Format: upper, IsDocument: func([]byte) bool { return true }})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+1000*uint64(len(sent)) {
			t.Errorf("%d bytes allocated for %d bytes", n, len(sent))
		}
		if code != 0 && code != 1 {
			t.Errorf("exit code %d", code)
		}
		answered := map[string]int{}
		for _, m := range bodies(t, out.Bytes()) {
			var r reply
			if err := json.Unmarshal(m, &r); err != nil {
				t.Fatalf("%v in %q", err, m)
			}
			if id := string(r.ID); r.Method == "" && id != "null" {
				answered[id]++
			}
		}
		for id, n := range answered {
			if asked := strings.Count(string(sent), strings.Trim(id, `"`)); n > 1 && n > asked {
				t.Errorf("%d responses to request %s", n, id)
			}
		}
		if answered["0"] == 0 {
			t.Error("initialize has no response")
		}
	})
}

// bodies returns the messages in a stream.
func bodies(t *testing.T, stream []byte) [][]byte {
	var out [][]byte
	for len(stream) > 0 {
		head, rest, ok := bytes.Cut(stream, []byte("\r\n\r\n"))
		var n int
		if _, err := fmt.Sscanf(string(head), "Content-Length: %d", &n); err != nil || !ok || n > len(rest) {
			t.Fatalf("no message in %.100q", stream)
		}
		out, stream = append(out, rest[:n]), rest[n:]
	}
	return out
}
