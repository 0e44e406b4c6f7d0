package lsp_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestSessionsEndAsTheProtocolSays(t *testing.T) {
	begun := func(t *testing.T) *session { s := begin(t, nil); s.initialize(); return s }
	t.Run("shutdown and exit", func(t *testing.T) {
		if c := begun(t).end(); c != 0 {
			t.Errorf("exit code %d, want 0", c)
		}
	})
	t.Run("exit alone", func(t *testing.T) {
		s := begun(t)
		s.notify("exit", nil)
		if c := s.code(); c != 1 {
			t.Errorf("exit code %d, want 1", c)
		}
	})
	t.Run("exit before initialize", func(t *testing.T) {
		s := begin(t, nil)
		s.notify("exit", nil)
		if c := s.code(); c != 1 {
			t.Errorf("exit code %d, want 1", c)
		}
	})
	t.Run("the client is gone", func(t *testing.T) {
		s := begun(t)
		_ = s.to.Close()
		if c := s.code(); c != 1 || s.log.Len() > 0 {
			t.Errorf("exit code %d and %q, want 1 and nothing", c, s.log)
		}
	})
	t.Run("the client is gone after shutdown", func(t *testing.T) {
		s := begun(t)
		s.call("shutdown", nil)
		_ = s.to.Close()
		if c := s.code(); c != 0 {
			t.Errorf("exit code %d, want 0", c)
		}
	})
}

func TestRequestsAtAWrongTimeAreRefused(t *testing.T) {
	s := begin(t, map[string]string{"a.x": "const A = 1;\n"})
	if c := s.refused("textDocument/hover", s.at("a.x", 0, 7)); c != -32002 {
		t.Errorf("before initialize: error %d, want -32002", c)
	}
	s.open("a.x", "const A = ;\n") // is ignored
	s.initialize()
	if c := s.refused("initialize", object{"capabilities": object{}}); c != -32600 {
		t.Errorf("second initialize: error %d, want -32600", c)
	}
	if c := s.refused("textDocument/hover", s.at("a.x", 0, 7)); c != -32602 {
		t.Errorf("a file that is not open: error %d, want -32602", c)
	}
	if c := s.refused("textDocument/hover", []int{1}); c != -32602 {
		t.Errorf("wrong parameters: error %d, want -32602", c)
	}
	if c := s.refused("textDocument/rename2", object{}); c != -32601 {
		t.Errorf("an unknown request: error %d, want -32601", c)
	}
	if c := s.refused("$/unknown", nil); c != -32601 {
		t.Errorf("an unknown request: error %d, want -32601", c)
	}
	s.notify("$/unknown", nil)
	s.notify("workspace/didChangeConfiguration", object{"settings": nil})
	s.call("shutdown", nil)
	if c := s.refused("textDocument/hover", s.at("a.x", 0, 7)); c != -32600 {
		t.Errorf("after shutdown: error %d, want -32600", c)
	}
	s.notify("exit", nil)
	if c := s.code(); c != 0 {
		t.Errorf("exit code %d, want 0", c)
	}
}

func TestMalformedMessagesAreAnswered(t *testing.T) {
	for body, want := range map[string]int{
		"{":                            -32700,
		"":                             -32700,
		"\xff\xfe":                     -32700,
		"[]":                           -32600,
		"7":                            -32600,
		"{}":                           -32600,
		`{"id":1,"method":3}`:          -32600,
		`{"id":{},"method":"x"}`:       -32600,
		`{"id":[1],"method":"x"}`:      -32600,
		`{"id":true,"method":"x"}`:     -32600,
		strings.Repeat("[", 20_000):    -32700,
		`{"id":null,"method":"x/y/z"}`: -32600,
	} {
		s := begin(t, nil)
		s.initialize()
		s.send(body)
		if r := s.next(); string(r.ID) != "null" || r.Error == nil || r.Error.Code != want {
			t.Errorf("%.40q: found %s %+v, want error %d without id", body, r.ID, r.Error, want)
		}
		if c := s.end(); c != 0 {
			t.Errorf("%.40q: exit code %d afterwards, want 0", body, c)
		}
	}
}

func TestStringsAreIDsToo(t *testing.T) {
	s := begin(t, nil)
	s.send(`{"jsonrpc":"2.0","id":"a-1","method":"initialize","params":{"capabilities":{}}}`)
	if r := s.next(); string(r.ID) != `"a-1"` || r.Error != nil {
		t.Errorf("found the response %s %+v to request \"a-1\"", r.ID, r.Error)
	}
}

func TestHostileHeadersEndTheSession(t *testing.T) {
	for head, want := range map[string]string{
		"Content-Length: 99999999999999\r\n\r\n":           "expected at most",
		"Content-Length: 67108865\r\n\r\n":                 "expected at most",
		"Content-Length: 99999999999999999999999\r\n\r\n":  "expected a number",
		"Content-Length: -1\r\n\r\n":                       "expected a number",
		"Content-Length: 0x10\r\n\r\n":                     "expected a number",
		"Content-Length:\r\n\r\n":                          "expected a number",
		"Content-Length: 1\r\nContent-Length: 2\r\n\r\n":   "two lengths",
		"Content-Type: text\r\n\r\n":                       "without Content-Length",
		"\r\n":                                             "without Content-Length",
		"GET / HTTP/1.1\r\n\r\n":                           "expected NAME: VALUE",
		"X: " + strings.Repeat("x", 5000):                  "more than 4096 bytes",
		strings.Repeat("X: y\r\n", 1000) + "\r\n":          "more than 4096 bytes",
		"Content-Length: 67108864\r\n\r\nonly these bytes": "unexpected EOF",
		"Content-Len":                                      "unexpected EOF",
	} {
		s := begin(t, nil)
		go func() {
			fmt.Fprint(s.to, head)
			_ = s.to.Close()
		}()
		if c := s.code(); c != 1 || !strings.Contains(s.log.String(), want) {
			t.Errorf("%.40q: exit code %d and %q, want 1 and %q", head, c, s.log, want)
		}
	}
}

func TestHeadersMayHaveOtherFieldsAndBareNewlines(t *testing.T) {
	s := begin(t, nil)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`
	fmt.Fprintf(s.to, "content-length: %d\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %[1]d\r\n\r\n%s", len(body), body)
	if r := s.next(); r.Error != nil {
		t.Errorf("error %+v", r.Error)
	}
}
