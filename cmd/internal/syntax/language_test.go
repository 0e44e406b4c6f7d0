package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// TestFilesOfOtherKindsHaveOneFinding gives files that are not XDR, as a user may by mistake.
func TestFilesOfOtherKindsHaveOneFinding(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"kv.bind", "# names\nrpc\nprefix kv_\nonce KV.V1.PUT\n", "kv.bind is a sidecar"},
		{"kv.go", "package kv\r\n\r\nimport \"fmt\"\r\n", "kv.go is Go source"},
		{"kv.x", "const A = 1;\n<<<<<<< HEAD\nconst B = 1;\n=======\nconst B = 2;\n>>>>>>> b\n", "marks of an unfinished merge"},
		{"kv.x", "struct a {\n  int x;\n<<<<<<< HEAD\n  int y;\n=======\n  int z;\n>>>>>>> b\n};\n", "marks of an unfinished merge"},
		{"kv.pem", "-----BEGIN EC PRIVATE KEY-----\nAB/+\n-----END EC PRIVATE KEY-----\n", "kv.pem is a PEM file"},
		{"kv.xml", "<?xml version=\"1.0\"?>\n<rfc></rfc>\n", "kv.xml is HTML or XML"},
		{"kv.x", "// comment\ndiff --git a/b b/b\n", "kv.x is a patch"},
	} {
		var found []string
		NewParser().Parse(source.NewFile(c.name, []byte(c.text)), &Context{Report: func(d diag.Diagnostic) {
			found = append(found, d.Message)
		}})
		if len(found) != 1 || !strings.Contains(found[0], c.want) {
			t.Errorf("%s: %q, expected one finding with %q", c.name, found, c.want)
		}
	}
}

// TestXDRIsNotTakenForAnotherKind gives XDR with faults that resemble another kind of file.
func TestXDRIsNotTakenForAnotherKind(t *testing.T) {
	for _, text := range []string{
		"package kv;\n",
		"package kv { int x; };\n",
		"struct a { int x << 7; };\n",
		"struct a { int x; } ------ BEGIN b\n",
		"const A = 1; +++ b\n",
		"struct <a> { int x; };\n",
	} {
		NewParser().Parse(source.NewFile("kv.x", []byte(text)), &Context{Report: func(d diag.Diagnostic) {
			if strings.Contains(d.Message, "kv.x is ") {
				t.Errorf("%q: %s", text, d.Message)
			}
		}})
	}
}

// TestLookalikesStandForCharactersOfXDR checks that only the characters themselves are reported.
func TestLookalikesStandForCharactersOfXDR(t *testing.T) {
	var found []string
	f := NewParser().Parse(source.NewFile("t.x", []byte("struct a｛ int\u00a0x； int y＜3＞;};\nconst B = –1;\n")), &Context{Report: func(d diag.Diagnostic) {
		found = append(found, fmt.Sprintf("%s; %s", d.Message, d.Help))
	}})
	want := []string{
		"character '｛' is not part of XDR; write {",
		"character '\\u00a0' is not part of XDR; write a space",
		"character '；' is not part of XDR; write ;",
		"character '＜' is not part of XDR; write <",
		"character '＞' is not part of XDR; write >",
		"character '–' is not part of XDR; write -",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings (- expected, + found)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"struct a int x; int y<3>;", "const B = 1"}, outline(f)); diff != "" {
		t.Errorf("tree (- expected, + found)\n%s", diff)
	}
}
