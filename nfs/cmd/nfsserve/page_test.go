package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

const root, page = "../../..", "../../../docs/nfs-server.md"

// docs/nfs-server.md has the example of package nfsd.
func TestExampleOfPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../nfsd/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```go\n"+string(example)+"```\n") {
		t.Errorf("%s does not have the text of nfsd/example_test.go in a block of Go", page)
	}
}

// commands returns the commands of the page with their output.
func commands(t *testing.T) (out [][2]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, output, _ := strings.Cut(part+"\n", "\n")
			out = append(out, [2]string{command, strings.TrimRight(output, "\n")})
		}
	}
	if len(out) < 8 {
		t.Fatalf("the page has %d commands", len(out))
	}
	return out
}

// The commands of the page print what it says, with ports and a directory of the test's own, and
// succeed when they are run again: the server answers over TCP and over RDMA (R311). libnfs is a
// client of another project.
func TestCommandsOfPage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the commands")
	}
	for _, name := range []string{"nfs-cat", "nfs-cp", "nfs-ls", "sed", "sh"} {
		witness.Program(t, name)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, ".", "../nfs").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%v", again), func(t *testing.T) { runPage(t, dir, again) })
	}
}

// runPage runs the commands of the page. If they have run before, their output may differ.
func runPage(t *testing.T, dir string, again bool) {
	own := []string{
		"/tmp/served", filepath.Join(dir, "served"),
		"go run ./nfs/cmd/nfsserve ", filepath.Join(dir, "nfsserve") + " -tcp 127.0.0.1:0 -rdma 127.0.0.1:0 ",
		"go run ./nfs/cmd/nfs ", filepath.Join(dir, "nfs") + " ",
	}
	for _, c := range commands(t) {
		line, background := strings.CutSuffix(strings.NewReplacer(own...).Replace(c[0]), " &")
		if c[0] == "kill %1" {
			break // the cleanup does it
		}
		cmd := exec.Command("sh", "-c", "exec 2>&1; "+line)
		cmd.Dir = root
		if background {
			ready := start(t, exec.Command(strings.Fields(line)[0], strings.Fields(line)[1:]...))
			_, ports, _ := strings.Cut(ready, ": tcp ")
			byTCP, byRDMA, ok := strings.Cut(ports, ", rdmatcp ")
			said, advice, _ := strings.Cut(c[1], "\n")
			if !ok {
				t.Fatalf("%s printed %q", c[0], ready)
			}
			own = append(own, "127.0.0.1:20049", byRDMA, "127.0.0.1:2049", byTCP, "port=2049", "port="+port(byTCP),
				"-port 20049", "-port "+port(byRDMA), "port 2049", "port "+port(byTCP))
			if got := strings.NewReplacer(filepath.Join(dir, "served"), "/tmp/served", byTCP, "127.0.0.1:2049", byRDMA, "127.0.0.1:20049").Replace(ready); got != said {
				t.Errorf("%s printed %q, the page says %q", c[0], got, said)
			}
			o := options{provider: "rdmatcp"}
			o.Export = "/export"
			if want := strings.TrimSuffix(o.advice("127.0.0.1:2049", "127.0.0.1:20049", false), "\n"); advice != want {
				t.Errorf("%s prints %q, the page says %q", c[0], want, advice)
			}
			continue
		}
		out, err := cmd.Output()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != c[1] && !again {
			t.Errorf("%s printed %q, %v, the page says %q", c[0], got, err, c[1])
		}
	}
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// start starts a server until the test ends, and returns the line that it prints.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	ready := begin(t, cmd, os.Stderr)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return ready
}

// begin starts a server, and returns the line that it prints.
func begin(t *testing.T, cmd *exec.Cmd, stderr io.Writer) string {
	t.Helper()
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(ready, "\n")
}

// Wrong values of flags are errors of usage.
func TestWrongFlagsAreErrorsOfUsage(t *testing.T) {
	for _, tt := range []struct {
		o    options
		args []string
		text string
	}{
		{options{files: "dir", portmap: "auto", provider: "iwarp"}, nil, "found 0 arguments"},
		{options{files: "dir", portmap: "auto", provider: "iwarp"}, []string{""}, "expected DIR"},
		{options{files: "dir", portmap: "auto", provider: "iwarp"}, []string{"a", "b"}, "found 2 arguments"},
		{options{files: "dir", portmap: "auto", provider: "iwarp"}, []string{"a", "-ro"}, `found the flag "-ro" after an argument: flags come before`},
		{options{files: "dir", portmap: "on", provider: "iwarp"}, []string{"a"}, `found -portmap "on", expected auto, own, system or off`},
		{options{files: "dir", portmap: "off", provider: "siw"}, []string{"a"}, `found -provider "siw", expected iwarp or rdmatcp`},
		{options{files: "tar", portmap: "auto", provider: "iwarp"}, []string{"a"}, `found -fs "tar", expected dir, zip or mem`},
		{options{files: "zip", portmap: "auto", provider: "iwarp"}, nil, "expected FILE"},
		{options{files: "mem", portmap: "auto", provider: "iwarp"}, []string{"a"}, "expected none with -fs mem"},
		{options{files: "zip", portmap: "auto", provider: "iwarp", Config: nfsd.Config{State: "s"}}, []string{"a"}, "found -state with -fs zip"},
	} {
		if err := tt.o.check(tt.args); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%+v: %v, expected %q", tt.o, err, tt.text)
		}
	}
	right := options{files: "dir", portmap: "system", provider: "rdmatcp", locks: "off", Config: nfsd.Config{LockGrace: time.Second}}
	noGrace, noLocks := right, right
	noGrace.LockGrace, noLocks.locks = 0, "no"
	for text, o := range map[string]*options{"found -grace 0s, expected a time above zero": &noGrace, `found -locks "no", expected on or off`: &noLocks} {
		if err := o.check([]string{"dir"}); err == nil || err.Error() != text {
			t.Errorf("found %v, expected %q", err, text)
		}
	}
	if err := right.check([]string{"dir"}); err != nil {
		t.Error(err)
	}
}

// TestListenErrorsSayWhatToDo checks the errors about addresses, which name the flag.
func TestListenErrorsSayWhatToDo(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for _, tt := range []struct{ tcp, rdma, want string }{
		{used.Addr().String(), "", `-tcp "` + used.Addr().String() + `": .*: try another port, or stop the server that uses this one`},
		{"127.0.0.1:0", used.Addr().String(), `-rdma ".*": .*: try another port`},
		{"127.0.0.1", "", `-tcp "127.0.0.1": the port is missing: try HOST:PORT, such as 127.0.0.1:2049`},
		{"192.0.2.1:0", "", `-tcp "192.0.2.1:0": .*: try an address of this machine`},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		o := options{tcp: tt.tcp, rdma: tt.rdma, portmap: "off", provider: "rdmatcp"}
		o.Dir, o.Export = dir, "/export"
		err := serve(t.Context(), o, io.Discard, io.Discard)
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("-tcp %q -rdma %q: %v, expected %s", tt.tcp, tt.rdma, err, tt.want)
		}
	}
}
