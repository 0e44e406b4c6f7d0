package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// mutant is a mistake: it replaces old, which the file contains once, by new.
type mutant struct {
	name, file string
	old, new   string
	tests      []string // packages to try, in this order
}

// result is the result of a run of tests.
type result uint8

const (
	passes  result = iota // with a mutant: it lives
	fails                 // a test failed
	hangs                 // a test did not end in time
	unbuilt               // the tests did not compile
)

func (r result) String() string {
	return [...]string{"pass", "killed", "hangs", "does not compile"}[r]
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

// try runs the tests with the changed file. It returns the package whose tests failed.
func (m *mutant) try(ctx context.Context, root string, limit time.Duration) (result, string, error) {
	overlay, remove, err := m.overlay(root)
	if err != nil {
		return unbuilt, "", err
	}
	defer remove()
	for _, pkg := range m.tests {
		switch r, out := runTests(ctx, root, overlay, pkg, limit); r {
		case passes:
		case unbuilt:
			return r, pkg, fmt.Errorf("does not compile: %s", out)
		default:
			return r, pkg, nil
		}
	}
	return passes, "", nil
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

// runTests runs the short tests of a package until the first fails.
func runTests(ctx context.Context, root, overlay, pkg string, limit time.Duration) (result, []byte) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count", "1", "-short", "-failfast", "-vet=off", "-timeout", limit.String(), "./"+pkg)
	cmd.Dir = root
	// PATIENCE makes tests of rdmaio that hang fail with a message. The overlay is in the environment
	// for the go commands that tests run.
	cmd.Env = append(os.Environ(), "PATIENCE="+(limit/4).String())
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return passes, out
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return unbuilt, out
	case bytes.Contains(out, []byte("panic: test timed out")):
		return hangs, out
	}
	return fails, out
}
