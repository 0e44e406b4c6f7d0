package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
	"github.com/rpcrdma/rpcrdma/internal/corpus"
)

// refusedUnits are units that are correct XDR, and that gen refuses.
var refusedUnits = map[string]string{
	"large.x":        "struct h { opaque x[4294967295]; };\n",
	"endless.x":      "typedef a *b; typedef b *a;\n",
	"clash.x":        "struct two_words { int x; };\nstruct twoWords { int x; };\n",
	"clash.bind":     "rename twoWords TwoWords\n",
	"code.x":         "typedef unsigned int uint32;\nconst C = 1;\n",
	"code.bind":      "code property C uint32\n",
	"views.x":        "#include \"base/base.x\"\nstruct s { item i; };\n",
	"views.bind":     "views\n",
	"base/base.x":    "struct item { opaque x<>; };\n",
	"base/base.bind": "package example.org/m/base\n",
}

// TestCheckSaysWhatGenRefuses runs check and gen -rpc on the units above, on random ones, and on
// all in testdata and the corpus: check has each finding of gen, with the same code and place.
func TestCheckSaysWhatGenRefuses(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*/*.x", "../../spec/x/*/*.x"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range more {
			abs, err := filepath.Abs(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, abs)
		}
	}
	if testing.Short() {
		files = files[:len(files)/4]
	} else if dir := os.Getenv(corpus.Env); dir != "" {
		more, err := filepath.Glob(filepath.Join(corpus.Dir(t), "x", "*", "*.x"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	include, err := filepath.Abs("../../spec/x")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"go.mod": "module example.org/m\n"}
	for name, text := range refusedUnits {
		texts[name] = text
	}
	for seed := range 20 {
		texts[fmt.Sprintf("w%d.x", seed)] = wild.Schema(uint64(2000+seed), false)
	}
	t.Chdir(writeFiles(t, texts))
	own, _ := filepath.Glob("*.x")
	refused := map[string]bool{}
	for _, file := range append(own, files...) {
		said := map[string]bool{}
		stdout, _, _ := runCommand(t, "check", "-errors", "0", "-format", "json", "-I", include, file)
		for line := range strings.Lines(stdout) {
			var f struct {
				Code  string
				Where struct {
					File         string
					Line, Column int
				}
			}
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			said[fmt.Sprintf("%s:%d:%d %s", f.Where.File, f.Where.Line, f.Where.Column, f.Code)] = true
		}
		_, stderr, code := runCommand(t, "gen", "-errors", "0", "-rpc", "-with", "clone,equal,stream,json", "-o", "out/p", "-import-root", "example.org/m", "-I", include, file)
		found := genFinding.FindAllStringSubmatch(stderr, -1)
		if code != exitClean && len(found) == 0 {
			t.Errorf("gen %s: %s", file, stderr)
		}
		for _, f := range found {
			if place := f[1] + " " + f[2]; !said[place] {
				t.Errorf("gen refuses %s, and check does not say it:\n%s", file, stderr)
			}
			refused[filepath.Base(file)] = true
		}
	}
	for name := range refusedUnits {
		if strings.HasSuffix(name, ".x") && !strings.Contains(name, "/") && !refused[name] {
			t.Errorf("gen takes %s", name)
		}
	}
	for name := range texts {
		if strings.HasPrefix(name, "w") && refused[name] {
			t.Errorf("gen refuses %s:\n%s", name, texts[name])
		}
	}
}

// genFinding is the first line of an error: its place and code.
var genFinding = regexp.MustCompile(`(?m)^(\S+:\d+:\d+): error: (XDR\d+) `)
