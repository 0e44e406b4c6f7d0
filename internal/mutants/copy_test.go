package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// shapes has functions of every shape, each with a constant to mutate.
const shapes = `package p

import "fmt"

type pair[K comparable, V any] struct {
	k K
	v V
}

type T struct{ n int }

const size = 100

func plain(a int, b string) (int, error) { return a + 101, nil }
func unnamed(int, ...string) int { return 102 }
func variadic(_ int, rest ...int) int { return len(rest) + 103 }
func (t *T) method(d int) { t.n += d + 104 }
func (T) nameless() int { return 105 }
func named() (n int, err error) {
	defer func() { n++ }()
	n = 106
	return
}
func generic[A any, B fmt.Stringer](a A, _ B) []A { _ = 107; return []A{a} }
func (p *pair[_, V]) get() V { _ = 108; return p.v }
func down(n int) int {
	if n > 1 {
		return down(n-1) + 109
	}
	return 0
}
func recovering() { _ = 110; recover() }
func blank[_ any]() int { return 111 }
//go:noinline
func pragma() int { return 112 }
func multi(a,
	b int) int {
	return 113
}
`

// Every function gets a copy with which the package compiles, and the lines of the original stay
// where they are. Mutants outside function bodies, in a signature, or in functions for which a copy
// cannot stand are refused.
func TestCopyOf(t *testing.T) {
	s, err := parse([]byte(shapes))
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		"100": "not inside one function",
		"110": "recover",
		"111": "type parameter",
	}
	var copies []*copied
	for i := 100; i <= 113; i++ {
		number := strconv.Itoa(i)
		c, err := copyOf(s, []byte(strings.Replace(shapes, number, "999", 1)), i)
		if why, bad := refused[number]; bad {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, expected %q", number, err, why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		copies = append(copies, c)
	}
	for _, m := range [][3]string{
		{"b string", "b []byte", "signature"},
		{"func multi", "func other() {}\nfunc multi", "adds or removes"},
		{"return 112 }", "return 112", "expected"},
		{"import \"fmt\"", "import \"fmt\" // format", "only comments"},
	} {
		if _, err := copyOf(s, []byte(strings.Replace(shapes, m[0], m[1], 1)), 1); err == nil || !strings.Contains(err.Error(), m[2]) {
			t.Errorf("%s: %v, expected %q", m[0], err, m[2])
		}
	}
	text, lines := s.switched(copies)
	was, is := strings.Split(shapes, "\n"), strings.Split(string(text), "\n")
	for i, line := range was {
		if _, end, _ := strings.Cut(line, ") "); !strings.Contains(is[i], end[strings.Index(end, "{")+1:]) {
			t.Errorf("line %d became %q", i+1, is[i])
		}
	}
	for i, c := range copies {
		if !strings.Contains(strings.Join(is[lines[i]-1:lines[i+1]-1], "\n"), copyName(c.number)) {
			t.Errorf("copy %d is not at lines %d to %d", c.number, lines[i], lines[i+1])
		}
	}
	if testing.Short() {
		t.Skip("compiles by the go command")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "p.go": string(text), "s.go": "package p\n" + switchText} {
		write(t, dir, name, text)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
}
