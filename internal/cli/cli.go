// Package cli is what the commands have in common in reading their command lines.
package cli

import (
	"io"
	"os"
	"strings"
)

// Long gives long flags written with one dash, which is how they are documented, the two that
// the parser wants. Short flags whose letter is in attached may have their value behind them, as with a C compiler.
func Long(args []string, attached string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if name, _, _ := strings.Cut(a, "="); len(name) > 2 && a[0] == '-' && letter(a[1]) && letter(a[2]) && !strings.ContainsRune(attached, rune(a[1])) {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// WantsHelp finds the wish for help in a command line, and on what; no words at all are one.
func WantsHelp(args []string) (topic string, ok bool) {
	if len(args) == 0 {
		return "", true
	}
	if args[0] == "help" {
		return strings.Join(args[1:], " "), true
	}
	for _, a := range args {
		switch a {
		case "--":
			return "", false
		case "-h", "-help", "--help":
			if strings.HasPrefix(args[0], "-") {
				return "", true
			}
			return args[0], true
		}
	}
	return "", false
}

// Summary finds the line of the main help on a command: two spaces, its name, and what it does.
func Summary(mainHelp, command string) string {
	for line := range strings.Lines(mainHelp) {
		if rest, ok := strings.CutPrefix(line, "  "+command+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// IsTerminal reports whether w, a file or anything else, is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
