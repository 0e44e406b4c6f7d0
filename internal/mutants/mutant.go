package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// mutant is a mistake: it replaces old, which the file contains once, by new. See located for a
// text that has moved to another file.
type mutant struct {
	name, file string
	old, new   string
	tests      []string // packages to try, in this order; see expanded for FOLDER/...
}

// mutate returns the changed file.
func (m *mutant) mutate(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(b, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s contains the text to replace %d times, expected once: update the mutant", m.file, n)
	}
	return bytes.Replace(b, []byte(m.old), []byte(m.new), 1), nil
}

// overlay writes the changed file, and the list for the go command's -overlay.
func (m *mutant) overlay(root string) (list string, remove func(), err error) {
	changed, err := m.mutate(root)
	if err != nil {
		return "", nil, err
	}
	file, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	list, name := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "changed.go")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {file: name}})
	if err == nil {
		err = os.WriteFile(name, changed, 0o600)
	}
	if err == nil {
		err = os.WriteFile(list, text, 0o600)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return list, remove, nil
}
