package gogen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gosample"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// explained are the differences to C from rpcgen and libtirpc that are known, by
// the code with which we refuse what C takes (runtime/xdr, Code).
func explained() map[string]string {
	return map[string]string{
		"refused 3": "libtirpc takes any number but 0 for TRUE, and for presence (RFC 4506 §4.4: 0 or 1)",
		"refused 4": "libtirpc does not look at padding (RFC 4506 §3: zero)",
		"refused 7": "rpcgen checks no enumerators (RFC 4506 §4.3: an error)",
	}
}

// The known differences in the values of input that C does not refuse.
const (
	nulDiffers    = "a string that holds a NUL byte is cut there by C"
	narrowDiffers = "C keeps 8 or 16 bits of a char or short, which takes 32 on the wire"
	crashes       = "libtirpc crashes on input that we refuse or take"
)

// TestGoAgreesWithC holds generated code against C from rpcgen and libtirpc, over the corpus: the
// same random values, mutated in the same ways.
func TestGoAgreesWithC(t *testing.T) {
	needC(t)
	againstC(t, corpusFiles(t), 10)
}

// TestTirpcRandom does the same with interfaces made at random.
func TestTirpcRandom(t *testing.T) {
	needC(t)
	dir := t.TempDir()
	var files []string
	for i := range *wildCount {
		seed := *wildFirst + uint64(i)
		file := filepath.Join(dir, fmt.Sprintf("wild%d.x", seed))
		if err := os.WriteFile(file, []byte(wild.Schema(seed, true)), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	againstC(t, files, len(files)/2)
}

// needC skips the test where there is nothing to compare with.
func needC(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles C for each file")
	}
	for _, tool := range []string{"rpcgen", "gcc"} {
		witness.Program(t, tool)
	}
	witness.Libtirpc(t)
}

// againstC compares the results of both sides for files. At least atLeast files must be for C.
func againstC(t *testing.T, inputs []string, atLeast int) {
	t.Helper()
	mod := newModule(t)
	seen := map[string]int{}
	files := 0
	for _, file := range inputs {
		u := unitForC(t, mod, file)
		if u == nil {
			continue
		}
		if u.ask(t, mod, corpusPackage(file), seen) {
			files++
		}
	}
	t.Logf("%d files; %d answers are the same", files, seen["same"])
	for class, n := range seen {
		if class != "same" {
			t.Logf("%6d  %s", n, class)
		}
	}
	if files < atLeast {
		t.Errorf("only %d files compared", files)
	}
}

// ask compares both sides' answers about one unit. It returns false if rpcgen or the C compiler
// refuses the unit.
func (u *cUnit) ask(t *testing.T, mod module, pkg string, seen map[string]int) bool {
	t.Helper()
	bin, why := u.buildC(t)
	if why != "" {
		t.Logf("%s: not compared: %s", filepath.Base(u.file), why)
		return false
	}
	questions := u.questions(rand.New(rand.NewPCG(3, 4)))
	var c []string
	for len(c) < len(questions) {
		c = append(c, answers(t, exec.Command("sh", "-c", "ulimit -v 4000000; exec "+bin), questions[len(c):])...)
		if len(c) < len(questions) {
			c = append(c, "crashed") // on the question after its last answer
		}
	}
	g := answers(t, u.goCommand(t, mod, pkg), questions)
	u.compare(t, filepath.Base(u.file), questions, c, g, seen)
	return true
}

// TestRpcgenAgreesWithAnAmendedUnit holds the package of a unit that amends with two extensions
// against C that rpcgen makes from the one text that has all three.
func TestRpcgenAgreesWithAnAmendedUnit(t *testing.T) {
	needC(t)
	mod := newModule(t)
	for _, unit := range []string{"ops", "opsone", "opstwo"} {
		b, pkg, out := compile(t, filepath.Join(okDir, "units", unit, unit+".x"))
		dir := "ok/" + pkg
		if path, ok := strings.CutPrefix(b.Package, "example.org/"); ok {
			dir = path
		}
		mod.add(t, dir, out)
	}
	text, err := os.ReadFile(filepath.Join(okDir, "ops-merged.x"))
	if err != nil {
		t.Fatal(err)
	}
	const inner = "struct { op_args inner; apart other; }"
	c := strings.Replace(string(text), "struct nested { "+inner, "struct nested_part { op_args inner; apart other; };\nstruct nested { nested_part", 1)
	file := filepath.Join(t.TempDir(), "merged.x")
	if err := os.WriteFile(file, []byte(c), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(okDir, "ops-both.x")}, Include: []string{okDir + "/units"}, ImportRoot: "example.org/ok", Generate: true})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	u, seen := packageForC(t, mod, r, "opsboth"), map[string]int{}
	u.file = file
	if len(u.decls) < 8 || !u.ask(t, mod, "opsboth", seen) || seen["same"] < 100 {
		t.Errorf("%d types, %v", len(u.decls), seen)
	}
}

