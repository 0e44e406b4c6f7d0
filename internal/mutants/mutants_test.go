package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every mutant finds its text once, and changes it. Whether tests kill it takes minutes: make
// mutants.
func TestMutantsApply(t *testing.T) {
	names := make(map[string]bool)
	all, err := expanded(located(mutants, "../.."), "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.mutate("../.."); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.old == m.new || names[m.name] || len(m.tests) == 0 {
			t.Errorf("%s: changes nothing, is tested by nothing, or is there twice", m.name)
		}
		names[m.name] = true
		for _, pkg := range m.tests {
			if found, _ := filepath.Glob(filepath.Join("../..", pkg, "*_test.go")); len(found) == 0 {
				t.Errorf("%s: package %s has no tests", m.name, pkg)
			}
		}
	}
}

// module makes a module of one package, whose test expects that f returns 1.
func module(t *testing.T, f string) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "go.mod", "module m\n\ngo 1.24\n")
	write(t, root, "p/p.go", "package p\n\nfunc f() int { return "+f+"\n}\n")
	write(t, root, "p/p_test.go", "package p\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fail()\n\t}\n}\n")
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A mistake is killed, and a change without effect lives. Mutants that do not compile, and mutants
// that hang, are reported as such. Tests that fail without a mutant end the campaign. The verdict
// does not depend on the way of building.
func TestCampaign(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	t.Setenv("GOFLAGS", "-trimpath")
	for _, tt := range []struct {
		name, as, new string
		code          int
		says          string
	}{
		{"a mistake", "1", "2", 0, "killed by Test in p"},
		{"none", "1", "0 + 1", 1, "LIVES"},
		{"no Go", "1", "true", 1, "does not compile"},
		{"no syntax", "1", "(", 1, "does not compile"},
		{"text not found", "1", "", 1, "text to replace 0 times"},
		{"text found twice", "1 // return 1", "2", 1, "text to replace 2 times"},
		{"tests that fail", "3 - 3", "1", 2, "fail without a mutant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			as, _, _ := strings.Cut(tt.as, " //")
			m := mutant{name: tt.name, file: "p/p.go", old: "return " + as, new: "return " + tt.new, tests: []string{"p"}}
			if tt.new == "" {
				m.old = "return 7"
			}
			root := module(t, tt.as)
			for _, alone := range []bool{false, true} {
				var out bytes.Buffer
				c := campaign{root: root, w: &out, list: []mutant{m}, limit: time.Minute, alone: alone}
				if code := c.run(t.Context()); code != tt.code || !strings.Contains(out.String(), tt.says) {
					t.Errorf("alone %v: exit %d:\n%s", alone, code, &out)
				}
			}
		})
	}
	for name, endless := range map[string]string{"waits": "select { }", "computes": "for { }"} {
		t.Run(name, func(t *testing.T) {
			m := mutant{name: name, file: "p/p.go", old: "return 1", new: endless + "\n\treturn 1", tests: []string{"p"}}
			root := module(t, "1")
			for _, alone := range []bool{false, true} {
				var out bytes.Buffer
				c := campaign{root: root, w: &out, list: []mutant{m}, limit: 2 * time.Second, alone: alone}
				if code := c.run(t.Context()); code != 0 || !strings.Contains(out.String(), "hangs in Test in p") {
					t.Errorf("alone %v: exit %d:\n%s", alone, code, &out)
				}
			}
		})
	}
	var out bytes.Buffer
	if code := (&campaign{w: &out}).run(t.Context()); code != 2 || !strings.Contains(out.String(), "no mutant") {
		t.Errorf("none chosen: exit %d: %s", code, &out)
	}
}

