// Package corpus finds the folder of interface files and protocol documents that some tests read.
// The folder is not part of the module: without it, these tests skip with a message.
package corpus

import (
	"os"
	"path/filepath"
)

// Env is the environment variable that names the corpus folder. A relative path starts at the
// module's root, so that it means the same in every test.
const Env = "CORPUS"

// defaultDir is the folder if Env is not set, from the module's root.
const defaultDir = "../shared/corpus"

// TB is the part of testing.TB that Dir uses.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Dir returns the corpus folder as an absolute path. It skips the test if there
// is none, and fails it if CORPUS does not name a folder.
func Dir(t TB) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatalf("corpus: %v", err)
		return ""
	}
	return dir(t, wd, os.Getenv(Env))
}

// dir is Dir for a test in folder wd, with env as the value of Env.
func dir(t TB, wd, env string) string {
	t.Helper()
	name := env
	if name == "" {
		name = defaultDir
	}
	if !filepath.IsAbs(name) {
		root := moduleRoot(wd)
		if root == "" {
			t.Fatalf("corpus: no go.mod in %s or above it", wd)
			return ""
		}
		name = filepath.Join(root, name)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return name
	}
	if env != "" {
		t.Fatalf("corpus: %s=%s, but %s is not a folder", Env, env, name)
		return ""
	}
	t.Skipf("corpus: no folder %s; set %s=DIR to a corpus to run this test", defaultDir, Env)
	return ""
}

// moduleRoot returns the nearest folder at or above wd that has a go.mod, or "".
func moduleRoot(wd string) string {
	for {
		if _, err := os.Stat(filepath.Join(wd, "go.mod")); err == nil {
			return wd
		}
		up := filepath.Dir(wd)
		if up == wd {
			return ""
		}
		wd = up
	}
}
