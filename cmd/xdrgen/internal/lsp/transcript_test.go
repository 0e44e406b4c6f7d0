package lsp_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// TestEditorsGetTheirAnswers sends what editors have sent, and compares what the server sends. A
// transcript has a line for each message: "--> " from the client, "<-- " from the server, which
// come before the next line of the client. The folder is {PATH}, and {URI} as a URI.
func TestEditorsGetTheirAnswers(t *testing.T) {
	for _, editor := range []string{"neovim", "vscode"} {
		t.Run(editor, func(t *testing.T) {
			file := filepath.Join("testdata", editor+".txt")
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := begin(t, nil)
			uri := strings.TrimSuffix(s.uri(""), "/")
			in := strings.NewReplacer("{URI}", uri, "{PATH}", s.dir)
			out := strings.NewReplacer(uri, "{URI}", s.dir, "{PATH}")
			var got bytes.Buffer
			for line := range strings.Lines(string(script)) {
				switch {
				case strings.HasPrefix(line, "--> "):
					s.send(in.Replace(strings.TrimSuffix(line[4:], "\n")))
				case strings.HasPrefix(line, "<-- "):
					line = "<-- " + out.Replace(s.next().body) + "\n"
				}
				got.WriteString(line)
			}
			if code := s.code(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			golden.Check(t, file, got.Bytes())
		})
	}
}
