package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// asCommand is the environment variable that makes the test binary act as xdrgen.
const asCommand = "XDRGEN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// exampleFiles returns the files that the examples of the help use.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const proto = "const MAX = 8;\nstruct entry { int a; opaque b<MAX>; };\nstruct message { entry e; message *next; };\n" +
		"program P { version V { void P_NULL(void) = 0; entry P_GET(int) = 1; } = 1; } = 0x20000001;\n"
	const nfs = "struct readargs { opaque file[4]; unsigned int offset; };\n" +
		"program NFS_PROGRAM { version NFS_VERSION { void NFSPROC_NULL(void) = 0; opaque_t NFSPROC_READ(readargs) = 6; } = 2; } = 100003;\ntypedef opaque opaque_t<8>;\n"
	return map[string]string{
		"bin/xdrgen": "#!/bin/sh\n" + asCommand + "=1 exec " + completion.Quote(self) + " \"$@\"\n",
		"proto.x":    proto, "old/proto.x": strings.Replace(proto, "int a", "hyper a", 1), "file.x": proto, "nfs_prot.x": nfs,
		"mount.x": "struct m { int a };\n", "nlm_prot.x": "typedef string name<MAXNAMELEN>;\n",
		"call.bin": "\x01\x02\x03\x04\x00\x00\x00\x09", "data.bin": "\x00\x00\x00\x01\x00\x00\x00\x00",
		"entry.json":                    `{"v":1,"type":"value","xdr_type":"entry","value":{"a":1,"b":"00ff"}}`,
		"spec/x/proto/proto.x":          proto,
		"spec/x/rpcrdma2/a.x":           "struct first { int a; };\n",
		"spec/x/rpcrdma2/b.x":           "struct second { first a; };\n",
		"spec/x/rpcrdma2/c.x":           "const C = 1;\nstruct start { int rdma_htype; };\nstruct rpcrdma2_hdr_prefix { start rdma_start; };\n",
		"spec/x/rpcrdma2/rpcrdma2.bind": "code header-type C first\nmessage rpcrdma2_hdr_prefix rdma_start.rdma_htype\n",
		"rfc8166.txt":                   "1. One\n\n   struct a { int b; };\n", "draft-beat-01.txt": "   /// struct beat { int b; };\n",
		"calls.pcapng":  string(callsCapture()),
		"client.pcapng": string(callsCapture()), "server.pcapng": string(callsCapture()),
		"messages.hex":                  "0000000100000007\n0000000100000008\n",
		"message.bin":                   "\x00\x00\x00\x01\x00\x00\x00\x07",
		"reply.bin":                     "\x00\x00\x00\x07\x00\x00\x00\x01" + strings.Repeat("\x00", 16) + "\x00\x00\x00\x01\xaa\x00\x00\x00",
		"spec/x/ext/ext.x":              "#include \"rpcrdma2/a.x\"\nstruct more { first a; };\n",
		".config/fish/completions/none": "",
		"proto.pcap":                    "\xa1\xb2\xc3\xd4\x00\x02\x00\x04" + strings.Repeat("\x00", 8) + "\x00\x00\xff\xff\x00\x00\x00\x01",
	}
}

// TestExamplesRun runs every example of every help text in a shell, with the files that they
// use. Each must exit with success or findings.
func TestExamplesRun(t *testing.T) {
	bash := witness.Program(t, "bash")
	for _, program := range []string{"git", "patch", "tshark"} { // used by examples
		witness.Program(t, program)
	}
	dir := writeFiles(t, exampleFiles(t))
	if err := os.Chmod(filepath.Join(dir, "bin/xdrgen"), 0o777); err != nil {
		t.Fatal(err)
	}
	shell := func(line string) (string, int) {
		t.Helper()
		cmd := exec.Command(bash, "--norc", "-c", "set -o pipefail; fpath=(. .)\n"+line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00rest")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := shell("git init -q . && git add . && git -c user.name=n -c user.email=e@example.org commit -q -m one && git tag v1.2.0"); code != 0 {
		t.Fatal(out)
	}
	ran := 0
	for _, topic := range append([]string{""}, commandNames(t)...) {
		text, _ := help(topic)
		_, examples, _ := strings.Cut(text, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		for line := range strings.Lines(examples) {
			line = strings.TrimSpace(line)
			line, _, _ = strings.Cut(line, "   ") // an explanation may follow

			if strings.Contains(line, "xdrgen corpus") || strings.HasPrefix(line, "xdrgen lsp") {
				continue // one needs a checkout of this project, the other an editor
			}
			ran++
			if out, code := shell(line); code != exitClean && code != exitFindings {
				t.Errorf("%s: exit code %d\n%s", line, code, out)
			}
		}
	}
	if ran < 30 {
		t.Errorf("%d examples ran", ran)
	}
}

func commandNames(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, c := range testModel(t) {
		out = append(out, c.Name)
	}
	return out
}
