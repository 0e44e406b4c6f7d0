// Package completion writes the scripts by which shells complete the command lines of a tool. What there is to complete
// comes from the parser's own model, so that no flag is left out, and from the tool's help.
package completion

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// Shells are those that Script knows.
var Shells = []string{"bash", "zsh", "fish"}

// Tool is what a script knows of a tool.
type Tool struct {
	Name     string
	Suffix   string // of the files that are the tool's own, or ""
	Commands []Command
}

// Command is what a script knows of a command.
type Command struct {
	Name     string
	Help     string // one line
	Flags    []Flag
	Args     []string // the words that its arguments can be, where they are none of Operands
	Operands Operands
}

// Operands are what the arguments of a command are.
type Operands int

// The kinds of operands.
const (
	Words    Operands = iota // Args, or nothing that is known
	OwnFiles                 // files with the tool's suffix
	AnyFiles
	Hosts
)

// Flag is what a script knows of a flag.
type Flag struct {
	Name   string // as it is written, with its dash
	Long   string // as the parser knows it
	Kind   Kind
	Values []string // of OneOf
}

// Kind says what follows a flag.
type Kind int

// The kinds of values.
const (
	NoValue Kind = iota
	AnyValue
	OneOf // Values
	Folder
	File
	Asked // what the tool prints for: completion -types, and its own files on the command line
)

// Commands takes the commands with their flags from the parser's model. The main help has a line for each command, which
// begins with two spaces and the name. The flags are in the order of their names; what follows them is known as far as the
// model has it.
func Commands(app *kong.Application, mainHelp string) []Command {
	var out []Command
	for _, n := range app.Children {
		c := Command{Name: n.Name, Help: cli.Summary(mainHelp, n.Name)}
		for _, f := range n.Flags {
			fl := Flag{Name: "-" + f.Name, Long: f.Name, Kind: AnyValue}
			if f.Short != 0 {
				fl.Name = "-" + string(f.Short)
			}
			switch {
			case f.IsBool():
				fl.Kind = NoValue
			case f.Enum != "":
				fl.Kind, fl.Values = OneOf, f.EnumSlice()
			}
			c.Flags = append(c.Flags, fl)
		}
		sort.Slice(c.Flags, func(i, j int) bool { return c.Flags[i].Name < c.Flags[j].Name })
		out = append(out, c)
	}
	return out
}

// Has reports whether the command has a flag, by its name as it is written.
func (c *Command) Has(name string) bool {
	return slices.ContainsFunc(c.Flags, func(f Flag) bool { return f.Name == name })
}

// asks reports whether the tool is asked for the values of a flag.
func (t *Tool) asks() bool {
	return slices.ContainsFunc(t.Commands, func(c Command) bool {
		return slices.ContainsFunc(c.Flags, func(f Flag) bool { return f.Kind == Asked })
	})
}

// Script returns the script for a shell.
func (t *Tool) Script(shell string) (string, error) {
	switch shell {
	case "bash":
		return t.bash(), nil
	case "zsh":
		return t.zsh(), nil
	case "fish":
		return t.fish(), nil
	}
	return "", fmt.Errorf("no script for %q, only for %s", shell, strings.Join(Shells, ", "))
}

// Quote puts a word into single quotes, for bash and zsh.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
