package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

const (
	userModule = "module example.org/user\n\ngo 1.26\n\nrequire github.com/rpcrdma/rpcrdma v0.0.0\n\nreplace github.com/rpcrdma/rpcrdma => "
	userProto  = `const NAMELEN = 16;
enum color { RED = 0, GREEN = 7 };
struct item { color c; string name<NAMELEN>; item *next; };
typedef item *items;
struct reply { unsigned hyper cookie; items all; };
`
	userDoc = `// Package proto is a user's protocol.
package proto

//go:generate go tool xdrgen gen -o . -package proto proto.x
`
	userTest = `package proto

import (
	"bytes"
	"os"
	"testing"
)

func TestReplyLinesReachTheStubs(t *testing.T) {
	want, err := os.ReadFile("reply.bin")
	if err != nil {
		t.Fatal(err)
	}
	var r Reply
	if err := r.UnmarshalBinary(want); err != nil {
		t.Fatal(err)
	}
	if len(r.All) != 2 || r.All[1].Name.String() != "two" || r.Cookie != 5 {
		t.Errorf("%+v", r)
	}
	if got, err := r.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v", got, err)
	}
}
`
	userJSON = `{"cookie":"5","all":[{"c":"RED","name":"one"},{"c":"GREEN","name":"two"}]}`
)

// user is a module that uses xdrgen.
type user struct {
	t   *testing.T
	dir string
}

// run runs the go command in a folder of the module, without network access.
func (u user) run(folder string, args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), "go", args...)
	cmd.Dir = filepath.Join(u.dir, folder)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "PWD="+cmd.Dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must is run for a command that has to succeed.
func (u user) must(folder string, args ...string) string {
	u.t.Helper()
	stdout, stderr, code := u.run(folder, args...)
	if code != 0 {
		u.t.Fatalf("go %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// TestReadmeClone runs the commands of the README for use from a clone, in a module with a .x
// file and a program that uses the generated package. The module proxy refuses every request, so
// the commands must not look for a published version of the clone.
func TestReadmeClone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the commands")
	}
	bash := witness.Program(t, "bash")
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## Use it from a clone\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var script strings.Builder
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			script.WriteString(command)
		}
	}
	if n := strings.Count(script.String(), "\n"); !ok || n < 7 {
		t.Fatalf("the README has %d commands for use from a clone:\n%s", n, &script)
	}
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{
		"mymodule/go.mod":  "module example.org/user\n\ngo 1.26\n",
		"mymodule/store.x": userProto,
		"mymodule/main.go": "package main\n\nimport \"example.org/user/store\"\n\nfunc main() { println((&store.Reply{}).XDRSize()) }\n",
	})
	commands := strings.NewReplacer("cd rpcrdma", "cd "+checkout, "../rpcrdma", checkout, "-o bin/", "-o "+dir+"/bin/",
		"cd ../mymodule", "cd "+dir+"/mymodule").Replace(script.String())
	cmd := exec.CommandContext(t.Context(), bash, "-e", "-c", commands+"go run .\n../bin/xdrgen version\n../bin/rpcrdma version\n")
	cmd.Dir = dir
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "refused", http.StatusForbidden) }))
	defer proxy.Close()
	cmd.Env = append(os.Environ(), "GOPROXY="+proxy.URL, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=", "GOFLAGS=-buildvcs=false -trimpath")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"\n12\n", "\nxdrgen ", "\nrpcrdma "} {
		if err != nil || !strings.Contains("\n"+string(out), want) {
			t.Fatalf("%v, expected %q in\n%s", err, want, out)
		}
	}
	files, err := os.ReadDir(dir + "/mymodule")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range files {
		left = append(left, f.Name())
	}
	if got := strings.Join(left, " "); got != "go.mod go.sum main.go store store.x" {
		t.Errorf("the commands leave in the user's module: %s", got)
	}
}

// TestUserModule uses the compiler in another module: go get -tool, then go tool xdrgen and
// go generate, with the documented exit codes.
func TestUserModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds xdrgen in another module")
	}
	witness.Program(t, "go")
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	u := user{t, writeFiles(t, map[string]string{
		"go.mod":              userModule + checkout + "\n",
		"proto/proto.x":       userProto,
		"proto/doc.go":        userDoc,
		"proto/reply.json":    userJSON,
		"proto/reply_test.go": userTest,
		"bad.x":               "struct a { nothing x; };\n",
	})}
	if _, stderr, code := u.run(".", "get", "-tool", "github.com/rpcrdma/rpcrdma/cmd/xdrgen"); code != 0 {
		if strings.Contains(stderr, "GOPROXY=off") {
			t.Skipf("the module cache lacks something that the tool needs:\n%s", stderr)
		}
		t.Fatalf("go get -tool: %s", stderr)
	}
	if text, err := os.ReadFile(filepath.Join(u.dir, "go.mod")); err != nil || !strings.Contains(string(text), "tool github.com/rpcrdma/rpcrdma/cmd/xdrgen") {
		t.Fatalf("%v\n%s", err, text)
	}

	if stdout := u.must(".", "tool", "xdrgen", "version"); !strings.HasPrefix(stdout, "xdrgen ") {
		t.Errorf("version: %s", stdout)
	}
	if _, stderr, code := u.run(".", "tool", "xdrgen", "check", "bad.x"); code != exitFindings {
		t.Errorf("check: exit code %d, %s", code, stderr)
	}
	if _, _, code := u.run("proto", "tool", "xdrgen", "diff", "-o", ".", "-package", "proto", "proto.x"); code != exitFindings {
		t.Errorf("diff before gen: exit code %d", code)
	}
	u.must(".", "generate", "./...")
	if stdout := u.must("proto", "tool", "xdrgen", "diff", "-o", ".", "-package", "proto", "proto.x"); stdout != "" {
		t.Errorf("diff after gen: %s", stdout)
	}

	data := u.must("proto", "tool", "xdrgen", "json", "-type", "reply", "-encode", "-bare", "reply.json", "proto.x")
	if err := os.WriteFile(filepath.Join(u.dir, "proto/reply.bin"), []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	u.must(".", "vet", "./...")
	u.must(".", "test", "./...")
	if stdout := u.must("proto", "tool", "xdrgen", "json", "-type", "reply", "-bare", "-compact", "reply.bin", "proto.x"); stdout != userJSON+"\n" {
		t.Errorf("json: %s", stdout)
	}
	if stdout := u.must("proto", "tool", "xdrgen", "dump", "-type", "reply", "reply.bin", "proto.x"); !strings.Contains(stdout, "all[1].c = GREEN (7)\n") {
		t.Errorf("dump: %s", stdout)
	}
}
