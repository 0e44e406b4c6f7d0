package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// versionVariable is the variable that the linker sets: the version that the commands print.
const versionVariable = "github.com/rpcrdma/rpcrdma/internal/cli.release"

// build makes all files of the targets, and SHA256SUMS, in an empty folder.
func (r *release) build(list []target) error {
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s has files: give another folder, or remove it", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	room, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(room)
	common, err := r.common(room)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, t := range list {
		made, err := r.target(t, filepath.Join(room, t.name()), common)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name(), err)
		}
		for _, f := range made {
			if err := os.WriteFile(filepath.Join(r.out, f.name), f.data, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.data), f.name)
			fmt.Fprintf(r.stdout, "%s  %d bytes\n", f.name, len(f.data))
		}
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// common returns the files that all targets have: manual pages, completions, licences.
func (r *release) common(room string) (tree, error) {
	host := filepath.Join(room, "host")
	var files tree
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		b, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, mode: 0o644, data: b})
	}
	licences, err := r.licences()
	if err != nil {
		return nil, err
	}
	files = append(files, file{name: "THIRD-PARTY-LICENSES", mode: 0o644, data: licences})
	for _, c := range r.commands {
		if err := r.compile(c, hostTarget(), host); err != nil {
			return nil, err
		}
		texts, err := r.texts(c, host)
		if err != nil {
			return nil, err
		}
		files = append(files, texts...)
	}
	return files, nil
}

// target returns the archive of a target, and its package for Debian if it has one.
func (r *release) target(t target, room string, common tree) ([]file, error) {
	files := slices.Clone(common)
	for _, c := range r.commands {
		if t.ibverbs && !c.devices {
			continue
		}
		if err := r.compile(c, t, room); err != nil {
			return nil, err
		}
		program := c.program(t)
		b, err := os.ReadFile(filepath.Join(room, program))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "bin/" + program, mode: 0o755, data: b})
		if r.sbom == "" {
			continue
		}
		bill, err := r.bill(filepath.Join(room, program))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "sbom/" + c.name + ".cdx.json", mode: 0o644, data: bill})
	}
	base := "rpcrdma_" + r.version[1:] + "_" + t.name()
	var made []file
	if t.system == "windows" {
		b, err := files.under(base).zip(r.time)
		if err != nil {
			return nil, err
		}
		return append(made, file{name: base + ".zip", data: b}), nil
	}
	b, err := files.under(base).tarGz(r.time)
	if err != nil {
		return nil, err
	}
	made = append(made, file{name: base + ".tar.gz", data: b})
	if t.system == "linux" && !t.ibverbs {
		b, err := r.deb(t, files)
		if err != nil {
			return nil, err
		}
		made = append(made, file{name: "rpcrdma_" + debVersion(r.version) + "_" + t.arch + ".deb", data: b})
	}
	return made, nil
}

// program is the file name of a command.
func (c command) program(t target) string {
	if t.system == "windows" {
		return c.name + ".exe"
	}
	return c.name
}

// compile builds a command into a folder. The environment has no part in the result: settings of Go
// that would change it are set here.
func (r *release) compile(c command, t target, dir string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X " + versionVariable + "=" + r.version, "-o", filepath.Join(dir, c.program(t))}
	if t.ibverbs {
		args = append(args, "-tags", "ibverbs")
	}
	cmd := exec.Command("go", append(args, c.path)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "PWD="+r.root, "GOOS="+t.system, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GODEBUG=", "GOWORK="+filepath.Join(r.root, "go.work"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", c.path, err, out)
	}
	return nil
}

// bill returns a list of the modules in a program: a CycloneDX bill of materials.
func (r *release) bill(program string) ([]byte, error) {
	cmd := exec.Command(r.sbom, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, program)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", r.sbom, err, errs.String())
	}
	// The modules of the tree have no version in a program of the tree.
	return []byte(strings.NewReplacer("%28devel%29", r.version, "(devel)", r.version).Replace(string(out))), nil
}
