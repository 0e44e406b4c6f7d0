package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// TestHelpPage checks that docs/rpcrdma.md is up to date.
func TestHelpPage(t *testing.T) {
	golden.CheckString(t, "../../docs/rpcrdma.md", helpPage())
}

// helpPage returns the page docs/rpcrdma.md.
func helpPage() string {
	var b strings.Builder
	block := func(text string) { fmt.Fprintf(&b, "```\n%s```\n", cli.Fold(text, cli.DefaultWidth)) }
	b.WriteString("# rpcrdma\n\nMade by `go test ./cmd/rpcrdma -run TestHelpPage -update` from the texts of `rpcrdma help`.\n" +
		"The module is not published yet: in a clone, `go run ./cmd/rpcrdma` runs it, and\n`go build -o bin/ ./cmd/rpcrdma` builds it.\n\n")
	block(helpMain)
	section := func(title, text string) {
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		block(text)
	}
	for _, topic := range []string{"call", "info", "ping", "nfsping", "perf", "serve", "conform", "devices", "selftest"} {
		text, _ := help(topic)
		text, _, _ = strings.Cut(text, helpDevice)
		text, _, _ = strings.Cut(text, "\nFlags of -carrier rdma; -pcap and -limit also without it:")
		section(topic, text)
	}
	section("Common flags, and exit codes", strings.TrimPrefix(helpDevice, "\n")+helpExit)
	section("Errors", helpErrors())
	section("JSON lines", helpJSON)
	section("completion", helpCompletion)
	return b.String()
}

// TestHelpPageShowsWhatHelpPrints checks that help commands print each paragraph of the page's
// blocks when the output is not a terminal.
func TestHelpPageShowsWhatHelpPrints(t *testing.T) {
	var printed strings.Builder
	for _, topic := range []string{"", "call", "info", "ping", "nfsping", "perf", "serve", "conform", "devices", "selftest", "errors", "exit-codes", "json", "completion"} {
		_, stdout, _ := try(t.Context(), strings.Fields("help "+topic)...)
		printed.WriteString(stdout + "\n")
	}
	for _, paragraph := range golden.Quoted(t, "../../docs/rpcrdma.md") {
		if !strings.Contains(printed.String(), paragraph) {
			t.Errorf("no help command prints this paragraph of docs/rpcrdma.md:\n%s", paragraph)
		}
	}
}

// The help names every field of every line that is printed as JSON.
func TestHelpJSON(t *testing.T) {
	addr := serving(t)
	_, board, rdma := servingNotes(t)
	closed := listener(t, nil)
	closed.Close()
	for _, args := range []string{
		"call -json -d 5 " + notesFile + " h:1 NOTES.1.1", "call -json -d \"a\" " + notesFile + " " + board + " NOTES.1.2",
		"call -json -d \"a\" " + notesFile + " " + oncrpcOverTCP(t, oncrpc.NewProgMismatch(0, 2, 3)) + " NOTES.1.2",
		"call -json -d \"a\" " + notesFile + " " + oncrpcOverTCP(t, oncrpc.NewAuthError(0, oncrpc.AuthStatTooWeak)) + " NOTES.1.2",
		"info -json -port " + rdma[strings.LastIndexByte(rdma, ':')+1:] + " " + closed.Addr().String(), "info -json " + registered(t, board),
		"ping -json -c 1 " + addr, "nfsping -json -c 1 " + addr, "perf -json -n 10 -i 1ms -histogram " + addr, "ping -json -c 1 localhost:1",
	} {
		_, stdout, _ := try(context.Background(), strings.Fields(args)...)
		for _, o := range objects(t, stdout) {
			for field := range o {
				if !slices.Contains(strings.FieldsFunc(helpJSON, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), field) {
					t.Errorf("%s: the help does not name field %s of %s", args, field, o["type"])
				}
			}
		}
	}
}

// TestHelpFitsIn80Columns prints each help text without a terminal.
func TestHelpFitsIn80Columns(t *testing.T) {
	for _, topic := range []string{"", "call", "info", "ping", "nfsping", "perf", "serve", "conform", "devices", "selftest", "errors", "exit-codes", "json", "completion"} {
		code, stdout, _ := try(t.Context(), strings.Fields("help "+topic)...)
		if code != exitDone || len(stdout) < 50 {
			t.Errorf("help %s: exit code %d, %q", topic, code, stdout)
		}
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("help %s: %d columns: %s", topic, n, line)
			}
		}
	}
}

// The examples of the help parse; those that need no server run.
func TestHelpExamples(t *testing.T) {
	t.Chdir(t.TempDir()) // one writes a file
	n := 0
	for _, topic := range []string{"", "call", "info", "ping", "nfsping", "perf", "serve", "conform", "devices"} {
		text, _ := help(topic)
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) < 2 || fields[0] != "rpcrdma" || !strings.HasPrefix(line, "  rpcrdma") {
				continue
			}
			n++
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // so that every command ends at once
			args, _, _ := strings.Cut(strings.TrimSpace(line), "   ")
			code, _, stderr := try(ctx, shellWords(args)[1:]...)
			if code == exitUsage {
				t.Errorf("%s: %s", args, stderr)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d examples found", n)
	}
}

// shellWords splits a command line as a shell does, up to a redirection. Single quotes are the only
// ones.
func shellWords(line string) (words []string) {
	line, _, _ = strings.Cut(line, " < ")
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
