package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
)

// genCmd is the command "gen".
type genCmd struct {
	genFlags
	Names  bool   `name:"names"`
	Format string `name:"format" enum:"text,json" default:"text"`
	MD     bool   `name:"MD"`
	MF     string `name:"MF"`
}

// genFlags are the flags of "gen" and "diff".
type genFlags struct {
	unitFlags
	Out        string `short:"o" name:"out"`
	Package    string `name:"package"`
	ImportRoot string `name:"import-root"`
	Tests      bool   `name:"tests"`
	RPC        bool   `name:"rpc"`
	Async      bool   `name:"async"`
	Views      bool   `name:"views"`

	Rename []string `name:"rename" sep:"none"`
	With   []string `name:"with"`
}

// run writes the package of one unit, and prints the names of the files that changed. If
// there are errors, it writes nothing.
func (g *genCmd) run(env environment) int {
	if err := g.checkMake(); err != nil {
		return usage(env, err)
	}
	switch {
	case g.Names:
		return g.printNames(env)
	case g.Format != "text":
		return usage(env, fmt.Errorf("found -format %s without -names; gen prints JSON only for its table of names", g.Format))
	}
	made, code := g.generate(env)
	if code != exitClean {
		return code
	}
	if err := g.write(env, made); err != nil {
		return failed(env, err)
	}
	stale, err := g.stale(made.files)
	if err != nil {
		return failed(env, err)
	}
	for _, name := range stale {
		fmt.Fprintf(env.stderr, "xdrgen: %s is stale: an earlier run wrote it, and this one did not; remove it\n", filepath.ToSlash(name))
	}
	return exitClean
}

// write writes the files that changed, and then the dependency file, if it is wanted.
func (g *genCmd) write(env environment, made *generated) error {
	var rules []byte
	if g.MD {
		var err error
		if rules, err = dependenciesOf(g.Out, made, g.Files).text(); err != nil {
			return err
		}
	}
	var names []string
	for _, f := range made.files {
		name := filepath.Join(g.Out, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return fmt.Errorf("-o %s: the folder cannot be made: %w", g.Out, err)
		}
		changed, err := writeFile(name, f.Content)
		if err != nil {
			return err
		}
		if changed {
			fmt.Fprintln(env.stdout, filepath.ToSlash(name))
		}
		names = append(names, name)
	}
	if !g.MD {
		return nil
	}
	if _, err := writeFile(g.makeFile(), rules); err != nil {
		return err
	}
	return touch(names)
}

// generate compiles one unit to Go. It prints errors on stderr, and the number of
// warnings, which check shows. It returns files only with exitClean.
func (g *genFlags) generate(env environment) (*generated, int) {
	if g.Out == "" {
		return nil, usage(env, withUsage(env.command, "-o is missing"))
	}
	if info, err := os.Stat(g.Out); err == nil && !info.IsDir() {
		return nil, usage(env, fmt.Errorf("-o %s: found a file, expected a folder for the package, such as -o %s", g.Out, folderFor(g.Out)))
	}
	if g.Package == "" {
		name, err := folderPackage(g.Out)
		if err != nil {
			return nil, usage(env, err)
		}
		g.Package = name
	}
	if !token.IsIdentifier(g.Package) {
		return nil, usage(env, fmt.Errorf("-package %s: expected a Go package name: letters and digits, a letter first, not a keyword", g.Package))
	}
	if err := checkWith(g.With); err != nil {
		return nil, usage(env, err)
	}
	r, code := g.compileUnit(env)
	if code != exitClean {
		return nil, code
	}
	if err := checkNames(r.Files); err != nil {
		return nil, usage(env, err)
	}
	var files []gogen.File
	if r.Unit != nil {
		var more []diag.Diagnostic
		path, stubs := importPath(g.Out, r.Bind.Package), g.RPC || g.Async || r.Bind.RPC
		if stubs && path == "" {
			return nil, usage(env, fmt.Errorf("-o %s is in no Go module, so the import path of the package is not known, which the stubs of -rpc import: write into a folder of a module (go mod init), or add the line \"package PATH\" to the sidecar", g.Out))
		}
		var err error
		files, more, err = gogen.Generate(r.Unit, r.Bind, gogen.Options{
			Package: g.Package, ImportPath: path, HasDoc: exists(filepath.Join(g.Out, "doc.go")), Tests: g.Tests,
			Views: g.Views || r.Bind.Views, With: ir.MethodsWith(r.Bind.With, g.With), Stubs: stubs, Async: g.Async || r.Bind.Async,
			Command: g.regenerate(),
		})
		if err != nil {
			return nil, failed(env, err)
		}
		r.Diags = append(r.Diags, more...)
		diag.Sort(r.Diags, r.Files)
	}
	if err := printErrors(env, r.Diags, g.reportFlags); err != nil {
		return nil, failed(env, err)
	}
	if diag.HasErrors(r.Diags) {
		return nil, exitFindings
	}
	return &generated{files, r.Files}, exitClean
}