// Mutants of one build do not disturb each other: each of several in one function and others
// outside functions has its own verdict. The same holds for a mutant whose only test fails in the
// common build. A process that a test starts runs the mutant as well.
func TestMutantsOfOneBuildDoNotDisturbEachOther(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	t.Setenv("GOFLAGS", "-trimpath")
	root := module(t, "1")
	write(t, root, "p/more.go", `package p

import "runtime/debug"

const size = 4

func larger(n int) bool { return n > size }

func inlined(n int) int { return n + 5 }

func depth() int { return bytesCount(string(debug.Stack())) }

func bytesCount(s string) (n int) {
	for _, c := range s {
		if c == '\n' {
			n++
		}
	}
	return n
}
`)
	write(t, root, "main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Print(6) }\n")
	write(t, root, "p/more_test.go", `package p

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLarger(t *testing.T) {
	if larger(4) || !larger(5) {
		t.Error("size")
	}
}

func TestSwitchHasCost(t *testing.T) {
	if _, err := os.Stat("more.go"); err != nil {
		t.Error("not in the folder of the package")
	}
	if os.Getenv("MUTANT") != "" || inlined(1) != 6 {
		t.Error("stands for a test that a copy disturbs")
	}
}

func TestChild(t *testing.T) {
	file := filepath.Join(t.TempDir(), "child")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	build := exec.Command("go", "build", "-o", file, "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(file).CombinedOutput(); string(out) != "6" || err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
`)
	test := []string{"p"}
	list := []mutant{
		{"f", "p/p.go", "return 1", "return 2", test},
		{"greater or equal", "p/more.go", "n > size", "n >= size", test},
		{"less", "p/more.go", "n > size", "n < size", test},
		{"same", "p/more.go", "n > size", "size < n", test},
		{"size", "p/more.go", "size = 4", "size = 5", test},
		{"unused", "p/more.go", "n > size", "func() bool { x := 1; return true }()", test},
		{"inlined", "p/more.go", "n + 5", "n + 6", test},
		{"child", "main.go", "fmt.Print(6)", "fmt.Print(7)", test},
	}
	want := map[string]string{
		"f": "killed by Test in p", "greater or equal": "killed by TestLarger in p", "less": "killed by TestLarger in p",
		"same": "LIVES", "size": "killed by TestLarger in p (built alone: it is not inside one function)",
		"unused": "does not compile", "inlined": "killed by TestSwitchHasCost in p", "child": "killed by TestChild in p",
	}
	for _, jobs := range []int{1, 3} {
		var out bytes.Buffer
		c := campaign{root: root, w: &out, list: list, limit: time.Minute, jobs: jobs}
		if code := c.run(t.Context()); code != 1 {
			t.Errorf("exit %d", code)
		}
		for name, says := range want {
			found := false
			for line := range strings.Lines(out.String()) {
				found = found || strings.Contains(line, " "+name+" ") && strings.Contains(line, says)
			}
			if !found {
				t.Errorf("%s: expected %q", name, says)
			}
		}
		for _, says := range []string{"8 mutants, 6 of them in one build", "6 mutants killed, 0 more hang, 1 live, 0 too slow for a verdict, 1 could not be tried", "[TestSwitchHasCost]", "LIVES: p/more.go: same"} {
			if !strings.Contains(out.String(), says) {
				t.Errorf("expected %q", says)
			}
		}
		if t.Failed() {
			t.Fatalf("jobs %d:\n%s", jobs, &out)
		}
	}
}

// The command reads -try, chooses, and lists.
func TestCommandChoosesAndLists(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, filepath.Dir(file), "f", "file a/a.go\n<<<<\nx\n====\ny\n>>>>\nfile b/b.go\n<<<<\nx\n====\ny\n>>>>\n")
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"-try " + file + " -room b -list", 0, "b/b.go: b"},
		{"-try " + file + " -only none", 2, "no mutant is chosen"},
		{"-try " + file + "x", 2, "no such file"},
		{"-touched=nonesuch -list", 2, "nonesuch"},
		{"-h", 2, "Between <<<< and ===="},
		{"-room rdmaio/internal/credit -list", 0, "one Call too many in flight"},
	} {
		var out bytes.Buffer
		if code := command(t.Context(), strings.Fields(tt.args), &out, &out); code != tt.code || !strings.Contains(out.String(), tt.says) || strings.Contains(out.String(), "a/a.go") {
			t.Errorf("%s: exit %d: %s", tt.args, code, &out)
		}
	}
}
