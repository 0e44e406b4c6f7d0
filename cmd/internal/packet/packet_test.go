package packet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/packet"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// compile compiles a file.
func compile(t testing.TB, file string) *ir.Unit {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{"../../../spec/x"}, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		t.Fatal(r.Diags)
	}
	return r.Unit
}

// picture returns the picture of a type.
func picture(t testing.TB, u *ir.Unit, name string) *packet.Picture {
	t.Helper()
	i := slices.IndexFunc(u.Decls, func(d *ir.Decl) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("no type %s", name)
	}
	return packet.Of(u.Decls[i])
}

// TestEveryShapeIsDrawn compares all pictures of shapes.x with reviewed ones. Constants do not have
// one.
func TestEveryShapeIsDrawn(t *testing.T) {
	var text, svg strings.Builder
	for _, d := range compile(t, "testdata/shapes.x").Decls {
		p := packet.Of(d)
		if (p == nil) != (d.Kind == ir.Const) {
			t.Fatalf("%s has the picture %v", d.Name, p)
		}
		if p == nil {
			continue
		}
		fmt.Fprintf(&text, "%s\n%s:\n\n%s\n", d.Name, packet.SizeText(p.Size), p.Text())
		fmt.Fprintf(&svg, "%s:\n%s", d.Name, p.SVG(packet.SVGOptions{Ruler: "ruler"}))
	}
	for line := range strings.Lines(text.String()) {
		if n := len(strings.TrimSuffix(line, "\n")); n > 72 || strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
			t.Errorf("%d columns, or blanks at the end: %q", n, line)
		}
	}
	golden.CheckString(t, "testdata/shapes.txt", text.String())
	golden.CheckString(t, "testdata/shapes.svgs", svg.String())
	golden.CheckString(t, "testdata/deep.svg", picture(t, compile(t, "testdata/shapes.x"), "deep").SVG(packet.SVGOptions{File: true}))
}

// The figure of RFC 8797, section 4.1.
const rfc8797 = `
     0                   1                   2                   3
     0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    |                       Format Identifier                       |
    +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
`

// TestPicturesAreAsInRFCs compares the lines of a word with an RFC's.
func TestPicturesAreAsInRFCs(t *testing.T) {
	p := &packet.Picture{Items: []packet.Item{{Kind: packet.Box, Name: "Format Identifier", Offset: -1, Rows: 1}}}
	if got := "\n" + p.Text(); got != rfc8797 {
		t.Errorf("%s", golden.Diff([]byte(rfc8797), []byte(got)))
	}
}

// drawn matches the parts of a picture that a drawing by hand does not have: the offset, the path
// to a field, and the type.
var drawn = regexp.MustCompile(`^[ 0-9]{4}|[a-z_]+\.|\([^)]*[a-z][^)]*\)`)

// TestPicturesAreAsDrawnByHand compares the headers of RFC 8166 and RFC 5531 with drawings by hand.
func TestPicturesAreAsDrawnByHand(t *testing.T) {
	for name, of := range map[string][2]string{"rpcrdma1": {"rpcrdma1/rpcrdma1.x", "rdma_msg"}, "rpcmsg": {"oncrpc/oncrpc.x", "rpc_msg"}} {
		hand, err := os.ReadFile(filepath.Join("testdata/drawn", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		_, figure, _ := strings.Cut(string(hand), "\n\n")
		plain := func(s string) (lines []string) {
			for line := range strings.Lines(s) {
				lines = append(lines, strings.Join(strings.Fields(drawn.ReplaceAllString(line, "")), " "))
			}
			return lines
		}
		want := plain(figure)
		got := plain(picture(t, compile(t, filepath.Join("../../../spec/x", of[0])), of[1]).Text())
		if len(got) < len(want) || !slices.Equal(want, got[:len(want)]) {
			t.Errorf("%s:\n%s", name, golden.Diff([]byte(strings.Join(want, "\n")), []byte(strings.Join(got[:min(len(got), len(want))], "\n"))))
		}
	}
}

// TestPicturesStaySmall draws chains of types that contain each other, wide types and lists in
// lists. Each picture is bounded, or as large as the type's own declaration.
func TestPicturesStaySmall(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("struct t0 { int x; };\n")
		for i := range n {
			fmt.Fprintf(&b, "union t%d switch (int d) { case 0: t%d *a; case 1: t%d b<>; default: t%d c[2]; };\n", i+1, i, i, i)
		}
		return b.String()
	}
	wide := func(n int) string {
		return "enum e { A };\nstruct s { e a; e b; };\nstruct w {\n" + fields(n) + "};\n"
	}
	for name, of := range map[string]func(int) string{"chain": chain, "wide": wide} {
		costs, err := growth.Linear(100, func(n int) func() int {
			file := filepath.Join(t.TempDir(), "a.x")
			if err := os.WriteFile(file, []byte(of(n)), 0o666); err != nil {
				t.Fatal(err)
			}
			u := compile(t, file)
			return func() (size int) {
				for _, d := range u.Decls {
					p := packet.Of(d)
					size += len(p.Text()) + len(p.SVG(packet.SVGOptions{}))
				}
				return size
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(name, costs)
	}
}

// fields returns n fields.
func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "s f%d;\n", i)
	}
	return b.String()
}

func TestSizesAreInWords(t *testing.T) {
	for want, s := range map[string]ir.Size{"8 bytes": {Min: 8, Max: 8}, "4 to 20 bytes": {Min: 4, Max: 20}, "4 bytes or more": {Min: 4, Unbounded: true}} {
		if got := packet.SizeText(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
