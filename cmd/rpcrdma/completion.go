package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
)

// completionCmd is the command "completion".
type completionCmd struct {
	Shell string `arg:""`
}

// run prints a script that completes commands, flags, their values, files and hosts.
func (c *completionCmd) run(env environment, app *kong.Application) error {
	tool := completion.Tool{Name: "rpcrdma", Suffix: ".x", Commands: completionCommands(app)}
	text, err := tool.Script(c.Shell)
	if err != nil {
		return &failure{code: exitUsage, stage: "completion", err: err}
	}
	fmt.Fprint(env.stdout, text)
	return nil
}

// completionCommands returns the commands of the parser, with the kinds of their flags and
// operands, which the parser does not know.
func completionCommands(app *kong.Application) []completion.Command {
	commands := completion.Commands(app, helpMain)
	topics := slices.Clone(helpTopics)
	for i := range commands {
		c := &commands[i]
		topics = append(topics, c.Name)
		for j := range c.Flags {
			switch f := &c.Flags[j]; f.Long {
			case "provider":
				f.Kind, f.Values = completion.OneOf, providers
			case "trace", "pcap", "cert", "key", "ca", "bind", "include":
				f.Kind = completion.File
			case "versions":
				f.Kind, f.Values = completion.OneOf, []string{"1", "2", "2,1", "1,2"}
			}
		}
		switch c.Name {
		case "completion":
			c.Args = completion.Shells
		case "call":
			c.Operands = completion.OwnFiles
		case "info", "ping", "nfsping", "perf", "conform":
			c.Operands = completion.Hosts
		}
	}
	return append(commands, completion.Command{Name: "help", Help: "show help on a command or topic", Args: topics})
}
