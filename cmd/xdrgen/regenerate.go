package main

import (
	"path/filepath"
	"regexp"
	"strings"
)

// regenerate returns the words of the command that makes the same package in the output folder: the
// one that ran, with paths from that folder, so that its text does not depend on where the files
// lie (D10). Flags that only change how findings are printed are left out.
func (g *genFlags) regenerate() []string {
	words := []string{"xdrgen", "gen", "-o", ".", "-package", g.Package}
	each := func(flag string, values []string, text func(string) string) {
		for _, v := range values {
			words = append(words, flag, quoted(text(v)))
		}
	}
	as := func(s string) string { return s }
	each("-I", g.Include, g.fromOutput)
	each("-D", g.Define, as)
	each("-type", g.Type, as)
	each("-import", g.Import, as)
	each("-bind", given(g.Bind), g.fromOutput)
	each("-file", given(g.File), as)
	each("-section", given(g.Section), as)
	each("-import-root", given(g.ImportRoot), as)
	each("-rename", g.Rename, as)
	each("-with", given(strings.Join(g.With, ",")), as)
	for _, f := range []struct {
		flag string
		set  bool
	}{{"-views", g.Views}, {"-tests", g.Tests}, {"-rpc", g.RPC}, {"-async", g.Async}} {
		if f.set {
			words = append(words, f.flag)
		}
	}
	for _, f := range g.Files {
		words = append(words, quoted(g.fromOutput(f)))
	}
	return words
}

// given returns the value of a flag, or nothing if it is empty.
func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// fromOutput returns a path as seen from the output folder. Where only the root folder holds both,
// that path would name folders of this machine: it returns the last element, which says what to
// give.
func (g *genFlags) fromOutput(name string) string {
	if name == "-" {
		return name
	}
	out, err := filepath.Abs(g.Out)
	if err != nil {
		return filepath.Base(name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.Base(name)
	}
	rel, err := filepath.Rel(out, abs)
	if err != nil || farApart(out, rel) {
		return filepath.Base(name)
	}
	return filepath.ToSlash(rel)
}

// farApart reports whether a path from folder out leads by the root folder.
func farApart(out, rel string) bool {
	levels := strings.Count(filepath.ToSlash(out[len(filepath.VolumeName(out)):]), "/")
	ups := 0
	for rest, up := filepath.ToSlash(rel), true; up; ups++ {
		rest, up = strings.CutPrefix(rest, "../")
	}
	return ups > levels
}

// plainWord matches words that a shell reads as they are.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
