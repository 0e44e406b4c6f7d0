package main

import (
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// findingsFlag selects the format of a command's findings.
type findingsFlag struct {
	Format string `name:"format" enum:"text,json,sarif,github" default:"text"`
}

// print writes findings to stdout, and then their count to stderr unless the format includes
// it.
func (f *findingsFlag) print(env environment, ds []diag.Diagnostic, r reportFlags) error {
	errors, warnings := diag.Count(ds)
	shown, hidden := diag.Limit(ds, r.Errors)
	var err error
	switch f.Format {
	case "json":
		err = printJSON(env.stdout, shown, errors, warnings, hidden)
	case "text":
		err = f.write(env, diag.NotedOnce(shown), r)
	default:
		err = f.write(env, shown, r)
	}
	if f.Format != "json" || hidden > 0 {
		summary(env.stderr, errors, warnings, hidden)
	}
	return err
}

// write writes findings in a format other than JSON.
func (f *findingsFlag) write(env environment, ds []diag.Diagnostic, r reportFlags) error {
	switch f.Format {
	case "sarif":
		return diag.WriteSARIF(env.stdout, ds)
	case "github":
		return printGitHub(env.stdout, ds)
	}
	return printText(env.stdout, ds, r.color(env.stdout, env))
}

// printErrors writes the errors among findings to stderr, and the count of all. If there are only
// warnings, it writes their number and how to see them.
func printErrors(env environment, ds []diag.Diagnostic, r reportFlags) error {
	errors, warnings := diag.Count(ds)
	if errors == 0 && warnings > 0 {
		where := ""
		if ds[0].Span.Valid() {
			where = ds[0].Span.File.Name + ": "
		}
		fmt.Fprintf(env.stderr, "xdrgen: %s%s; xdrgen check shows them\n", where, count(warnings, "warning"))
		return nil
	}
	shown, hidden := diag.Limit(onlyErrors(ds), r.Errors)
	if err := printText(env.stderr, diag.NotedOnce(shown), r.color(env.stderr, env)); err != nil {
		return err
	}
	summary(env.stderr, errors, warnings, hidden)
	return nil
}

func onlyErrors(ds []diag.Diagnostic) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range ds {
		if d.Severity == diag.Error {
			out = append(out, d)
		}
	}
	return out
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

// summary writes the number of errors and warnings, unless both are zero.
func summary(w io.Writer, errors, warnings, hidden int) {
	if errors+warnings == 0 {
		return
	}
	fmt.Fprintf(w, "xdrgen: %s, %s", count(errors, "error"), count(warnings, "warning"))
	if hidden > 0 {
		fmt.Fprintf(w, "; %s not shown (-errors 0 shows all)", count(hidden, "error"))
	}
	fmt.Fprintln(w)
}

// count returns a number with a noun, in the plural if needed.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
