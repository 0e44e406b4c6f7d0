package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// Exit codes, the same in all commands.
const (
	exitDone   = 0
	exitFailed = 1 // could not connect, input, output, or the tool itself
	exitUsage  = 2
	exitInput  = 3 // the interface file or the arguments of a call
	exitPeer   = 4 // the peer answered with an error
	exitSilent = 5 // no answer in time
	exitMayRun = 6 // no reply to a call that was sent
)

// environment holds the streams and settings of a command.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	json           bool            // reports and errors are JSON lines
	flags          map[string]bool // of the command, each with its -; nil: not known
}

// output is a writer that keeps its first error, such as a full disk.
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

// commandLine has the commands. Each sets its default of -provider.
type commandLine struct {
	Call       callCmd       `cmd:"" set:"provider=rdmatcp"`
	Info       infoCmd       `cmd:"" set:"provider=rdmatcp"`
	Ping       pingCmd       `cmd:"" set:"provider=rdmatcp"`
	NFSPing    nfspingCmd    `cmd:"" name:"nfsping" set:"provider=iwarp"`
	Perf       perfCmd       `cmd:"" set:"provider=rdmatcp"`
	Serve      serveCmd      `cmd:"" set:"provider=rdmatcp"`
	Devices    devicesCmd    `cmd:""`
	Selftest   selftestCmd   `cmd:"" set:"provider=ibverbs"`
	Completion completionCmd `cmd:""`
	Version    struct{}      `cmd:""`
}

// run runs one command line and returns the exit code. ctx is canceled at the first signal.
func run(ctx context.Context, args []string, env environment) int {
	out := &output{w: env.stdout}
	env.stdout = out
	code := execute(ctx, args, env)
	if code == exitDone && out.err != nil { // the output is incomplete
		return report(env, out.err)
	}
	return code
}

func execute(ctx context.Context, args []string, env environment) int {
	var line commandLine
	parser, err := kong.New(&line, kong.Name("rpcrdma"), kong.NoDefaultHelp(), cli.Strings(), kong.Writers(env.stdout, env.stderr))
	if err != nil {
		return report(env, err)
	}
	if topic, ok := cli.WantsHelp(args); ok {
		text, known := help(topic)
		if !known {
			return usage(env, "", unknownTopic(parser.Model, topic))
		}
		fmt.Fprint(env.stdout, cli.Fold(text, cli.Width(env.stdout)))
		return exitDone
	}
	if len(args) == 1 && strings.TrimLeft(args[0], "-") == "version" {
		args = []string{"version"}
	}
	parsed, err := parser.Parse(cli.Long(requireTLS(joinData(args)), ""))
	switch {
	case err != nil && !cli.IsCommand(parser.Model, args[0]):
		return usage(env, "", cli.NoCommand(parser.Model, args[0], otherWords))
	case err != nil:
		return usage(env, args[0], tlsWithMode(args, cli.Complaint(parser.Model, args[0], err)))
	}
	env.flags = flagsOf(parsed.Selected())
	env.json = line.Call.JSON || line.Info.JSON || line.Ping.JSON || line.NFSPing.JSON || line.Perf.JSON || line.Serve.JSON || line.Devices.JSON || line.Selftest.JSON
	switch name, _, _ := strings.Cut(parsed.Command(), " "); name {
	case "call":
		err = line.Call.run(ctx, env)
	case "info":
		err = line.Info.run(ctx, env)
	case "ping":
		err = line.Ping.run(ctx, env)
	case "nfsping":
		err = line.NFSPing.run(ctx, env)
	case "perf":
		err = line.Perf.run(ctx, env)
	case "serve":
		err = line.Serve.run(ctx, env)
	case "devices":
		err = line.Devices.run(env)
	case "selftest":
		err = line.Selftest.run(ctx, env)
	case "completion":
		err = line.Completion.run(env, parser.Model)
	default:
		fmt.Fprintln(env.stdout, version())
	}
	return report(env, err)
}

