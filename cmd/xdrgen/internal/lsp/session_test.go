package lsp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lsp"
)

// session is a client of a server that runs.
type session struct {
	t     testing.TB
	dir   string
	to    io.WriteCloser
	from  chan reply    // read while the test writes; closed after the last one
	log   *bytes.Buffer // of the server; to be read after its end
	ended chan int
	asked int
	notes []reply // notifications and requests of the server that the test has not waited for
}

// reply is a message of the server.
type reply struct {
	body   string
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// upper is a Format that tests can tell.
func upper(_ sema.Options, _ string, text []byte) ([]byte, error) { return bytes.ToUpper(text), nil }

// begin starts a server on a folder with files.
func begin(t testing.TB, files map[string]string, change ...func(*lsp.Config)) *session {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in, to := io.Pipe()
	from, out := io.Pipe()
	s := &session{t: t, dir: dir, to: to, from: make(chan reply, 1<<14), log: &bytes.Buffer{}, ended: make(chan int, 1)}
	cfg := lsp.Config{In: in, Out: out, Log: s.log, Version: "test", Compile: sema.Compile, Format: upper, IsDocument: func([]byte) bool { return false }}
	for _, c := range change {
		c(&cfg)
	}
	go func() {
		s.ended <- lsp.Serve(cfg)
		_ = out.Close()
	}()
	go s.read(bufio.NewReader(from))
	t.Cleanup(func() { _ = to.Close() })
	return s
}

// read reads the server's messages.
func (s *session) read(from *bufio.Reader) {
	defer close(s.from)
	for {
		length := 0
		for {
			line, err := from.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			length, _ = strconv.Atoi(strings.TrimPrefix(line, "Content-Length: "))
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		r := reply{body: string(body)}
		if err := json.Unmarshal(body, &r); err != nil {
			s.t.Errorf("%v in %s", err, body)
			return
		}
		s.from <- r
	}
}

// uri returns the URI of a file in the folder.
func (s *session) uri(name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(s.dir, name))}).String()
}

// send writes a message.
func (s *session) send(message any) {
	s.t.Helper()
	body, ok := message.(string)
	if !ok {
		b, err := json.Marshal(message)
		if err != nil {
			s.t.Fatal(err)
		}
		body = string(b)
	}
	if _, err := fmt.Fprintf(s.to, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		s.t.Fatal(err)
	}
}

type object = map[string]any

func (s *session) notify(method string, params any) {
	s.t.Helper()
	s.send(object{"jsonrpc": "2.0", "method": method, "params": params})
}

// ask sends a request without waiting for the answer, and returns its ID.
func (s *session) ask(method string, params any) int {
	s.t.Helper()
	s.asked++
	s.send(object{"jsonrpc": "2.0", "id": s.asked, "method": method, "params": params})
	return s.asked
}

// patience stops a test that hangs.
const patience = time.Minute

// next returns the next message of the server.
func (s *session) next() reply {
	s.t.Helper()
	select {
	case r, ok := <-s.from:
		if !ok {
			s.t.Fatal("the server's messages end")
		}
		return r
	case <-time.After(patience):
		s.t.Fatal("the server sends nothing")
	}
	return reply{}
}

// answer waits for the response to a request.
func (s *session) answer(id int) reply {
	s.t.Helper()
	for {
		r := s.next()
		if r.Method == "" && string(r.ID) == strconv.Itoa(id) {
			return r
		}
		s.notes = append(s.notes, r)
	}
}

// call sends a request and returns its result.
func (s *session) call(method string, params any) string {
	s.t.Helper()
	r := s.answer(s.ask(method, params))
	if r.Error != nil {
		s.t.Fatalf("%s: error %d: %s", method, r.Error.Code, r.Error.Message)
	}
	return string(r.Result)
}

// refused sends a request and returns the code of its error, or 0.
func (s *session) refused(method string, params any) int {
	s.t.Helper()
	if r := s.answer(s.ask(method, params)); r.Error != nil {
		return r.Error.Code
	}
	return 0
}

// initialize begins the session as a client that can do all.
func (s *session) initialize(encodings ...string) {
	s.t.Helper()
	s.call("initialize", object{
		"processId": os.Getpid(), "rootUri": s.uri(""), "workspaceFolders": []object{{"uri": s.uri(""), "name": "test"}},
		"capabilities": object{
			"general":   object{"positionEncodings": encodings},
			"workspace": object{"workspaceEdit": object{"documentChanges": true}},
			"textDocument": object{
				"hover":              object{"contentFormat": []string{"markdown", "plaintext"}},
				"publishDiagnostics": object{"relatedInformation": true},
				"documentSymbol":     object{"hierarchicalDocumentSymbolSupport": true},
				"codeAction":         object{"codeActionLiteralSupport": object{"codeActionKind": object{"valueSet": []string{}}}},
			},
		},
	})
	s.notify("initialized", object{})
}

func (s *session) open(name, text string) {
	s.t.Helper()
	s.notify("textDocument/didOpen", object{"textDocument": object{"uri": s.uri(name), "languageId": "xdr", "version": 1, "text": text}})
}

// change replaces a range of a document, or all of it without a range.
func (s *session) change(name string, version int, text string, at ...int) {
	s.t.Helper()
	c := object{"text": text}
	if len(at) == 4 {
		c["range"] = object{"start": object{"line": at[0], "character": at[1]}, "end": object{"line": at[2], "character": at[3]}}
	}
	s.notify("textDocument/didChange", object{"textDocument": object{"uri": s.uri(name), "version": version}, "contentChanges": []object{c}})
}

// findings waits for the diagnostics for a version of a document, and returns each in short:
// "1:2-1:5 XDR0101 message".
func (s *session) findings(name string, version int) []string {
	s.t.Helper()
	take := func(r reply) ([]string, bool) {
		var p struct {
			URI         string
			Version     int
			Diagnostics []struct {
				Range   rng
				Code    string
				Message string
			}
		}
		if r.Method != "textDocument/publishDiagnostics" {
			return nil, false
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			s.t.Fatal(err)
		}
		if p.URI != s.uri(name) || p.Version != version {
			return nil, false
		}
		out := []string{}
		for _, d := range p.Diagnostics {
			first, _, _ := strings.Cut(d.Message, "\n")
			out = append(out, fmt.Sprintf("%v %s %s", d.Range, d.Code, first))
		}
		return out, true
	}
	for len(s.notes) > 0 {
		r := s.notes[0]
		s.notes = s.notes[1:]
		if out, ok := take(r); ok {
			return out
		}
	}
	for {
		if out, ok := take(s.next()); ok {
			return out
		}
	}
}

// rng is a range, which prints as 0:1-0:5.
type rng struct {
	Start, End struct{ Line, Character int }
}

func (r rng) String() string {
	return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character)
}

// at returns the parameters of a request about a position.
func (s *session) at(name string, line, character int) object {
	return object{"textDocument": object{"uri": s.uri(name)}, "position": object{"line": line, "character": character}}
}

// end shuts the server down as clients do, and returns the exit code.
func (s *session) end() int {
	s.t.Helper()
	s.call("shutdown", nil)
	s.notify("exit", nil)
	return s.code()
}

// code returns the exit code of a server that ends.
func (s *session) code() int {
	s.t.Helper()
	select {
	case c := <-s.ended:
		return c
	case <-time.After(patience):
		s.t.Fatal("the server does not return")
		return -1
	}
}
