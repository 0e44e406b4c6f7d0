package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
)

const page = "../../docs/oncrpc.md"

// docs/oncrpc.md has the files of this folder. -update writes them there.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	rest, files := string(text), 0
	for {
		before, after, ok := strings.Cut(rest, "\nFile [")
		out.WriteString(before)
		if !ok {
			break
		}
		name, _, _ := strings.Cut(after, "]")
		head, block, ok := strings.Cut(after, "```")
		language, block, open := strings.Cut(block, "\n")
		_, end, closed := strings.Cut(block, "```\n")
		file, err := os.ReadFile(name)
		if err != nil || !ok || !open || !closed {
			t.Fatalf("%s: %v, or no block of code follows", name, err)
		}
		out.WriteString("\nFile [" + head + "```" + language + "\n" + string(file) + "```\n")
		rest = end
		files++
	}
	if files != 6 {
		t.Errorf("the page has %d files", files)
	}
	golden.CheckString(t, page, out.String())
}

// The page quotes parts of examples as they are.
func TestQuotedExamples(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for title, file := range map[string]string{
		"9. Serve this machine alone": "tcp/example_local_test.go", "10. Call the client": "rpc/example_callback_test.go",
	} {
		_, section, ok := strings.Cut(string(text), "\n## "+title+"\n")
		_, quoted, ok2 := strings.Cut(section, "```go\n")
		quoted, _, ok3 := strings.Cut(quoted, "```")
		example, err := os.ReadFile("../../runtime/oncrpc/" + file)
		if err != nil || !ok || !ok2 || !ok3 || !strings.Contains(string(example), quoted) {
			t.Errorf("%v; %s does not have\n%s", err, file, quoted)
		}
	}
}

// commands returns the commands of a section of the page, with their output.
func commands(t *testing.T, section string) (out [][2]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## "+section+"\n")
	_, rest, ok2 := strings.Cut(rest, "```console\n")
	rest, _, closed := strings.Cut(rest, "```")
	if !ok || !ok2 || !closed {
		t.Fatalf("no section %q with commands", section)
	}
	for _, part := range strings.Split(rest, "$ ")[1:] {
		command, output, _ := strings.Cut(part, "\n")
		out = append(out, [2]string{command, output})
	}
	return out
}

// The commands of the page print what it says. The test gives them ports of its own.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	s := &shell{t: t, program: build(t), tcpAddr: "127.0.0.1:0", rdmaAddr: "127.0.0.1:0"}
	for _, c := range commands(t, "5. Run it") {
		s.run(c[0], c[1])
	}
}

// TestHelpNamesCommandsAndFlags checks what a newcomer reads first.
func TestHelpNamesCommandsAndFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	out, err := exec.Command(build(t), "-h").CombinedOutput()
	for _, want := range []string{"notes [flags] serve ", "put NAME TEXT ", "get NAME ", "list ", "-over carrier"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%q is missing: %v, %s", want, err, out)
		}
	}
}

// build builds the command.
func build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "notes")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// shell runs commands of the page.
type shell struct {
	t                 *testing.T
	program           string
	tcpAddr, rdmaAddr string // of the server
	stop              func() // ends the command in the background
}

// run runs a command, and compares its output.
func (s *shell) run(command, want string) {
	s.t.Helper()
	line, ours := strings.CutPrefix(command, "go run ./examples/notes ")
	switch {
	case command == "kill %1":
		s.stop()
		return
	case !ours:
		s.t.Fatalf("a command that the test does not know: %s", command)
	}
	words := []string{"-tcp", s.tcpAddr, "-rdma", s.rdmaAddr}
	for i, quoted := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, quoted)
		} else {
			words = append(words, strings.Fields(quoted)...)
		}
	}
	if words[len(words)-1] == "&" {
		s.start(command, words[:len(words)-1], want)
		return
	}
	out, err := exec.Command(s.program, words...).CombinedOutput()
	got := string(out)
	if err != nil {
		got += err.Error() + "\n" // as go run does
	}
	if got != want {
		s.t.Errorf("%s printed %q, the page says %q", command, got, want)
	}
}

// start starts the server in the background, and waits for the line that it prints.
func (s *shell) start(command string, words []string, want string) {
	s.t.Helper()
	cmd := exec.Command(s.program, words...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("%s: %v", command, err)
		}
	})
	s.t.Cleanup(s.stop)
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	if s.tcpAddr, s.rdmaAddr = addresses(s.t, ready); len(strings.Fields(ready)) != len(strings.Fields(want)) {
		s.t.Errorf("%s printed %q, the page says %q", command, ready, want)
	}
}

// addresses returns the addresses in the line that serve prints.
func addresses(t *testing.T, ready string) (byTCP, byRDMA string) {
	t.Helper()
	words := strings.Fields(ready)
	if len(words) != 3 {
		t.Fatalf("%q", ready)
	}
	for _, addr := range words[1:] {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			t.Fatal(err)
		}
	}
	return words[1], words[2]
}
