// Package completion writes completion scripts for shells. It takes the commands and flags of a
// tool from the parser's own model, so that no flag is left out, and their descriptions from the
// tool's help.
package completion

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// Shells lists the shells that Script supports.
var Shells = []string{"bash", "zsh", "fish"}

// Tool describes a tool to a script.
type Tool struct {
	Name     string
	Suffix   string // of the tool's own files; may be empty
	Commands []Command
	// Load is the command line that prints a script, without the shell. If empty, the default is
	// "NAME completion".
	Load string
}

// Command describes a command to a script. A tool without commands has one with an empty Name.
type Command struct {
	Name     string
	Help     string // one line
	Flags    []Flag
	Args     []string // possible words of its arguments, with Words
	Operands Operands
}

// Operands is the kind of a command's arguments.
type Operands int

// The kinds of operands.
const (
	Words    Operands = iota // the words of Command.Args
	OwnFiles                 // files with the tool's suffix
	AnyFiles
	Hosts
)

// Flag describes a flag to a script.
type Flag struct {
	Name   string // as the user writes it, with its dash
	Long   string // its name in the parser
	Kind   Kind
	Values []string // of OneOf
}

// Kind is the kind of a flag's value.
type Kind int

// The kinds of values.
const (
	NoValue Kind = iota
	AnyValue
	OneOf // Values
	Folder
	File
	Asked // lines that the tool prints for "completion -types FILE..."
)

// Commands returns the commands of the parser's model with their flags. The main help must have a
// line for each command that begins with two spaces and the name. The flags are sorted by name;
// their kinds are those that the model has.
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

// Has reports whether the command has a flag of this Name.
func (c *Command) Has(name string) bool {
	return slices.ContainsFunc(c.Flags, func(f Flag) bool { return f.Name == name })
}

// single reports whether the tool has no commands.
func (t *Tool) single() bool { return len(t.Commands) == 1 && t.Commands[0].Name == "" }

// load returns the command line that prints the script of a shell.
func (t *Tool) load(shell string) string {
	return cmp.Or(t.Load, t.Name+" completion") + " " + shell
}

// asks reports whether some flag has the kind Asked.
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

// Quote returns a word in single quotes, for bash and zsh.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
