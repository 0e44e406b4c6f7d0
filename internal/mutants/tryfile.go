package main

import (
	"fmt"
	"path"
	"strings"
)

// tryHelp describes the form of a file for -try.
const tryHelp = `-try reads mutants from a file, "-" is stdin:

	# The letters of a line beginning with # are a comment, outside of <<<< to >>>>.
	file rdmaio/internal/credit/v1.go
	tests rdmaio/internal/credit rdmaio

	mutant one Call too many in flight
	<<<<
	return r.inFlight < r.granted
	====
	return r.inFlight <= r.granted
	>>>>

Between <<<< and ==== stands text that the file contains once: parts of lines or several lines,
without the last line break. Between ==== and >>>> stands the text to put there, which may be
nothing. "mutant NAME" may be left out. file and tests apply until the next; the tests of a new file
are those of its package, until a tests line follows. In a tests line FOLDER/... is each folder with
tests in and below FOLDER: package rdmaio has most of its tests in rdmaio/internal/test/...
`

// parseTry reads mutants in the form of tryHelp. name is for errors.
func parseTry(name, text string) (list []mutant, err error) {
	var (
		next    mutant
		mutated *string // where lines go: next.old, next.new or nowhere
		start   int
	)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", name, i+1, fmt.Sprintf(format, args...))
		}
		line = strings.TrimSuffix(line, "\r")
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case line == "====" && mutated == &next.old:
			mutated = &next.new
		case line == ">>>>" && mutated == &next.new:
			next.old, next.new, mutated = strings.TrimSuffix(next.old, "\n"), strings.TrimSuffix(next.new, "\n"), nil
			if next.old == "" || next.old == next.new {
				return nil, fail("the mutant changes nothing: expected text to replace, and other text")
			}
			if next.name == "" {
				next.name = fmt.Sprintf("%s:%d", path.Base(name), start)
			}
			list = append(list, next)
			next.name, next.old, next.new = "", "", ""
		case mutated != nil:
			*mutated += line + "\n"
		case line == "<<<<" && next.file == "":
			return nil, fail("expected a file line before the first mutant")
		case line == "<<<<":
			mutated, start = &next.old, i+1
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case word == "mutant":
			next.name = rest
		case word == "file":
			next.file, next.tests = path.Clean(rest), []string{path.Dir(path.Clean(rest))}
		case word == "tests" && rest != "":
			next.tests = nil
			for _, pkg := range strings.Fields(rest) {
				next.tests = append(next.tests, path.Clean(pkg))
			}
		default:
			return nil, fail("found %q, expected file, tests, mutant, <<<< or a comment", line)
		}
	}
	if mutated != nil {
		return nil, fmt.Errorf("%s:%d: this mutant has no end: expected ==== and >>>>", name, start)
	}
	return list, nil
}
