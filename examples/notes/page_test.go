package main

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	if files != 5 {
		t.Errorf("the page has %d files", files)
	}
	golden.CheckString(t, page, out.String())
}

// commands returns the commands of a section of the page with their output.
func commands(t *testing.T, title string) (out [][2]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+title+"\n")
	_, section, begun := strings.Cut(section, "```console\n")
	section, _, closed := strings.Cut(section, "```")
	if !ok || !begun || !closed {
		t.Fatalf("no commands in section %s", title)
	}
	for _, part := range strings.Split(section, "$ ")[1:] {
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
	program := filepath.Join(t.TempDir(), "notes")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tcpAddr, rdmaAddr := "127.0.0.1:0", "127.0.0.1:0"
	for _, c := range commands(t, "5. Run it") {
		words := []string{"-tcp", tcpAddr, "-rdma", rdmaAddr}
		line, ours := strings.CutPrefix(c[0], "go run ./examples/notes ")
		if c[0] == "kill %1" {
			break
		}
		if !ours {
			t.Fatalf("a command that the test does not know: %s", c[0])
		}
		for i, quoted := range strings.Split(line, "'") {
			if i%2 == 1 {
				words = append(words, quoted)
			} else {
				words = append(words, strings.Fields(quoted)...)
			}
		}
		if rest, background := strings.CutSuffix(line, " &"); background {
			ctx, cancel := context.WithCancel(context.Background())
			cmd := exec.CommandContext(ctx, program, append(words[:4], strings.Fields(rest)...)...)
			cmd.Stderr = os.Stderr
			stdout, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cancel()
				_ = cmd.Wait()
			})
			ready, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if tcpAddr, rdmaAddr = addresses(t, ready); len(strings.Fields(ready)) != len(strings.Fields(c[1])) {
				t.Errorf("%s printed %q, the page says %q", c[0], ready, c[1])
			}
			continue
		}
		out, err := exec.Command(program, words...).CombinedOutput()
		got := string(out)
		if err != nil {
			got += err.Error() + "\n" // as go run does
		}
		if got != c[1] {
			t.Errorf("%s printed %q, the page says %q", c[0], got, c[1])
		}
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