// failure is an error with its exit code and advice.
type failure struct {
	code  int
	stage string // at which it failed, such as "connection to ADDRESS"
	err   error
	help  string         // what to try; may be empty
	more  map[string]any // further fields of the JSON object
}

// Error returns the stage and the reason.
func (f *failure) Error() string { return f.stage + ": " + f.err.Error() }

// Unwrap returns the reason.
func (f *failure) Unwrap() error { return f.err }

// errReported is returned by a command that has reported its failure already.
var errReported = errors.New("reported")

// report writes an error, unless it is nil or was reported before, and returns the exit code.
func report(env environment, err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitDone
	case !errors.As(err, &f):
		f = &failure{code: exitFailed, err: err}
	}
	if errors.Is(err, errReported) {
		return f.code
	}
	help := env.suitable(f.help)
	if env.json {
		fields := map[string]any{"stage": f.stage, "message": f.err.Error(), "help": help, "code": f.code}
		maps.Copy(fields, f.more)
		printJSON(env, "error", fields)
		return f.code
	}
	fmt.Fprintf(env.stderr, "rpcrdma: %v\n", err)
	if help != "" {
		fmt.Fprintf(env.stderr, "try: %s\n", help)
	}
	return f.code
}

// otherWords lists words that other programs use for our commands and flags.
var otherWords = cli.Words{
	"listen": "rpcrdma serve [ADDRESS]", "server": "rpcrdma serve", "s": "rpcrdma serve", "client": "rpcrdma ping HOST", "connect": "rpcrdma ping HOST",
	"bench": "rpcrdma perf [HOST]", "benchmark": "rpcrdma perf [HOST]", "latency": "rpcrdma perf [HOST]", "list": "rpcrdma info HOST", "ls": "rpcrdma info HOST", "rpcinfo": "rpcrdma info HOST",
	"ibv_devinfo": "rpcrdma devices", "nfs": "rpcrdma nfsping HOST", "nfs3": "rpcrdma nfsping HOST", "v": "rpcrdma version",
}

func unknownTopic(app *kong.Application, topic string) error {
	message := fmt.Sprintf("no help topic %.64q", topic)
	proposals := cli.Commands(app, topic, nil)
	if near, ok := spelling.Nearest(topic, helpTopics); ok {
		proposals = []string{near}
	}
	return errors.New(spelling.DidYouMean(message, proposals...))
}

// flagsOf returns the flags of a command.
func flagsOf(command *kong.Node) map[string]bool {
	flags := map[string]bool{}
	for _, f := range command.Flags {
		flags["-"+f.Name] = true
		if f.Short != 0 {
			flags["-"+string(f.Short)] = true
		}
	}
	return flags
}

// flagInHint finds the flags in a hint, except those in command lines of other commands.
var flagInHint = regexp.MustCompile(`rpcrdma (?:help )?[a-z]+[^,;:)]*|(?:^|[ (])(-[a-zA-Z][a-z-]*)`)

// suitable returns the parts of a hint, which semicolons separate, that name no flag that the
// command lacks. Commands share their hints.
func (env *environment) suitable(hint string) string {
	if env.flags == nil {
		return hint
	}
	parts := strings.Split(hint, "; ")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return slices.ContainsFunc(flagInHint.FindAllStringSubmatch(part, -1), func(m []string) bool { return m[1] != "" && !env.flags[m[1]] })
	}), "; ")
}

// wrongArguments matches the complaints about the number of arguments, whose names have capitals.
var wrongArguments = regexp.MustCompile(`^(?:[A-Z]+ is missing|unexpected argument .*)$`)

func usage(env environment, topic string, err error) int {
	if text, ok := help(topic); ok && topic != "" {
		topic = " " + topic
		if _, form, has := strings.Cut(text, "\nUsage: "); has && wrongArguments.MatchString(err.Error()) {
			form, _, _ = strings.Cut(form, "\n")
			err = fmt.Errorf("%w\nusage: %s", err, form)
		}
	} else {
		topic = ""
	}
	fmt.Fprintf(env.stderr, "rpcrdma: %v\ntry: rpcrdma help%s\n", err, topic)
	return exitUsage
}
