package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// licenceFile matches the files of a module that a copy of the programs must come with.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(md|txt))?$`)

// licences returns the licences of all modules that a program of some target contains, and of Go,
// each below its name.
func (r *release) licences() ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go's library": string(bytes.TrimSpace(root))}
	for _, t := range targets() {
		if err := r.modules(t, folders); err != nil {
			return nil, err
		}
	}
	var names []string
	for name := range folders {
		names = append(names, name)
	}
	slices.Sort(names)
	var out bytes.Buffer
	out.WriteString("The programs contain parts of these modules.\n")
	for _, name := range names {
		entries, err := os.ReadDir(folders[name])
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			b, err := os.ReadFile(filepath.Join(folders[name], e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&out, "\n==== %s: %s\n\n%s", name, e.Name(), b)
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence in %s", name, folders[name])
		}
	}
	return out.Bytes(), nil
}

// modules adds the folders of the modules that the programs of a target import.
func (r *release) modules(t target, folders map[string]string) error {
	args := []string{"list", "-deps", "-json=Module"}
	if t.ibverbs {
		args = append(args, "-tags", "ibverbs")
	}
	for _, c := range r.commands {
		args = append(args, c.path)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "PWD="+r.root, "GOOS="+t.system, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOWORK="+filepath.Join(r.root, "go.work"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, errs.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module != nil && !p.Module.Main {
			folders[p.Module.Path+" "+p.Module.Version] = p.Module.Dir
		}
	}
}
