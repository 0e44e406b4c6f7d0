package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"
)

// generator writes a Go package for a unit.
type generator struct {
	name     string
	lacks    string // of what others write
	generate func(u *unit, dir string) error
	program  func(u *unit) string // main function that decodes standard input and encodes the value
	imports  string               // of program
}

// rootName is the Go name of the root type in the code of xdrgen, whatever its naming rules are.
const rootName = "BenchRoot"

const oursProgram = `	var v p.` + rootName + `
	check(v.UnmarshalBinary(in))
	out, err := v.MarshalBinary()
	check(err)
`

const goxdrProgram = `	v := p.XDR_%[1]s(new(p.%[1]s))
	v.XdrMarshal(xdr.XdrIn{In: bytes.NewReader(in)}, "")
	var b bytes.Buffer
	v.XdrMarshal(xdr.XdrOut{Out: &b}, "")
	out := b.Bytes()
`

const protoProgram = `	var v p.READDIRPLUS3Res
	check(proto.Unmarshal(in, &v))
	out, err := proto.Marshal(&v)
	check(err)
`

// options are the flags of xdrgen gen that change the code. A version of xdrgen may not have all of
// them.
var options = []string{
	"", "-with none", "-views", "-with json", "-with clone,equal", "-with stream",
	"-views -with string,json,clone,equal,stream",
}

// generators returns the generators, xdrgen by default first. It writes to stderr which options
// this xdrgen does not have.
func (w *workshop) generators(try *unit, report func(string)) []generator {
	var out []generator
	for _, o := range options {
		g := generator{
			name:     strings.TrimSpace("xdrgen " + o),
			generate: func(u *unit, dir string) error { return w.ours(u, dir, strings.Fields(o)) },
			program:  func(*unit) string { return oursProgram },
		}
		if err := g.generate(try, filepath.Join(w.dir, "try")); err != nil {
			reason, _, _ := strings.Cut(err.Error()[strings.Index(err.Error(), "\n")+1:], "\n")
			report(fmt.Sprintf("without %s: %s", g.name, reason))
			continue
		}
		out = append(out, g)
	}
	return append(out, generator{
		name: "goxdr", lacks: "checks without decoding, sizes", imports: "\"bytes\"\n\t\"github.com/xdrpp/goxdr/xdr\"",
		generate: func(u *unit, dir string) error {
			return command("", w.goxdr, append([]string{"-p", "p", "-o", filepath.Join(dir, "p.go")}, u.amends...)...)
		},
		program: func(u *unit) string {
			name := []rune(u.root)
			return fmt.Sprintf(goxdrProgram, string(unicode.ToUpper(name[0]))+string(name[1:]))
		},
	}, generator{
		name: "protobuf-go", lacks: "another wire format without bounds; a table for a runtime library, not code", imports: `"google.golang.org/protobuf/proto"`,
		generate: w.protobuf, program: func(*unit) string { return protoProgram },
	})
}

// ours runs xdrgen gen with more flags.
func (w *workshop) ours(u *unit, dir string, flags []string) error {
	args := append([]string{"gen", "-o", dir, "-package", "p", "-rename", u.root + "=" + rootName}, flags...)
	folder := filepath.Dir(u.files[0])
	text, err := os.ReadFile(filepath.Join(folder, filepath.Base(folder)+".bind"))
	if err == nil {
		bind := dir + ".bind"
		if err := os.WriteFile(bind, withoutStubs(text), 0o666); err != nil {
			return err
		}
		args = append(args, "-bind", bind)
	}
	return command("", w.xdrgen, append(args, folder)...)
}

// withoutStubs returns a sidecar without the line that asks for clients and servers, which the
// peers do not generate either.
func withoutStubs(sidecar []byte) []byte {
	return []byte(strings.ReplaceAll("\n"+string(sidecar), "\nrpc\n", "\n"))
}

//go:embed nfs3.proto
var protoFile string

// protobuf runs protoc-gen-go on protoFile.
func (w *workshop) protobuf(u *unit, dir string) error {
	request, err := codeRequest(protoFile)
	if err != nil {
		return err
	}
	cmd := exec.Command(w.protoc)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(request)), os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("protoc-gen-go: %w", err)
	}
	text, err := codeResponse(answer)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o666)
}
