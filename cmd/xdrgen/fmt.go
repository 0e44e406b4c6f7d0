package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/format"
)

// fmtCmd is the command "fmt".
type fmtCmd struct {
	inputFlags // needed to compare the meaning before and after
	reportFlags
	Write bool     `short:"w" name:"write"`
	List  bool     `short:"l" name:"list"`
	Diff  bool     `short:"d" name:"diff"`
	Files []string `arg:"" name:"file"`
}

// stdinName is the name of standard input in messages.
const stdinName = "<standard input>"

// run formats the files. It leaves a file with syntax errors as it is, reports the errors
// on stderr, and continues with the next file.
func (c *fmtCmd) run(env environment) int {
	o, err := c.options()
	if err != nil {
		return usage(env, err)
	}
	files, err := expand(c.Files)
	if err != nil {
		return failed(env, err)
	}
	f := formatter{cmd: c, env: env, parser: syntax.NewParser(), options: o, disk: sema.Disk{}, folders: map[string][]os.DirEntry{}}
	for _, name := range files {
		if err := f.file(name); err != nil {
			fmt.Fprintf(env.stderr, "xdrgen: %v\n", err)
			f.failed = true
		}
	}
	switch {
	case f.failed:
		return exitFailed
	case f.findings:
		return exitFindings
	}
	return exitClean
}

// expand returns the names with each folder replaced by the .x files below it. "-" is
// standard input.
func expand(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err == nil && !info.IsDir() {
			out = append(out, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.HasSuffix(path, ".x") {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// formatter is the state of a single fmt run.
type formatter struct {
	cmd              *fmtCmd
	env              environment
	parser           *syntax.Parser
	options          sema.Options
	disk             sema.FileSystem
	folders          map[string][]os.DirEntry // that the files are in
	findings, failed bool
}

// file formats one file.
func (f *formatter) file(name string) error {
	old, err := f.read(name)
	if err != nil {
		return err
	}
	if exists(name + ".origin") {
		fmt.Fprintf(f.env.stderr, "xdrgen: %v\n", ofDocument(name))
		return nil
	}
	shown := name
	if name == "-" {
		shown = stdinName
	}
	text, diags, err := f.format(shown, old)
	if err != nil {
		return err
	}
	if len(diags) > 0 {
		f.findings = true
		return printErrors(f.env, diags, f.cmd.reportFlags)
	}
	return f.put(name, shown, old, text)
}

// ofDocument returns the error for a file that is not formatted because it is part of a document.
func ofDocument(name string) error {
	return fmt.Errorf("%s is not formatted: it was extracted from a document, to which %s.origin maps its lines", name, filepath.Base(name))
}

// format returns the formatted text of a file. If the file has syntax errors, it returns them and
// no text.
func (f *formatter) format(name string, old []byte) ([]byte, []diag.Diagnostic, error) {
	text, diags, err := format.Source(f.parser, source.NewFile(filepath.ToSlash(name), old), f.options.Defines)
	if err == nil && len(diags) == 0 {
		err = f.checkMeaning(name, old, text)
	}
	return text, diags, err
}

func (f *formatter) read(name string) ([]byte, error) {
	if name != "-" {
		return os.ReadFile(name)
	}
	if f.env.stdin == nil {
		return nil, errors.New("no standard input")
	}
	return io.ReadAll(io.LimitReader(f.env.stdin, source.MaxSize+1))
}

// put writes the formatted text as the flags say: to stdout, as a name, as a diff, or to
// the file.
func (f *formatter) put(name, shown string, old, text []byte) error {
	if !f.cmd.Write && !f.cmd.List && !f.cmd.Diff {
		_, err := f.env.stdout.Write(text)
		return err
	}
	if string(old) == string(text) {
		return nil
	}
	if f.cmd.List {
		f.findings = true
		if _, err := fmt.Fprintln(f.env.stdout, shown); err != nil {
			return err
		}
	}
	if f.cmd.Diff {
		f.findings = true
		slash := filepath.ToSlash(shown)
		if _, err := io.WriteString(f.env.stdout, unified(slash, slash, old, text)); err != nil {
			return err
		}
	}
	if !f.cmd.Write {
		return nil
	}
	if name == "-" {
		return errors.New("-w cannot write to standard input; without -w the result goes to stdout")
	}
	target, err := filepath.EvalSymlinks(name) // keeps a symbolic link
	if err != nil {
		return err
	}
	_, err = writeFile(target, text)
	return err
}

// checkMeaning compiles a file before and after formatting, and returns an error if the
// meaning differs. A file that does not compile by itself must have the same findings.
// Comments are not compared: one between two declarations may move from one to the other.
func (f *formatter) checkMeaning(name string, old, text []byte) error {
	var results [2]*sema.Result
	for i, t := range [][]byte{old, text} {
		o := f.options
		o.Files, o.FS, o.Plain = []string{name}, overlay{FileSystem: f.disk, name: name, text: t, folders: f.folders}, true
		r, err := sema.Compile(o)
		if err != nil {
			return err
		}
		results[i] = r
	}
	if what := meaningDiffers(results[0], results[1], false); what != "" {
		return fmt.Errorf("%s is not formatted: that would change %s. This is a bug in xdrgen; please report it with the file", name, what)
	}
	return nil
}

// overlay is a file system with one file replaced.
type overlay struct {
	sema.FileSystem
	name    string
	text    []byte
	folders map[string][]os.DirEntry // that were read; nil to read them each time
}

func (o overlay) ReadFile(name string) ([]byte, error) {
	if name == o.name {
		return o.text, nil
	}
	return o.FileSystem.ReadFile(name)
}

// ReadDir returns the entries of a folder. All files of a run share them: most files of a run
// are in one folder.
func (o overlay) ReadDir(name string) ([]os.DirEntry, error) {
	if entries, ok := o.folders[name]; ok {
		return entries, nil
	}
	entries, err := o.FileSystem.ReadDir(name)
	if err == nil && o.folders != nil {
		o.folders[name] = entries
	}
	return entries, err
}

func (o overlay) Regular(name string, limit int64) error {
	if name == o.name {
		return nil
	}
	if r, ok := o.FileSystem.(interface{ Regular(string, int64) error }); ok {
		return r.Regular(name, limit)
	}
	return nil
}