// compileUnit compiles the unit, whose diagnostics may be errors. If it fails otherwise, it reports
// the error and returns its exit code.
func (g *genFlags) compileUnit(env environment) (*sema.Result, int) {
	o, code := g.options(env)
	if code != exitClean {
		return nil, code
	}
	var err error
	if o.Renames, err = renames(g.Rename); err != nil {
		return nil, usage(env, err)
	}
	o.ImportRoot, o.Generate, o.Stubs = g.ImportRoot, true, g.RPC || g.Async
	r, err := g.compile(o)
	if err != nil {
		return nil, notCompiled(env, err)
	}
	return r, exitClean
}

// checkNames returns an error if the comments of generated files cannot contain a file's name.
func checkNames(files []*source.File) error {
	for _, f := range files {
		if !utf8.ValidString(f.Name) || strings.ContainsFunc(f.Name, unicode.IsControl) {
			return fmt.Errorf("%s: generated files contain this name, and it is not printable UTF-8: rename the file", diag.Quote(f.Name))
		}
	}
	return nil
}

// folderFor returns the name of a folder to propose in place of a file.
func folderFor(file string) string {
	if bare := strings.TrimSuffix(file, filepath.Ext(file)); bare != file && bare != "" && !exists(bare) {
		return bare
	}
	return "gen"
}

// folderPackage returns the name of a folder as a package name. If it is not one, the
// error proposes a name.
func folderPackage(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	base := filepath.Base(abs)
	if token.IsIdentifier(base) {
		return base, nil
	}
	word := strings.Map(func(r rune) rune {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, base)
	if !token.IsIdentifier(word) {
		word = "NAME"
	}
	return "", fmt.Errorf("the folder name %q is not a Go package name: give one with -package, such as -package %s", base, word)
}

// writeFile replaces a file atomically, unless it has that text already. An existing file
// keeps its permissions. Errors name the file, and not the temporary one.
func writeFile(name string, text []byte) (changed bool, err error) {
	defer func() { err = ofFile(err, name) }()
	old, err := os.ReadFile(name)
	if err == nil && bytes.Equal(old, text) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(text); err != nil {
		_ = tmp.Close()
		return false, err
	}
	if err = tmp.Chmod(mode); err != nil {
		_ = tmp.Close()
		return false, err
	}
	if err = tmp.Close(); err != nil {
		return false, err
	}
	return true, os.Rename(tmp.Name(), name)
}

// ofFile returns an error of the file system as one of writing file name.
func ofFile(err error, name string) error {
	var ofPath *fs.PathError
	var ofLink *os.LinkError
	switch {
	case errors.As(err, &ofPath):
		err = ofPath.Err
	case errors.As(err, &ofLink):
		err = ofLink.Err
	case err == nil:
		return nil
	}
	return &fs.PathError{Op: "write", Path: name, Err: err}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// importPath returns the import path of the output folder: declared, if the sidecar gives
// it, else the path by the nearest go.mod above the folder, else "".
func importPath(dir, declared string) string {
	if declared != "" {
		return declared
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for root := abs; ; root = filepath.Dir(root) {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil {
			rel, err := filepath.Rel(root, abs)
			if err != nil {
				return ""
			}
			return path.Join(modulePath(string(text)), filepath.ToSlash(rel))
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}

// modulePath returns the path in the module line of a go.mod file.
func modulePath(gomod string) string {
	for _, l := range strings.Split(gomod, "\n") {
		if w := strings.Fields(l); len(w) > 1 && w[0] == "module" {
			return strings.Trim(w[1], `"`)
		}
	}
	return ""
}
