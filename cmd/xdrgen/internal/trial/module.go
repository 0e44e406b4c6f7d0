package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Path is the import path of the module with the generated packages.
const Path = "example.org"

// project is the module that generated code imports.
const project = "github.com/rpcrdma/rpcrdma"

// Root returns the folder of the project's module, which is dir or a folder above it.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for root := dir; ; root = filepath.Dir(root) {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil && strings.HasPrefix(strings.TrimSpace(string(text)), "module "+project+"\n") {
			return root, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if root == filepath.Dir(root) {
			return "", fmt.Errorf("found no go.mod of module %s in %s or a folder above it", project, dir)
		}
	}
}

// Module is a Go module that uses the project's module.
type Module struct{ dir string }

// NewModule creates a module in folder dir. root is the folder of the project's module.
func NewModule(dir, root string) (Module, error) {
	m := Module{dir}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return m, err
	}
	if err := m.Write("go.sum", sum); err != nil {
		return m, err
	}
	return m, m.Write("go.mod", fmt.Appendf(nil, "module %s\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", Path, project, project, root))
}

// Write writes a file of the module. The name is relative to the module's folder.
func (m Module) Write(name string, content []byte) error {
	file := filepath.Join(m.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o666)
}

// Go runs the go command in the module and returns its output. A nonzero exit code is not an
// error. With -trimpath, the packages do not contain the path of the folder, so the build cache
// has those that did not change.
func (m Module) Go(ctx context.Context, args ...string) ([]byte, error) {
	return m.Timed(ctx, new(time.Duration), args...)
}

// Timed is Go. It also sets used to the processor time of the command and its children.
func (m Module) Timed(ctx context.Context, used *time.Duration, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if state := cmd.ProcessState; state != nil {
		*used = state.UserTime() + state.SystemTime()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	return out, err
}

// Faults returns the packages that the output of go vet or go test reports as faulty: the folder
// of each in the module, with the first line about it.
func Faults(output []byte) map[string]string {
	out := map[string]string{}
	pkg, line := "", "" // package of the last line "# path"; first line of a failing test
	for _, l := range strings.Split(string(output), "\n") {
		w := strings.Fields(l)
		switch {
		case strings.HasPrefix(l, "# ") && len(w) > 1:
			pkg = strings.TrimPrefix(strings.Trim(w[1], "[]"), Path+"/")
		case len(w) > 1 && w[0] == "ok", len(w) > 1 && w[0] == "?":
			line = ""
		case len(w) > 1 && w[0] == "FAIL" && strings.HasPrefix(w[1], Path+"/"):
			dir := strings.TrimPrefix(w[1], Path+"/")
			if line == "" {
				line = strings.Join(w[2:], " ")
			}
			if out[dir] == "" {
				out[dir] = line
			}
			line = ""
		case pkg != "" && out[pkg] == "" && strings.Contains(l, ".go:"):
			out[pkg] = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "vet: "))
		case line == "" && (strings.Contains(l, ".go:") || strings.HasPrefix(l, "panic:")):
			line = strings.TrimSpace(l)
		}
	}
	return out
}
