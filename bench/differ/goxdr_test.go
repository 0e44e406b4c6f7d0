package differ

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestGoxdr compares with github.com/xdrpp/goxdr, over the interface files of
// this module and, unless the test is short, all files of the corpus that its compiler accepts.
func TestGoxdr(t *testing.T) {
	m := newModule(t)
	files := []string{"../codec/dirplus.x", "../codec/envelope.x"}
	if !testing.Short() {
		files = append(files, "../codec/nfs4.x")
		files = append(files, corpusFiles(t)...)
	}
	n := 0
	for i, file := range files {
		if m.add(t, fmt.Sprintf("p%02d", i), file) {
			n++
		}
	}
	t.Logf("%d of %d files compared", n, len(files))
	if n == 0 {
		t.Fatal("nothing to compare")
	}
	out, err := m.run("go", "test", "-vet=off", "-v", "-run", "TestPeer", "./...")
	report(t, out)
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// report prints the faults that the packages' tests found, and the sum of each
// class of answers.
func report(t *testing.T, out string) {
	classes := map[string]int{}
	class := regexp.MustCompile(`peer_test\.go:\d+: +(\d+) (.+)`)
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if m := class.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			classes[strings.TrimSpace(m[2])] += n
		} else if !strings.HasPrefix(line, "?") && !strings.HasPrefix(line, "=== RUN") && !strings.Contains(line, "PASS") {
			t.Log(line)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("%7d  %s", classes[class], class)
	}
}

// corpusFiles are the .x files of the folder CORPUS, or of the one beside the
// project's; none, with a log message, if there is neither.
func corpusFiles(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join("../..", dir)
	}
	var out []string
	err := filepath.WalkDir(filepath.Join(dir, "x"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".x") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Logf("no corpus (set CORPUS=DIR): %v", err)
	}
	return out
}

// module is a Go module in a temporary folder, with packages of both compilers.
type module struct{ dir, xdrgen, goxdr string }

func newModule(t *testing.T) *module {
	t.Helper()
	m := &module{dir: t.TempDir()}
	bin := t.TempDir()
	m.xdrgen, m.goxdr = filepath.Join(bin, "xdrgen"), filepath.Join(bin, "goxdr")
	for out, cmd := range map[string]*exec.Cmd{
		m.xdrgen: exec.Command("go", "build", "-o", m.xdrgen, "./cmd/xdrgen"),
		m.goxdr:  exec.Command("go", "build", "-o", m.goxdr, "github.com/xdrpp/goxdr/cmd/goxdr"),
	} {
		if out == m.xdrgen {
			cmd.Dir = "../.."
		}
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
		}
	}
	// The module is this one under another name.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		s := strings.Replace(string(text), "module github.com/rpcrdma/rpcrdma/bench", "module example.org", 1)
		s = strings.Replace(s, "=> ../", "=> "+root, 1)
		m.write(t, name, s)
	}
	return m
}

func (m *module) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (m *module) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sizedTypes and more are known to rpcgen's C and to us, but not to goxdr.
const sizedTypes = "typedef int int32_t;\ntypedef unsigned int uint32_t;\ntypedef hyper int64_t;\ntypedef unsigned hyper uint64_t;\nconst RPCSEC_GSS = 6;\n"

// add compiles an interface file by both compilers and writes the test of one
// against the other, or reports that it cannot.
func (m *module) add(t *testing.T, pkg, file string) bool {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	peer := filepath.Join(m.dir, pkg, "peer", "peer.go")
	if err := os.MkdirAll(filepath.Dir(peer), 0o777); err != nil {
		t.Fatal(err)
	}
	drop := func(who, out string) bool {
		line, _, _ := strings.Cut(strings.ReplaceAll(out, filepath.Dir(file)+"/", ""), "\n")
		t.Logf("%s: not compared: %s: %s", filepath.Base(file), who, line)
		if err := os.RemoveAll(filepath.Join(m.dir, pkg)); err != nil {
			t.Fatal(err)
		}
		return false
	}
	if out, err := m.run(m.goxdr, "-p", "peer", "-o", peer, file); err != nil {
		return drop("goxdr", out)
	}
	out, err := m.run("go", "build", "./"+pkg+"/peer")
	if err != nil && strings.Contains(out, "nt32_t") { // again, with what C has from its headers
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		amended := regexp.MustCompile(`\(unsigned (argop|resop)\)`).ReplaceAllString(string(text), "(nfs_cb_opnum4 $1)")
		m.write(t, pkg+"/amended.x", sizedTypes+amended)
		if out, err := m.run(m.goxdr, "-p", "peer", "-o", peer, filepath.Join(m.dir, pkg, "amended.x")); err != nil {
			return drop("goxdr, with the names of C added", out)
		}
	}
	if err != nil {
		out, err = m.run("go", "build", "./"+pkg+"/peer")
	}
	if err != nil {
		_, out, _ = strings.Cut(out, "\n")
		return drop("what goxdr makes of it", out)
	}
	if out, err := m.run(m.xdrgen, "gen", "-tests", "-o", filepath.Join(m.dir, pkg), "-package", pkg, file); err != nil {
		return drop("xdrgen", out)
	}
	ours, err := filepath.Glob(filepath.Join(m.dir, pkg, "*_xdr.go"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(peer)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, name := range ours {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range regexp.MustCompile(`(?m)^// (\w+) is (?:struct|union|enum|typedef) (\w+)`).FindAllStringSubmatch(string(text), -1) {
			name := strings.ToUpper(s[2][:1]) + s[2][1:]
			if regexp.MustCompile(`(?m)^func XDR_` + name + `\(v \*` + name + `\)`).Match(theirs) {
				fmt.Fprintf(&table, "\t\t%q: func() xdr.XdrType { return peer.XDR_%s(new(peer.%s)) },\n", s[1], name, name)
			}
		}
	}
	text, err := os.ReadFile("testdata/peer_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, pkg+"/peer_test.go", strings.Replace(string(text), "package peer", "package "+pkg, 1))
	m.write(t, pkg+"/table_test.go", fmt.Sprintf("package %s\n\nimport (\n\tpeer %q\n\n\t\"github.com/xdrpp/goxdr/xdr\"\n)\n\nfunc peers() map[string]func() xdr.XdrType {\n\treturn map[string]func() xdr.XdrType{\n%s\t}\n}\n",
		pkg, "example.org/"+pkg+"/peer", table.String()))
	return true
}
