package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is a folder of unpacked packages. Its paths are relative and use slashes. Debian 12's
// packages still have files in both /lib and /usr/lib, which are one folder when installed.
type tree struct{ root string }

// merged returns the path of a file on an installed system, where bin, sbin, lib and lib64 are
// below usr.
func merged(name string) string {
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "bin", "sbin", "lib", "lib64":
		return "usr/" + name
	}
	return name
}

// resolve returns the file with the contents of name, which may be a symbolic link, within the
// tree.
func (t tree) resolve(name string) (string, error) {
	for range 16 {
		full := filepath.Join(t.root, filepath.FromSlash(name))
		info, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			// The other half of a merged folder.
			if other, ok := strings.CutPrefix(name, "usr/"); ok {
				if _, err := os.Lstat(filepath.Join(t.root, filepath.FromSlash(other))); err == nil {
					name = other
					continue
				}
			}
		}
		if err != nil {
			return "", err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			return name, nil
		}
		target, err := os.Readlink(full)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			name = strings.TrimPrefix(path.Clean(target), "/")
		} else {
			name = path.Join(path.Dir(name), target)
		}
	}
	return "", fmt.Errorf("%s: more than 16 symbolic links", name)
}

// read returns the contents of a file of the tree, and its permissions.
func (t tree) read(name string) ([]byte, fs.FileMode, error) {
	real, err := t.resolve(name)
	if err != nil {
		return nil, 0, err
	}
	full := filepath.Join(t.root, filepath.FromSlash(real))
	info, err := os.Stat(full)
	if err != nil {
		return nil, 0, err
	}
	b, err := os.ReadFile(full)
	return b, info.Mode().Perm(), err
}

// withLibraries returns the files, sorted, with all shared libraries that they need.
func (t tree) withLibraries(files []string) ([]string, error) {
	seen := map[string]bool{}
	for queue := slices.Clone(files); len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		needed, own, err := t.needed(name)
		if err != nil {
			return nil, err
		}
		for _, lib := range needed {
			found := ""
			for _, dir := range append(own, "usr/lib/x86_64-linux-gnu", "usr/lib64") {
				if _, err := t.resolve(dir + "/" + lib); err == nil {
					found = dir + "/" + lib
					break
				}
			}
			if found == "" {
				return nil, fmt.Errorf("%s needs the library %s, which no package of the guest has: add its package to the recipe", name, lib)
			}
			queue = append(queue, found)
		}
	}
	var all []string
	for name := range seen {
		all = append(all, name)
	}
	slices.Sort(all)
	return all, nil
}

// needed returns the names of the libraries that a program or library is linked with, and the
// folders that it names for them (DT_RUNPATH).
func (t tree) needed(name string) (libs, dirs []string, err error) {
	real, err := t.resolve(name)
	if err != nil {
		return nil, nil, fmt.Errorf("no package of the guest has the file %s: %w", name, err)
	}
	data, _, err := t.read(real)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) { // a text file
		return nil, nil, nil
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if libs, err = f.ImportedLibraries(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	paths, err := f.DynString(elf.DT_RUNPATH)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, path := range paths {
		for dir := range strings.SplitSeq(path, ":") {
			if dir, ok := strings.CutPrefix(dir, "/"); ok {
				dirs = append(dirs, dir)
			}
		}
	}
	return libs, dirs, nil
}
