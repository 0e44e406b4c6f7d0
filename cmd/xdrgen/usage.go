package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// parseError rewrites an error of the parser in the words of the help, and adds the usage of the
// command. For an unknown command it proposes the nearest one.
func parseError(app *kong.Application, command string, args []string, err error) error {
	first := args[0]
	if command == "" {
		if strings.HasSuffix(first, ".x") {
			return fmt.Errorf("%s is not a command; to check the file, run xdrgen check %s", diag.Quote(first), first)
		}
		return cli.NoCommand(app, first, otherWords)
	}
	message := cli.Complaint(app, command, err).Error()
	if flag, value, ok := tookFile(app, args); ok && argumentMissing.MatchString(message) {
		message += fmt.Sprintf(": %s took %s for its value", flag, value)
	}
	return withUsage(command, message)
}

// argumentMissing matches the complaint about an argument, whose name has capitals.
var argumentMissing = regexp.MustCompile(`^[A-Z]+ is missing$`)

// tookFile returns the last flag whose value is the name of an .x file, if there is one: the file
// was perhaps meant as an argument.
func tookFile(app *kong.Application, args []string) (flag, value string, ok bool) {
	takesValue := valueFlags(app, args[0])
	args = cli.Long(args, "ID")
	for i := 1; i+1 < len(args) && args[i] != "--"; i++ {
		if !takesValue[args[i]] {
			continue
		}
		if v := args[i+1]; strings.HasSuffix(v, ".x") {
			flag, value, ok = "-"+strings.TrimLeft(args[i], "-"), v, true
		}
		i++
	}
	return flag, value, ok
}

// withUsage returns a message with the usage of the command, folded as help is.
func withUsage(command, message string) error {
	if text, _ := help(command); strings.Contains(text, "\nUsage: ") {
		_, usage, _ := strings.Cut(text, "\nUsage: ")
		usage, _, _ = strings.Cut(usage, "\n\n")
		message += "\nu" + cli.Fold("Usage: "+usage, cli.DefaultWidth)[1:]
	}
	return errors.New(message)
}

// topics returns the names of all commands and help topics.
func topics() []string {
	var out []string
	_, commands, _ := strings.Cut(helpMain, "\nCommands:\n")
	for line := range strings.Lines(commands) {
		if words := strings.Fields(line); len(words) > 1 && cli.Summary(helpMain, words[0]) != "" {
			out = append(out, words[0])
		}
	}
	return append(out, helpTopics...)
}

// otherWords lists words that other compilers use for our commands and flags.
var otherWords = cli.Words{
	"build": "xdrgen gen", "compile": "xdrgen gen", "c": "xdrgen gen", "out": "xdrgen gen -o DIR", "output": "xdrgen gen -o DIR",
	"validate": "xdrgen check", "verify": "xdrgen check", "decode": "xdrgen dump", "print": "xdrgen dump", "encode": "xdrgen json",
	"format": "xdrgen fmt", "breaking": "xdrgen compat", "errors": "xdrgen explain", "v": "xdrgen version",
}

func unknownTopic(topic string) error {
	message := "no help on " + diag.Quote(topic)
	if near, ok := spelling.Nearest(topic, topics()); ok {
		return errors.New(spelling.DidYouMean(message, near))
	}
	var names []string
	for _, t := range topics() {
		if len(t) > 2 && strings.HasPrefix(topic, t) {
			names = append(names, t)
		}
	}
	return errors.New(spelling.DidYouMean(message, names...))
}
