package gogen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// generated compiles u.x in a folder with the given files.
func generated(t *testing.T, texts map[string]string, o Options) ([]File, []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(dir, "u.x")}, Include: []string{dir}, ImportRoot: "example.org/gen", Generate: true})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	files, diags, err := Generate(r.Unit, r.Bind, o)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range diags {
		found = append(found, d.Rule.Info().Name+": "+d.Span.Text()+": "+d.Message)
	}
	return files, found
}

// Without views, the other files are the same, and nothing checks.
func TestWithoutViews(t *testing.T) {
	texts := map[string]string{"u.x": "struct item { opaque data<>; };\nstruct message { item items<8>; };\n"}
	plain, _ := generated(t, texts, Options{Package: "u", Tests: true})
	views, _ := generated(t, texts, Options{Package: "u", Tests: true, Views: true})
	if len(plain) != 2 || len(views) != 3 || plain[0].Name != "u_xdr.go" || views[1].Name != "u_view_xdr.go" {
		t.Fatalf("%d files without views, %d with them", len(plain), len(views))
	}
	if string(plain[0].Content) != string(views[0].Content) {
		t.Error("u_xdr.go depends on the views")
	}
	for _, f := range plain {
		for _, word := range []string{"SkipXDR", "CheckXDR", "View", "Scan", "Check"} {
			if strings.Contains(string(f.Content), word) {
				t.Errorf("%s has %s", f.Name, word)
			}
		}
	}
	for _, word := range []string{"(v *Item) CheckXDR(", "(v *Item) SkipXDR(", "type ItemView ", "type MessageScan "} {
		if !strings.Contains(string(views[1].Content), word) {
			t.Errorf("%s lacks %q", views[1].Name, word)
		}
	}
}

// A unit with views builds on units with views only.
func TestViewsOfImport(t *testing.T) {
	for _, c := range []struct {
		name, own, sidecar string
		want               string
	}{
		{"views", "struct line { point from; point to<2>; };", "views", ""},
		{"none", "struct line { point from; point to<2>; };", "", "import-views: from: the views of line need those of point, and unit base is generated without views"},
		{"an arm", "union u switch (bool b) { case TRUE: point p<>; };", "# nothing", "import-views: p: the views of u need those of point, and unit base is generated without views"},
		{"a typedef", "typedef data line[2];", "", "import-views: line: the views of line need those of data, and unit base is generated without views"},
		{"numbers only", "struct s { word a; colour b; opaque c[SIZE]; };", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts := map[string]string{
				"u.x":            "#include \"base/base.x\"\n" + c.own,
				"base/base.x":    "const SIZE = 4;\ntypedef int number;\ntypedef number word;\nenum colour { RED = 0 };\nstruct point { int x; };\ntypedef opaque data<4>;\n",
				"base/base.bind": c.sidecar,
			}
			files, found := generated(t, texts, Options{Package: "u", Views: true})
			if got := strings.Join(found, "\n"); got != c.want || (len(files) == 0) != (c.want != "") {
				t.Errorf("%d files and %q, want %q", len(files), got, c.want)
			}
			if files, found := generated(t, texts, Options{Package: "u"}); len(files) != 1 || found != nil {
				t.Errorf("without views: %d files and %q", len(files), found)
			}
		})
	}
}
