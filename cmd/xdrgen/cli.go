package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// Exit codes, the same in all commands.
const (
	exitClean    = 0
	exitFailed   = 1 // input, output or the tool itself
	exitUsage    = 2
	exitFindings = 3
)

// environment is what the command has of the world.
type environment struct {
	stdin          io.Reader // nil for none
	stdout, stderr io.Writer
	getenv         func(string) string
	terminal       func(io.Writer) bool
}

// unitFlags are those of every command that reads a unit.
type unitFlags struct {
	Include []string `short:"I" name:"include" sep:"none"`
	Define  []string `short:"D" name:"define" sep:"none"`
	Errors  int      `name:"errors" default:"20"`
	Color   string   `name:"color" enum:"auto,always,never" default:"auto"`
	Files   []string `arg:"" name:"file"`
}

// outsideFlags give what the files use and do not declare.
type outsideFlags struct {
	Type   []string `name:"type" sep:"none"`
	Import []string `name:"import" sep:"none"`
}

type checkCmd struct {
	unitFlags
	outsideFlags
	Strict bool   `name:"strict"`
	Fix    bool   `name:"fix"`
	Format string `name:"format" enum:"text,json,sarif,github" default:"text"`
}

type genCmd struct {
	unitFlags
	outsideFlags
	Out        string `short:"o" name:"out" required:""`
	Package    string `name:"package" required:""`
	ImportRoot string `name:"import-root"`
	Bind       string `name:"bind"`
	Tests      bool   `name:"tests"`
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
	Version    struct{}      `cmd:""`
}

// run runs one command line and returns the exit code.
func run(args []string, env environment) int {
	if topic, ok := wantsHelp(args); ok {
		text, known := help(topic)
		if !known {
			return usage(env, fmt.Errorf("no help on %s", diag.Quote(topic)))
		}
		fmt.Fprint(env.stdout, text)
		return exitClean
	}
	var line commandLine
	parser, err := kong.New(&line, kong.Name("xdrgen"), kong.NoDefaultHelp(), kong.Writers(env.stdout, env.stderr))
	if err != nil {
		return failed(env, err)
	}
	ctx, err := parser.Parse(filesLast(parser.Model, normalise(args)))
	if err != nil {
		return usage(env, err)
	}
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
	}
	fmt.Fprintln(env.stdout, version())
	return exitClean
}

func usage(env environment, err error) int {
	fmt.Fprintf(env.stderr, "xdrgen: %v\ntry xdrgen help\n", err)
	return exitUsage
}

func failed(env environment, err error) int {
	fmt.Fprintf(env.stderr, "xdrgen: %v\n", err)
	return exitFailed
}

// normalise gives long flags written with one dash, which is how they are
// documented, the two that the parser wants. -I and -D may have their value
// attached, as with a C compiler.
func normalise(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && a[1] != 'I' && a[1] != 'D' && !strings.HasPrefix(a, "-o=") {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}

// wantsHelp tells a request for help, and about what.
func wantsHelp(args []string) (topic string, ok bool) {
	if len(args) == 0 {
		return "", true
	}
	if args[0] == "help" {
		return strings.Join(args[1:], " "), true
	}
	for _, a := range args {
		switch a {
		case "--":
			return "", false
		case "-h", "-help", "--help":
			if strings.HasPrefix(args[0], "-") {
				return "", true
			}
			return args[0], true
		}
	}
	return "", false
}

// isTerminal reports whether w is a character device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// color decides whether findings on w are coloured.
func color(mode string, w io.Writer, env environment) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb" && env.terminal(w)
}

// defines reads the values of -D.
func defines(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, d := range list {
		name, value, _ := strings.Cut(d, "=")
		if !isName(name) {
			return nil, fmt.Errorf("-D %s: found %s, expected name or name=value", d, diag.Quote(name))
		}
		out[name] = value
	}
	return out, nil
}

// types reads the values of -type.
func types(list []string) ([]sema.Given, error) {
	var out []sema.Given
	for _, t := range list {
		name, xdr, _ := strings.Cut(t, "=")
		if !isName(name) || strings.TrimSpace(xdr) == "" {
			return nil, fmt.Errorf("-type %s: expected NAME=XDRTYPE, such as -type 'netobj=opaque<1024>'", t)
		}
		out = append(out, sema.Given{Name: name, XDR: xdr})
	}
	return out, nil
}

func isName(s string) bool {
	for i, r := range s {
		if !(r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}
