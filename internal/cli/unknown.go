package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// Words lists command lines for words that other programs use for a command or a flag, such as
// "listen" for "rpcrdma serve [ADDRESS]". The words have no dashes.
type Words map[string]string

// NoCommand returns the error for a command line whose first word is not a command: it is a flag,
// or a wrong name. The error proposes commands, or command lines with the flag.
func NoCommand(app *kong.Application, first string, words Words) error {
	name, _, _ := strings.Cut(strings.TrimLeft(first, "-"), "=")
	if len(name) == len(first) {
		return errors.New(spelling.DidYouMean(fmt.Sprintf("no command %.64q", first), Commands(app, first, words)...))
	}
	message := fmt.Sprintf("found %.64q, expected a command first, such as %s %s", first, app.Name, commands(app)[0])
	return errors.New(spelling.DidYouMean(message, flagAnywhere(app, name, words)...))
}

// Commands returns the commands that a word may mean: one with a similar name, one with the
// beginning of the word, such as gen for generate, or the command line of words.
func Commands(app *kong.Application, word string, words Words) []string {
	names := commands(app)
	if near, ok := spelling.Nearest(word, names); ok {
		return []string{near}
	}
	if line, ok := words[strings.ToLower(word)]; ok {
		return []string{line}
	}
	var out []string
	for _, n := range names {
		if len(n) > 2 && strings.HasPrefix(word, n) || len(word) > 1 && strings.HasPrefix(n, word) {
			out = append(out, n)
		}
	}
	return out
}

// IsCommand reports whether a word is a command.
func IsCommand(app *kong.Application, word string) bool {
	return slices.Contains(commands(app), word)
}

func commands(app *kong.Application) []string {
	var out []string
	for _, c := range app.Children {
		out = append(out, c.Name)
	}
	return out
}

// flagAnywhere returns command lines with the flags that a word may mean, whatever their command.
func flagAnywhere(app *kong.Application, word string, words Words) []string {
	if line, ok := words[word]; ok {
		return []string{line}
	}
	if IsCommand(app, word) {
		return []string{app.Name + " " + word}
	}
	find := []func(c *kong.Node) []string{
		func(c *kong.Node) []string { return spelling.Dashed(exactly(c, word)) },
		func(c *kong.Node) []string { return valueOf(c, word) },
		func(c *kong.Node) []string { return spelling.Dashed(spelling.Flags(word, flagNames(c))) },
	}
	for _, f := range find {
		var out []string
		for _, c := range app.Children {
			for _, flag := range f(c) {
				out = append(out, app.Name+" "+c.Name+" "+flag)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// unknownFlag matches the parser's complaint about a flag, with its own proposals.
var unknownFlag = regexp.MustCompile(`^unknown flag (-+)([^\s,]+)(?:, did you mean .*)?$`)

// unknown returns the complaint about a flag that a command lacks, with the flags that may be
// meant, or "" if the error is another one.
func unknown(app *kong.Application, command, message string) string {
	m := unknownFlag.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	word := m[2]
	message = "unknown flag -" + word
	for _, c := range app.Children {
		if c.Name != command {
			continue
		}
		if value := valueOf(c, word); len(value) > 0 {
			return spelling.DidYouMean(message, value...)
		}
		if near := spelling.Flags(word, flagNames(c)); len(near) > 0 {
			return spelling.DidYouMean(message, spelling.Dashed(near)...)
		}
	}
	var others []string
	for _, c := range app.Children {
		if c.Name != command && len(exactly(c, word)) > 0 {
			others = append(others, c.Name)
		}
	}
	switch n := len(others); {
	case n == 1:
		message += fmt.Sprintf(": it belongs to the command %s", others[0])
	case n > 1:
		message += fmt.Sprintf(": it belongs to the commands %s and %s", strings.Join(others[:n-1], ", "), others[n-1])
	}
	return message
}

// flagNames returns the names of a command's flags, long and short.
func flagNames(c *kong.Node) []string {
	var out []string
	for _, f := range c.Flags {
		out = append(out, f.Name)
		if f.Short != 0 {
			out = append(out, string(f.Short))
		}
	}
	return out
}

func exactly(c *kong.Node, word string) []string {
	if slices.Contains(flagNames(c), word) {
		return []string{word}
	}
	return nil
}

// valueOf returns the flags of a command that a word is a value of, such as -carrier tcp for tcp.
func valueOf(c *kong.Node, word string) []string {
	var out []string
	for _, f := range c.Flags {
		if f.Enum != "" && slices.Contains(f.EnumSlice(), word) {
			out = append(out, "-"+f.Name+" "+word)
		}
	}
	return out
}
