package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// Exit codes of all commands.
const (
	exitClean    = 0
	exitFailed   = 1 // I/O or an internal error
	exitUsage    = 2
	exitFindings = 3
)

// environment holds the streams and system functions that a command uses. Tests replace them.
type environment struct {
	stdin          io.Reader // nil for none
	stdout, stderr io.Writer
	getenv         func(string) string
	terminal       func(io.Writer) bool
	command        string   // command that runs, for messages; empty until it is known
	args           []string // of the command line, for messages
}

type commandLine struct {
	Check      checkCmd      `cmd:""`
	Gen        genCmd        `cmd:""`
	Diff       diffCmd       `cmd:""`
	Dump       dumpCmd       `cmd:""`
	JSON       jsonCmd       `cmd:"" name:"json"`
	Explain    explainCmd    `cmd:""`
	Corpus     corpusCmd     `cmd:""`
	Completion completionCmd `cmd:""`
	Fmt        fmtCmd        `cmd:""`
	Lint       lintCmd       `cmd:""`
	Compat     compatCmd     `cmd:""`
	Wireshark  wiresharkCmd  `cmd:""`
	LSP        lspCmd        `cmd:"" name:"lsp"`
	Doc        docCmd        `cmd:""`
	Version    struct{}      `cmd:""`
}

// run runs one command line and returns the exit code.
func run(args []string, env environment) int {
	if topic, ok := cli.WantsHelp(args); ok {
		text, known := help(topic)
		if !known {
			return usage(env, unknownTopic(topic))
		}
		fmt.Fprint(env.stdout, cli.Fold(text, cli.Width(env.stdout)))
		return exitClean
	}
	if args[0] == "-version" || args[0] == "--version" {
		args = []string{"version"}
	}
	var line commandLine
	parser, err := kong.New(&line, kong.Name("xdrgen"), kong.NoDefaultHelp(), cli.Strings(), kong.Writers(env.stdout, env.stderr))
	if err != nil {
		return failed(env, err)
	}
	if _, known := help(args[0]); known {
		env.command = args[0]
	}
	env.args = args
	ctx, err := parser.Parse(filesLast(parser.Model, cli.Long(args, "ID")))
	if err != nil {
		return usage(env, parseError(parser.Model, env.command, args, err))
	}
	defer cli.AnnouncePipes(env.stderr, "xdrgen", args)()
	switch name, _, _ := strings.Cut(ctx.Command(), " "); name {
	case "check":
		return line.Check.run(env)
	case "gen":
		return line.Gen.run(env)
	case "diff":
		return line.Diff.run(env)
	case "dump":
		return line.Dump.run(env)
	case "json":
		return line.JSON.run(env)
	case "corpus":
		return line.Corpus.run(env)
	case "explain":
		return line.Explain.run(env)
	case "completion":
		return line.Completion.run(env, parser.Model)
	case "fmt":
		return line.Fmt.run(env)
	case "lint":
		return line.Lint.run(env)
	case "compat":
		return line.Compat.run(env)
	case "wireshark":
		return line.Wireshark.run(env)
	case "lsp":
		return line.LSP.run(env)
	case "doc":
		return line.Doc.run(env)
	}
	fmt.Fprintln(env.stdout, cli.Version("xdrgen"))
	return exitClean
}

// usage reports a usage error and the help to read, and returns exitUsage.
func usage(env environment, err error) int {
	fmt.Fprintf(env.stderr, "xdrgen: %v\ntry %s\n", err, strings.TrimSpace("xdrgen help "+env.command))
	return exitUsage
}

// failed reports a failure and returns exitFailed.
func failed(env environment, err error) int {
	fmt.Fprintf(env.stderr, "xdrgen: %v\n", err)
	return exitFailed
}
