package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// located returns the mutants with the files that have their texts now. If a mutant's file does not
// have its text, that is the only other file of the folder that does, with the text once. So code
// that moves within its package takes its mutants along. Mutants without such a file stay as they
// are: mutate returns the error.
func located(all []mutant, root string) []mutant {
	all = slices.Clone(all)
	texts := make(map[string]map[string][]byte) // by folder and file
	for i := range all {
		m := &all[i]
		folder := path.Dir(m.file)
		if texts[folder] == nil {
			texts[folder] = sources(root, folder)
		}
		if strings.HasSuffix(m.file, "_test.go") || bytes.Contains(texts[folder][m.file], []byte(m.old)) {
			continue
		}
		n, at := 0, m.file
		for file, text := range texts[folder] {
			if k := bytes.Count(text, []byte(m.old)); k > 0 {
				n, at = n+k, file
			}
		}
		if n == 1 {
			m.file = at
		}
	}
	return all
}

// sources returns the Go files of a folder other than tests. It leaves out files that it cannot
// read.
func sources(root, folder string) map[string][]byte {
	texts := make(map[string][]byte)
	names, _ := filepath.Glob(filepath.Join(root, folder, "*.go"))
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && !strings.HasSuffix(name, "_test.go") {
			texts[path.Join(folder, filepath.Base(name))] = text
		}
	}
	return texts
}
