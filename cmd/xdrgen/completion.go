package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
)

// completionCmd is the command "completion".
type completionCmd struct {
	Types bool     `name:"types"`
	Words []string `arg:"" name:"shell"`
}

// run prints a shell completion script, or with -types the names of types.
func (c *completionCmd) run(env environment, app *kong.Application) int {
	if c.Types {
		c.types(env)
		return exitClean
	}
	tool := completion.Tool{Name: "xdrgen", Suffix: ".x", Commands: completionCommands(app)}
	text, err := tool.Script(strings.Join(c.Words, " "))
	if err != nil {
		return usage(env, err)
	}
	fmt.Fprint(env.stdout, text)
	return exitClean
}

// types prints the names of the types in the files. It prints nothing if they do not compile.
func (c *completionCmd) types(env environment) {
	if r, err := sema.Compile(sema.Options{Files: c.Words}); err == nil && r.Unit != nil {
		for _, name := range dynamic.Names(r.Unit) {
			fmt.Fprintln(env.stdout, name)
		}
	}
}

// completionCommands returns the commands of the parser with what it does not know:
// the values of their flags and their arguments.
func completionCommands(app *kong.Application) []completion.Command {
	commands := completion.Commands(app, helpMain)
	topics := slices.Clone(helpTopics)
	for i := range commands {
		c := &commands[i]
		topics = append(topics, c.Name)
		data := c.Has("-hex") // dump and json, which decode data
		for j := range c.Flags {
			completeFlag(&c.Flags[j], data)
		}
		switch {
		case c.Name == "completion":
			c.Args = completion.Shells
		case c.Name == "explain":
			c.Args = codes()
		case data:
			c.Operands = completion.AnyFiles
		case len(app.Children[i].Positional) > 0:
			c.Operands = completion.OwnFiles
		}
	}
	sort.Strings(topics)
	return append(commands, completion.Command{Name: "help", Help: "show help on a command or topic", Args: topics})
}

// completeFlag sets the kind of a flag's value, from the flag's name.
func completeFlag(f *completion.Flag, data bool) {
	switch {
	case f.Long == "include" || f.Long == "out":
		f.Kind = completion.Folder
	case f.Long == "bind" || f.Long == "import" || f.Long == "MF":
		f.Kind = completion.File
	case f.Long == "type" && data, f.Long == "only":
		f.Kind = completion.Asked
	case f.Long == "allow":
		f.Kind, f.Values = completion.OneOf, append([]string{"wire", "source", "extension"}, ruleNames("compat")...)
	case f.Long == "with":
		f.Kind, f.Values = completion.OneOf, ir.MethodWords()
	case f.Long == "disable":
		f.Kind, f.Values = completion.OneOf, ruleNames("lint")
	}
}

// codes returns the codes and names that explain accepts.
func codes() []string {
	var out []string
	for _, r := range diag.Rules() {
		out = append(out, r.Code, r.Name)
	}
	for _, o := range otherRules() {
		out = append(out, o.code, o.name)
	}
	return out
}

// ruleNames returns the names of lint's or compat's rules.
func ruleNames(kind string) []string {
	var out []string
	for _, r := range otherRules() {
		if r.kind == kind {
			out = append(out, r.name)
		}
	}
	return out
}