// cUnit is a file of the corpus that both sides know.
type cUnit struct {
	file  string
	dir   string // of the C program
	decls []*ir.Decl
	names []string // Go
	// narrow says that the file has types of less than 32 bits in C.
	narrow bool
}

func unitForC(t *testing.T, mod module, file string) *cUnit {
	r, err := sema.Compile(sema.Options{Files: []string{file}, Generate: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		return nil
	}
	u := packageForC(t, mod, r, corpusPackage(file))
	u.file = file
	return u
}

// packageForC adds the package of a unit to the module, and returns the types to ask about.
func packageForC(t *testing.T, mod module, r *sema.Result, pkg string) *cUnit {
	t.Helper()
	out, _, err := Generate(r.Unit, r.Bind, Options{Package: pkg})
	if err != nil {
		t.Fatal(err)
	}
	mod.add(t, pkg, out)
	u := &cUnit{dir: t.TempDir()}
	n := gonames.New()
	n.AddImports(r.Unit)
	n.Add(r.Unit.Decls, r.Bind, true)
	for _, typ := range plan.Make(r.Unit, r.Bind).Types {
		d := typ.Decl
		switch {
		case d.IsList(): // in C a node, with the pointer to the next
			u.decls = append(u.decls, d)
			u.names = append(u.names, n.Decl(d))
		case d.Anon, typ.Node, typ.Transparent, typ.Alias:
		case typ.Op == plan.Typedef && typ.Body.Under().Op == plan.List:
		default:
			u.decls = append(u.decls, d)
			u.names = append(u.names, n.Decl(d))
		}
	}
	return u
}

// buildC makes the C program, or says why it cannot.
func (u *cUnit) buildC(t *testing.T) (bin, why string) {
	t.Helper()
	text, err := os.ReadFile(u.file)
	if err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile("testdata/answer.c.txt")
	if err != nil {
		t.Fatal(err)
	}
	u.narrow = regexp.MustCompile(`\b(u_)?(char|short)\b|\bu?int(8|16)_t\b`).Match(text)
	var table strings.Builder
	for _, d := range u.decls {
		fmt.Fprintf(&table, "{\"%s\", (xdrproc_t)xdr_%s, sizeof(%s)},\n", d.Name, d.Name, d.Name)
	}
	for name, content := range map[string][]byte{"unit.x": text, "answer.c": main, "types.inc": []byte(table.String())} {
		if err := os.WriteFile(filepath.Join(u.dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"rpcgen -h -o unit.h unit.x",
		"rpcgen -c -o unit.c unit.x",
		"gcc -O0 -w -I/usr/include/tirpc -I. answer.c unit.c -ltirpc -o answer",
	} {
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = u.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			line, _, _ := strings.Cut(string(out), "\n")
			return "", args[0] + ": " + line
		}
	}
	return filepath.Join(u.dir, "answer"), ""
}

func (u *cUnit) goCommand(t *testing.T, mod module, pkg string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("testdata/answer.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	mod.write(t, pkg+"/answer/main.go", text)
	var table strings.Builder
	fmt.Fprintf(&table, "package main\n\nimport (\n\tunit \"example.org/%s\"\n\t\"github.com/rpcrdma/rpcrdma/runtime/xdr\"\n)\n\n", pkg)
	table.WriteString("func types() []func() xdr.Value {\n\treturn []func() xdr.Value{\n")
	for _, name := range u.names {
		fmt.Fprintf(&table, "\t\tfunc() xdr.Value { return new(unit.%s) },\n", name)
	}
	table.WriteString("\t}\n}\n")
	mod.write(t, pkg+"/answer/types.go", []byte(table.String()))
	cmd := exec.Command("go", "run", "./"+pkg+"/answer")
	cmd.Dir = mod.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	return cmd
}

// holdsString reports whether a string is in d.
func holdsString(d *ir.Decl, seen map[*ir.Decl]bool) bool {
	if seen[d] {
		return false
	}
	seen[d] = true
	var holds func(t *ir.Type) bool
	holds = func(t *ir.Type) bool {
		return t != nil && (t.Kind == ir.String || holds(t.Elem) || t.Ref != nil && holdsString(t.Ref, seen))
	}
	for _, f := range d.Fields {
		if holds(f.Type) {
			return true
		}
	}
	for _, a := range d.Arms {
		if a.Field != nil && holds(a.Field.Type) {
			return true
		}
	}
	return holds(d.Type)
}

// question is an input for one type.
type question struct {
	decl    int
	wire    []byte
	mutated bool
	word    uint32
}

func (u *cUnit) questions(r *rand.Rand) []question {
	var out []question
	for i, d := range u.decls {
		for deep := range 4 {
			w := &gosample.Sampler{Rand: r, Deep: deep, C: true}
			wire := w.Append(nil, d)
			out = append(out, question{decl: i, wire: wire})
			for range min(12, len(wire)/4) {
				bad := bytes.Clone(wire)
				word := []uint32{0, 1, 2, 0x7fffffff, 0xffffffff}[r.IntN(5)]
				binary.BigEndian.PutUint32(bad[4*r.IntN(len(bad)/4):], word)
				out = append(out, question{i, bad, true, word})
			}
		}
	}
	return out
}

func answers(t *testing.T, cmd *exec.Cmd, questions []question) []string {
	t.Helper()
	var in bytes.Buffer
	for _, q := range questions {
		fmt.Fprintf(&in, "%d %x\n", q.decl, q.wire)
	}
	cmd.Stdin = &in
	out, _ := cmd.Output() // the C program may crash: what it has answered counts
	lines := strings.SplitAfter(string(out), "\n")
	lines = lines[:len(lines)-1] // an unfinished line does not count as an answer
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	return lines
}

func (u *cUnit) compare(t *testing.T, file string, questions []question, c, g []string, seen map[string]int) {
	t.Helper()
	if len(c) != len(questions) || len(g) != len(questions) {
		t.Errorf("%s: %d questions, %d answers in C, %d in Go", file, len(questions), len(c), len(g))
	}
	faults := 0
	for i := range min(len(c), len(g)) {
		q, word := questions[i], explained()
		same := c[i] == g[i] || c[i] == "refused" && strings.HasPrefix(g[i], "refused")
		switch {
		case same:
			seen["same"]++
		case q.mutated && word[g[i]] != "":
			seen[word[g[i]]]++
		case !q.mutated && g[i] != fmt.Sprintf("%d %x", len(q.wire), q.wire):
			t.Errorf("%s: %s %x is valid:\nGo %s", file, u.decls[q.decl].Name, q.wire, g[i])
		case c[i] == "crashed":
			seen[crashes]++
		case q.mutated && u.narrow && len(c[i]) == len(g[i]):
			seen[narrowDiffers]++
		case q.mutated && q.word < 3 && holdsString(u.decls[q.decl], map[*ir.Decl]bool{}) && !strings.HasPrefix(c[i]+g[i], "refused"):
			seen[nulDiffers]++
		default:
			if faults++; faults <= 3 {
				t.Errorf("%s: %s %x (mutated: %v):\nC  %s\nGo %s", file, u.decls[q.decl].Name, q.wire, q.mutated, c[i], g[i])
			}
		}
	}
}
