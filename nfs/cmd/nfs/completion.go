package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
)

// completion prints the completion script of a shell.
func (p *program) completion(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: found %d arguments, expected a shell: %s", errUsage, len(args), usageOf("completion"))
	}
	tool := completion.Tool{Name: "nfs", Commands: completions()}
	text, err := tool.Script(args[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	_, err = io.WriteString(p.stdout, text)
	return err
}

// completions returns the commands with their flags and operands.
func completions() []completion.Command {
	var out []completion.Command
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		summary := cli.Summary(helpMain, name)
		if name == "" || summary == "" {
			continue // a topic
		}
		c := completion.Command{Name: name, Help: summary}
		switch name {
		case "ls", "cat":
			c.Operands = completion.Hosts
		case "get", "put":
			c.Operands = completion.AnyFiles
		case "completion":
			c.Args = completion.Shells
		}
		if c.Args == nil && c.Operands != completion.Words {
			var p program
			p.define(name)
			c.Flags = completion.Flags(p.flags, map[string][]string{"transport": {"rdma", "tcp"}, "vers": {"3", "4.1", "4.2"}, "provider": provider.Names()})
		}
		out = append(out, c)
	}
	return append(out, completion.Command{Name: "help", Help: "show help on a command or topic", Args: slices.DeleteFunc(slices.Sorted(maps.Keys(topics)), func(t string) bool { return t == "" })})
}
