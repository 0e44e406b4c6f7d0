package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	// markedLine is a line of a document that marks it as XDR.
	markedLine = regexp.MustCompile(`(?m)^[ \t]*///`)
	// markedDefinition is such a line that begins a definition. In a comment of an interface file,
	// the words would not end like this.
	markedDefinition = regexp.MustCompile(`(?m)^[ \t]*///[ \t]*(?:(?:struct|union|enum|program)\b.*\{|(?:typedef|const)\b.*;)[ \t\r]*$`)
)

// maxDocument is the most bytes of a file that are searched for marked lines.
const maxDocument = 16 << 20

// documentInstead returns an error with the commands to run if a file is a document whose XDR is in
// lines that begin with ///. name is the file's name; args, the command line, contains it.
func documentInstead(name string, args []string) error {
	if name == "-" || strings.HasSuffix(name, ".x") {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // compiling it reports the error
	}
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDocument))
	if err != nil || !markedDefinition.Match(text) {
		return nil
	}
	base := filepath.Base(name)
	x := strings.TrimSuffix(base, filepath.Ext(base)) + ".x"
	command := "xdrgen"
	for _, a := range args {
		if a == name {
			a = x
		}
		command += " " + quoted(a)
	}
	return fmt.Errorf("%s is a document: its XDR is in %s that begin with ///; take it out, and compile that:\n  extract -doc %s >%s && %s",
		name, count(len(markedLine.FindAll(text, -1)), "line"), quoted(name), quoted(x), command)
}
