// Package cli holds the parts of reading a command line that the commands share.
package cli

import (
	"io"
	"os"
	"strings"
)

// Long returns args with a second dash before each long flag that has only one: flags are
// documented with one dash, and the parser expects two. It does not change short flags whose letter
// is in attached, which may have their value directly after the letter, as with a C compiler.
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

// WantsHelp reports whether a command line asks for help, and returns the topic. An empty command
// line asks for the main help, whose topic is empty.
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

// Summary returns what the main help says about a command, from the line that begins with two
// spaces and its name. It returns "" if there is no such line.
func Summary(mainHelp, command string) string {
	for line := range strings.Lines(mainHelp) {
		if rest, ok := strings.CutPrefix(line, "  "+command+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// IsTerminal reports whether w is a terminal. It reports false for everything that is not an
// *os.File, and on systems other than Linux, the BSDs, macOS and Windows.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	// f.Fd would switch the file to blocking mode.
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	terminal := false
	err = conn.Control(func(fd uintptr) { terminal = isTerminal(fd) })
	return err == nil && terminal
}
