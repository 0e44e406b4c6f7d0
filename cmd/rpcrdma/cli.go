package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// Exit codes, the same in all commands.
const (
	exitDone   = 0
	exitFailed = 1 // could not connect, input, output, or the tool itself
	exitUsage  = 2
	exitPeer   = 4 // the peer answered with an error
	exitSilent = 5 // no answer in time
)

// environment is what a command has of the world.
type environment struct {
	stdout, stderr io.Writer
	terminal       bool // stderr is one
	json           bool // what is reported are JSON lines
}

// output remembers the first failure to write: a disk may be full.
type output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.w.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

type commandLine struct {
	Ping       pingCmd       `cmd:""`
	Perf       perfCmd       `cmd:""`
	Serve      serveCmd      `cmd:""`
	Completion completionCmd `cmd:""`
	Version    struct{}      `cmd:""`
}

// run runs one command line and returns the exit code. The context ends at the first signal.
func run(ctx context.Context, args []string, env environment) int {
	out := &output{w: env.stdout}
	env.stdout = out
	code := execute(ctx, args, env)
	if code == exitDone && out.err != nil { // who reads the output would take what is there for all of it
		return report(env, out.err)
	}
	return code
}

func execute(ctx context.Context, args []string, env environment) int {
	if topic, ok := cli.WantsHelp(args); ok {
		text, known := help(topic)
		if !known {
			return usage(env, "", fmt.Errorf("no help on %q", topic))
		}
		fmt.Fprint(env.stdout, text)
		return exitDone
	}
	if len(args) == 1 && strings.TrimLeft(args[0], "-") == "version" {
		args = []string{"version"}
	}
	var line commandLine
	parser, err := kong.New(&line, kong.Name("rpcrdma"), kong.NoDefaultHelp(), kong.Writers(env.stdout, env.stderr))
	if err != nil {
		return report(env, err)
	}
	parsed, err := parser.Parse(cli.Long(args, ""))
	if err != nil {
		return usage(env, args[0], inOurWords(parser.Model, err))
	}
	env.json = line.Ping.JSON || line.Perf.JSON || line.Serve.JSON
	switch name, _, _ := strings.Cut(parsed.Command(), " "); name {
	case "ping":
		err = line.Ping.run(ctx, env)
	case "perf":
		err = line.Perf.run(ctx, env)
	case "serve":
		err = line.Serve.run(ctx, env)
	case "completion":
		err = line.Completion.run(env, parser.Model)
	default:
		fmt.Fprintln(env.stdout, version())
	}
	return report(env, err)
}

// failure is an error with the exit code that it leads to, and maybe what to try.
type failure struct {
	code  int
	stage string // what did not work
	err   error
	help  string
}

// Error tells the stage and the reason.
func (f *failure) Error() string { return f.stage + ": " + f.err.Error() }

// Unwrap gives the reason.
func (f *failure) Unwrap() error { return f.err }

// errSaid ends a command whose failure has been reported.
var errSaid = errors.New("reported")

// report writes an error where there is one and returns the exit code.
func report(env environment, err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitDone
	case !errors.As(err, &f):
		f = &failure{code: exitFailed, err: err}
	}
	if errors.Is(err, errSaid) {
		return f.code
	}
	if env.json {
		printJSON(env, "error", map[string]any{"stage": f.stage, "message": f.err.Error(), "help": f.help, "code": f.code})
		return f.code
	}
	fmt.Fprintf(env.stderr, "rpcrdma: %v\n", err)
	if f.help != "" {
		fmt.Fprintf(env.stderr, "try: %s\n", f.help)
	}
	return f.code
}

func usage(env environment, topic string, err error) int {
	if _, ok := help(topic); ok && topic != "" {
		topic = " " + topic
	} else {
		topic = ""
	}
	fmt.Fprintf(env.stderr, "rpcrdma: %v\ntry: rpcrdma help%s\n", err, topic)
	return exitUsage
}

// What the parser says of a flag without its value, and where an argument should be.
var (
	noValue    = regexp.MustCompile(`: expected \S+ value but got "EOL" .*`)
	noArgument = regexp.MustCompile(`^expected "<(\w+)>"$`)
)

// inOurWords gives the parser's errors the names of flags that the help has, and no advice on how to write them.
func inOurWords(app *kong.Application, err error) error {
	text, _, _ := strings.Cut(err.Error(), "; perhaps try")
	text = strings.TrimSuffix(text, " (short flag)")
	text = strings.Replace(text, "unknown flag --", "unknown flag -", 1)
	text = noValue.ReplaceAllString(text, ": a value is missing")
	text = noArgument.ReplaceAllStringFunc(text, func(s string) string {
		return strings.ToUpper(noArgument.FindStringSubmatch(s)[1]) + " is missing"
	})
	for _, cmd := range app.Children {
		for _, f := range cmd.Flags {
			to := "-" + f.Name
			if f.Short != 0 {
				to = "-" + string(f.Short)
			}
			text = strings.Replace(text, "--"+f.Name+":", to+":", 1)
			text = strings.Replace(text, "--"+f.Name+" ", to+" ", 1)
		}
	}
	return errors.New(text)
}
