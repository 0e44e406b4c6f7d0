package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// commandLine has the commands. Each sets its default of -provider.
type commandLine struct {
	Call       callCmd       `cmd:"" set:"provider=rdmatcp"`
	Info       infoCmd       `cmd:"" set:"provider=rdmatcp"`
	Ping       pingCmd       `cmd:"" set:"provider=rdmatcp"`
	NFSPing    nfspingCmd    `cmd:"" name:"nfsping" set:"provider=iwarp"`
	Perf       perfCmd       `cmd:"" set:"provider=rdmatcp"`
	Serve      serveCmd      `cmd:"" set:"provider=rdmatcp"`
	Conform    conformCmd    `cmd:"" set:"provider=rdmatcp"`
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
	env.json = line.Call.JSON || line.Info.JSON || line.Ping.JSON || line.NFSPing.JSON || line.Perf.JSON || line.Serve.JSON || line.Conform.JSON || line.Devices.JSON || line.Selftest.JSON
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
	case "conform":
		err = line.Conform.run(ctx, env)
	case "devices":
		err = line.Devices.run(env)
	case "selftest":
		err = line.Selftest.run(ctx, env)
	case "completion":
		err = line.Completion.run(env, parser.Model)
	default:
		fmt.Fprintln(env.stdout, cli.Version("rpcrdma"))
	}
	return report(env, err)
}

// otherWords lists words that other programs use for our commands and flags.
var otherWords = cli.Words{
	"listen": "rpcrdma serve [ADDRESS]", "server": "rpcrdma serve", "s": "rpcrdma serve", "client": "rpcrdma ping HOST", "connect": "rpcrdma ping HOST",
	"bench": "rpcrdma perf [HOST]", "benchmark": "rpcrdma perf [HOST]", "latency": "rpcrdma perf [HOST]", "list": "rpcrdma info HOST", "ls": "rpcrdma info HOST", "rpcinfo": "rpcrdma info HOST",
	"ibv_devinfo": "rpcrdma devices", "conformance": "rpcrdma conform HOST", "check": "rpcrdma conform HOST", "nfs": "rpcrdma nfsping HOST", "nfs3": "rpcrdma nfsping HOST", "v": "rpcrdma version",
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
