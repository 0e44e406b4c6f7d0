package image

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// moduleSet finds kernel modules by name, and their dependencies.
type moduleSet struct {
	run     runner
	files   map[string]string // name to file
	builtin map[string]bool
}

// module is a kernel module, uncompressed.
type module struct {
	name string
	data []byte
}

// openModules lists the modules below dir, and extra files.
func openModules(run runner, dir string, extra ...string) (*moduleSet, error) {
	s := &moduleSet{run: run, files: map[string]string{}, builtin: map[string]bool{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if name, ok := moduleName(path); ok {
				s.files[name] = path
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, path := range extra {
		name, _ := moduleName(path)
		s.files[name] = path
	}
	list, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(list)) {
		if name, ok := moduleName(strings.TrimSpace(line)); ok {
			s.builtin[name] = true
		}
	}
	return s, nil
}

// moduleName returns the kernel's name of the module in a file. File names may have a hyphen where
// the kernel has an underscore.
func moduleName(path string) (string, bool) {
	base := strings.TrimSuffix(filepath.Base(path), ".xz")
	name, ok := strings.CutSuffix(base, ".ko")
	return strings.ReplaceAll(name, "-", "_"), ok
}

// order returns the named modules in an order of loading: each after those that it depends on.
// Modules that are built into the kernel are left out.
func (s *moduleSet) order(ctx context.Context, names []string) ([]module, error) {
	var list []module
	done := map[string]bool{}
	var visit func(name, by string) error
	visit = func(name, by string) error {
		if done[name] || s.builtin[name] {
			return nil
		}
		done[name] = true
		path, ok := s.files[name]
		if !ok {
			return fmt.Errorf("the kernel has no module %s, which %s needs", name, by)
		}
		data, err := s.read(ctx, path)
		if err != nil {
			return err
		}
		depends, err := moduleDepends(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, d := range depends {
			if err := visit(d, name); err != nil {
				return err
			}
		}
		list = append(list, module{name: name, data: data})
		return nil
	}
	for _, name := range names {
		if err := visit(name, "the recipe"); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *moduleSet) read(ctx context.Context, path string) ([]byte, error) {
	if !strings.HasSuffix(path, ".xz") {
		return os.ReadFile(path)
	}
	var out bytes.Buffer
	cmd := s.run.command(ctx, "", "xz", "-dc", path)
	cmd.Stdout, cmd.Stderr = &out, s.run.log
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("xz -dc %s: %w", path, err)
	}
	return out.Bytes(), nil
}

// moduleDepends returns the names of the modules that must be loaded before this one, from its
// section .modinfo: strings of the form key=value, each with a zero byte.
func moduleDepends(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("no section .modinfo: not a kernel module")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for _, entry := range strings.Split(string(info), "\x00") {
		if list, ok := strings.CutPrefix(entry, "depends="); ok && list != "" {
			return strings.Split(strings.ReplaceAll(list, "-", "_"), ","), nil
		}
	}
	return nil, nil
}
