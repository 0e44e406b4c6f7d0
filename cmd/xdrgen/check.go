package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// run checks one unit. The findings are the result: they go to stdout.
func (c *checkCmd) run(env environment) int {
	defs, err := defines(c.Define)
	if err != nil {
		return usage(env, err)
	}
	given, err := types(c.Type)
	if err != nil {
		return usage(env, err)
	}
	o := sema.Options{Files: c.Files, Include: c.Include, Defines: defs, Types: given, Imports: c.Import}
	if slices.Contains(c.Files, "-") {
		if c.Fix {
			return usage(env, fmt.Errorf("-fix: standard input is no file to change"))
		}
		if o.Files, o.FS, err = fromStdin(c.Files, env.stdin); err != nil {
			return failed(env, err)
		}
	}
	if c.Fix {
		log := env.stdout
		if c.Format != "text" {
			log = env.stderr
		}
		if err := c.fix(log, o); err != nil {
			return failed(env, err)
		}
	}
	r, err := sema.Compile(o)
	if err != nil {
		return failed(env, err)
	}
	errors, warnings := diag.Count(r.Diags)
	shown, hidden := diag.Limit(r.Diags, c.Errors)
	switch c.Format {
	case "json":
		err = printJSON(env.stdout, shown, errors, warnings, hidden)
	case "sarif":
		err = diag.WriteSARIF(env.stdout, shown)
	case "github":
		err = printGitHub(env.stdout, shown)
	default:
		err = printText(env.stdout, shown, color(c.Color, env.stdout, env))
	}
	if c.Format != "json" {
		summary(env.stderr, errors, warnings, hidden)
	}
	switch {
	case err != nil:
		return failed(env, err)
	case errors > 0, c.Strict && warnings > 0:
		return exitFindings
	}
	return exitClean
}

// stdinFile stands for standard input, in messages too.
const stdinFile = "<stdin>"

// stdinFS is the file system with one more file.
type stdinFS struct{ text []byte }

func (s stdinFS) ReadFile(name string) ([]byte, error) {
	if name == stdinFile {
		return s.text, nil
	}
	return os.ReadFile(name)
}

func (stdinFS) ReadDir(name string) ([]os.DirEntry, error) { return os.ReadDir(name) }

// fromStdin reads standard input for the file named "-".
func fromStdin(files []string, stdin io.Reader) ([]string, sema.FileSystem, error) {
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, source.MaxSize+1))
	out := slices.Clone(files)
	for i, f := range out {
		if f == "-" {
			out[i] = stdinFile
		}
	}
	return out, stdinFS{text}, err
}

func printText(w io.Writer, ds []diag.Diagnostic, colored bool) error {
	for _, d := range ds {
		if err := diag.WriteText(w, d, diag.TextOptions{Color: colored}); err != nil {
			return err
		}
	}
	return nil
}

func printGitHub(w io.Writer, ds []diag.Diagnostic) error {
	for _, d := range ds {
		if err := diag.WriteGitHub(w, d); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(w io.Writer, ds []diag.Diagnostic, errors, warnings, hidden int) error {
	for _, d := range ds {
		if err := diag.WriteJSON(w, d); err != nil {
			return err
		}
	}
	return diag.WriteJSONSummary(w, errors, warnings, hidden)
}

// summary says how many there are, unless there are none.
func summary(w io.Writer, errors, warnings, hidden int) {
	if errors+warnings == 0 {
		return
	}
	fmt.Fprintf(w, "xdrgen: %s, %s", count(errors, "error"), count(warnings, "warning"))
	if hidden > 0 {
		fmt.Fprintf(w, "; %s not shown, -errors 0 shows all", count(hidden, "error"))
	}
	fmt.Fprintln(w)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
