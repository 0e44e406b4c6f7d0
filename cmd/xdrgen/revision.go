package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// compileRevision compiles the version of a protocol that name stands for: a file, a folder of
// .x files, or either at a commit, as "git:REF:path".
func (f documentFlags) compileRevision(name string, o sema.Options) (*sema.Result, error) {
	o.FS = sema.Disk{}
	if rest, ok := strings.CutPrefix(name, "git:"); ok {
		ref, file, ok := strings.Cut(rest, ":")
		if !ok || ref == "" || file == "" || strings.HasPrefix(ref, "-") {
			return nil, fmt.Errorf("found %s, expected git:REF:path, or git:REF if the other argument is a path", name)
		}
		g, err := openGit(ref)
		if err != nil {
			return nil, err
		}
		if name, err = g.at(file); err != nil {
			return nil, err
		}
		include := o.Include
		o.Include = nil
		for _, dir := range include {
			if at, err := g.at(dir); err == nil {
				dir = at
			}
			o.Include = append(o.Include, dir)
		}
		o.FS = g
		if o.BindFile != "" {
			if o.BindFile, err = g.at(o.BindFile); err != nil {
				return nil, err
			}
			if errors.Is(g.Regular(o.BindFile, source.MaxSize), fs.ErrNotExist) {
				o.BindFile = "" // the sidecar did not exist at that commit
			}
		}
	}
	var err error
	if o.Files, err = unitFiles(o.FS, name); err != nil {
		return nil, err
	}
	return f.compile(o)
}

// gitFS is a file system with the files of a commit, in the repository that contains the
// working directory. Their names are "git:REF:/" and the path from the repository's root.
// Other names are files on disk.
type gitFS struct {
	ref, root string
	cwd       string
	files     map[string]bool // by path from the root
}

func openGit(ref string) (*gitFS, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	list, err := git("ls-tree", "-r", "-z", "--name-only", "--full-tree", ref)
	if err != nil {
		return nil, err
	}
	g := &gitFS{ref: ref, root: strings.TrimSuffix(string(root), "\n"), cwd: cwd, files: map[string]bool{}}
	for _, f := range strings.Split(string(list), "\x00") {
		g.files[f] = true
	}
	return g, nil
}

// git runs git and returns its output.
func git(args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = errors.New(text)
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}

func (g *gitFS) prefix() string { return "git:" + g.ref + ":" }

// at returns the name, in this file system, of a path relative to the working directory.
func (g *gitFS) at(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(g.root, abs)
	if real, linked := filepath.EvalSymlinks(g.cwd); (err != nil || strings.HasPrefix(rel, "..")) && linked == nil {
		rel, err = filepath.Rel(g.root, filepath.Join(real, name))
	}
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%s is outside the repository %s", name, g.root)
	}
	return filepath.Join(g.prefix(), rel), nil
}

// inside returns the path from the repository's root for a name, and whether the name is
// one of the commit.
func (g *gitFS) inside(name string) (string, bool) {
	if filepath.IsAbs(name) {
		if rel, err := filepath.Rel(g.cwd, name); err == nil {
			name = rel
		}
	}
	name = filepath.ToSlash(name)
	rest, ok := strings.CutPrefix(name, g.prefix())
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Clean(strings.TrimPrefix(rest, "/")), true
}

func (g *gitFS) ReadFile(name string) ([]byte, error) {
	p, ok := g.inside(name)
	if !ok {
		return sema.Disk{}.ReadFile(name)
	}
	if !g.files[p] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return git("cat-file", "blob", g.ref+":"+p)
}

// Regular returns nil if name is a file of the commit, or a regular file on disk of at
// most limit bytes.
func (g *gitFS) Regular(name string, limit int64) error {
	p, ok := g.inside(name)
	switch {
	case !ok:
		return sema.Disk{}.Regular(name, limit)
	case !g.files[p]:
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

func (g *gitFS) ReadDir(name string) ([]os.DirEntry, error) {
	p, ok := g.inside(name)
	if !ok {
		return os.ReadDir(name)
	}
	below := p + "/"
	if p == "." {
		below = ""
	}
	seen := map[string]bool{}
	var out []os.DirEntry
	for f := range g.files {
		rest, ok := strings.CutPrefix(f, below)
		if !ok || rest == "" {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		if !seen[first] {
			seen[first] = true
			out = append(out, gitEntry{first, deeper})
		}
	}
	if len(out) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name() < out[j].Name() })
	return out, nil
}

// gitEntry is a file or folder of a commit.
type gitEntry struct {
	name string
	dir  bool
}

func (e gitEntry) Name() string { return e.name }
func (e gitEntry) IsDir() bool  { return e.dir }
func (e gitEntry) Type() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}

// Info is not supported; the compiler does not call it.
func (e gitEntry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
