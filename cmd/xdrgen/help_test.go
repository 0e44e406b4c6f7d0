package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// TestHelpExamples checks that the parser accepts the examples in the help of each command.
func TestHelpExamples(t *testing.T) {
	for _, c := range testModel(t) {
		if c.Name == "help" || c.Name == "version" {
			continue
		}
		text, _ := help(c.Name)
		_, examples, ok := strings.Cut(text, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		n := 0
		for line := range strings.Lines(examples) {
			for part := range strings.SplitSeq(line, " | ") {
				part, _, _ = strings.Cut(part, " > ")
				part = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(part), ")"), " &&")
				_, args, isOurs := strings.Cut(part, "xdrgen ")
				if !isOurs || strings.HasPrefix(args, "help ") {
					continue
				}
				n++
				parser, err := kong.New(&commandLine{}, kong.Name("xdrgen"), kong.NoDefaultHelp())
				if err != nil {
					t.Fatal(err)
				}
				words := strings.Fields(strings.ReplaceAll(args, "'", ""))
				if _, err := parser.Parse(filesLast(parser.Model, cli.Long(words, "ID"))); err != nil {
					t.Errorf("xdrgen %s: %v", args, err)
				}
			}
		}
		if !ok || n < 2 {
			t.Errorf("help %s has %d examples", c.Name, n)
		}
	}
}

// TestHelpFitsIn80Columns prints each help text without a terminal.
func TestHelpFitsIn80Columns(t *testing.T) {
	for _, topic := range append(topics(), "") {
		stdout, _, code := runCommand(t, "help", topic)
		if topic == "" {
			stdout, _, code = runCommand(t, "help")
		}
		if code != exitClean || len(stdout) < 50 {
			t.Errorf("help %s: exit code %d, %q", topic, code, stdout)
		}
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("help %s: %d columns: %s", topic, n, line)
			}
		}
	}
}
