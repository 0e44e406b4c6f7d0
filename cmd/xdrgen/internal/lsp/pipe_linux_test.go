package lsp_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Reading a pipe would not return.
func TestPipesAreNotRead(t *testing.T) {
	s := begin(t, map[string]string{"u/u.bind": "views\n", "w/a.x": ""})
	for _, name := range []string{"u/pipe.x", "w/pipe.x"} {
		if err := syscall.Mkfifo(filepath.Join(s.dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s.initialize()
	s.open("u/u.x", "const A = B;\n")
	s.expect("u/u.x", 1, "0:10-0:11 XDR0102 constant B is not declared")
	s.open("w/a.x", "#include \"pipe.x\"\nconst A = 1;\n")
	s.expect("w/a.x", 1, "0:0-0:17 XDR0601 file \"pipe.x\" is not found")
	s.call("workspace/symbol", object{"query": ""})
	s.call("textDocument/references", s.at("w/a.x", 1, 6))
}
