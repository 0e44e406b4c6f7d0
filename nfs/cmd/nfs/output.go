package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// event prints a JSON line. JSON strings cannot have bytes that are not UTF-8, so a field with such
// a name comes with a second field, in base64.
func (p *program) event(kind string, fields map[string]any) error {
	fields["v"], fields["type"] = 1, kind
	for _, field := range []string{"name", "target"} {
		if text, ok := fields[field].(string); ok && !utf8.ValidString(text) {
			fields[field+"_base64"] = []byte(text)
		}
	}
	line, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.stdout.Write(append(line, '\n'))
	return err
}

// report prints an error, and returns the exit code.
func (p *program) report(err error) int {
	if err == nil {
		return exitDone
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitFailed // the output is not read any more
	}
	if errors.Is(err, client.ErrNoPort) {
		err = fmt.Errorf("%w, by -mountport and -port", err)
	}
	name, code := exitOf(err)
	if p.json {
		_ = p.event("error", map[string]any{"code": name, "message": err.Error(), "exit": code})
		return code
	}
	fmt.Fprintln(p.stderr, "nfs:", printable(err.Error()))
	if code == exitUsage {
		fmt.Fprintln(p.stderr, "nfs help describes the commands")
	}
	return code
}

// shown returns a name for a terminal: quoted, if it has characters that a terminal may obey.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}

// printable returns a text of several lines for a terminal. Characters that a terminal may obey are
// escaped. Lines after the first are indented, so that a name with a line feed does not look like
// another message.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("\n  ")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// kind returns the word for a type of file.
func kind(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "file"
	case fs.ModeDir:
		return "directory"
	case fs.ModeSymlink:
		return "symlink"
	case fs.ModeSocket:
		return "socket"
	case fs.ModeNamedPipe:
		return "fifo"
	}
	return "device"
}
