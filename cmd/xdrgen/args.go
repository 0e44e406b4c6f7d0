package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// filesLast returns args with the files of a command after its flags. The parser
// accepts files only next to each other; users write them anywhere.
func filesLast(app *kong.Application, args []string) []string {
	if len(args) == 0 {
		return args
	}
	takesValue := valueFlags(app, args[0])
	flags, files := []string{args[0]}, []string(nil)
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			files = append(files, args[i+1:]...)
			i = len(args)
		case a == "-" || !strings.HasPrefix(a, "-"):
			files = append(files, a)
		case takesValue[a] && i+1 < len(args):
			i++
			flags = append(flags, a, args[i])
		default:
			flags = append(flags, a)
		}
	}
	if len(files) == 0 {
		return flags
	}
	return append(append(flags, "--"), files...)
}

// valueFlags returns the flags of a command that take a value.
func valueFlags(app *kong.Application, name string) map[string]bool {
	takesValue := map[string]bool{}
	for _, command := range app.Children {
		if command.Name != name {
			continue
		}
		for _, f := range command.Flags {
			takesValue["--"+f.Name] = !f.IsBool()
			if f.Short != 0 {
				takesValue["-"+string(f.Short)] = !f.IsBool()
			}
		}
	}
	return takesValue
}
