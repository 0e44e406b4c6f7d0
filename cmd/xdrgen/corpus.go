package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/trial"
)

// corpusCmd is the command "corpus".
type corpusCmd struct {
	Include []string      `short:"I" name:"include" sep:"none"`
	Bind    string        `name:"bind"`
	JSON    bool          `name:"json"`
	Root    string        `name:"root" default:"."`
	Timeout time.Duration `name:"timeout" default:"10m"`
	Measure bool          `name:"measure"`
	With    []string      `name:"with"`
	Views   bool          `name:"views"`
	RPC     bool          `name:"rpc"`
	Dir     string        `arg:"" name:"dir"`
}

// corpusRow is the result for one file.
type corpusRow struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // "file"
	File      string `json:"file"`
	Accepted  bool   `json:"accepted"`
	Errors    int    `json:"errors"`
	Warnings  int    `json:"warnings"`
	Lines     int    `json:"lines"` // of generated Go, without tests
	Bytes     int    `json:"bytes"` // of the same
	Vet       bool   `json:"vet"`
	RoundTrip bool   `json:"roundTrip"`
	Rpcgen    string `json:"rpcgen,omitempty"` // result of rpcgen, from the manifest
	Want      string `json:"want"`             // "accepted", "refused", or "" if either is right
	OK        bool   `json:"ok"`
	Finding   string `json:"finding,omitempty"` // of go vet or go test, else the first of check

	dir string // folder of its package in the trial module
}

// corpusSummary is the last line of JSON output.
type corpusSummary struct {
	V          int    `json:"v"`
	Type       string `json:"type"` // "summary"
	Files      int    `json:"files"`
	Accepted   int    `json:"accepted"`
	Vetted     int    `json:"vetted"`
	RoundTrips int    `json:"roundTrips"`
	Lines      int    `json:"lines"`
	Bytes      int    `json:"bytes"`
	NotOK      int    `json:"notOK"`
	corpusTimes
}

// run tests all files and prints a row for each. It returns exitFindings if judge
// rejects a row.
func (c *corpusCmd) run(env environment) int {
	if err := checkWith(c.With); err != nil {
		return usage(env, err)
	}
	rows, times, err := c.try()
	if err != nil {
		return failed(env, err)
	}
	sum := corpusSummary{V: 1, Type: "summary", Files: len(rows), corpusTimes: times}
	for i := range rows {
		r := &rows[i]
		r.judge(!c.Measure)
		sum.Accepted += one(r.Accepted)
		sum.Vetted += one(r.Vet)
		sum.RoundTrips += one(r.RoundTrip)
		sum.Lines += r.Lines
		sum.Bytes += r.Bytes
		sum.NotOK += one(!r.OK)
	}
	if c.JSON {
		err = corpusJSON(env.stdout, rows, sum)
	} else {
		err = corpusText(env.stdout, rows, !c.Measure)
		fmt.Fprintf(env.stderr, "xdrgen: %s: %d accepted, %d pass go vet, %d round-trip, %d generated lines of %d bytes; %d not as expected\n",
			count(sum.Files, "file"), sum.Accepted, sum.Vetted, sum.RoundTrips, sum.Lines, sum.Bytes, sum.NotOK)
		if c.Measure {
			fmt.Fprintf(env.stderr, "xdrgen: %v\n", times)
		}
	}
	switch {
	case err != nil:
		return failed(env, err)
	case sum.NotOK > 0:
		return exitFindings
	}
	return exitClean
}

// judge sets Want and OK. A file bad-*.x must be rejected, and a file that rpcgen
// accepts must be accepted, build and, if tested, round-trip. Any other file must build and
// round-trip if it is accepted.
func (r *corpusRow) judge(tested bool) {
	works := r.Accepted && r.Vet && (r.RoundTrip || !tested)
	switch {
	case strings.HasPrefix(filepath.Base(r.File), "bad-"):
		r.Want, r.OK = "refused", !r.Accepted
	case r.Rpcgen != "" && r.Rpcgen != "no":
		r.Want, r.OK = "accepted", works
	default:
		r.OK = !r.Accepted || works
	}
}

// try compiles the files into one module and runs the go command there. It returns
// times only with -measure.
func (c *corpusCmd) try() (rows []corpusRow, times corpusTimes, err error) {
	files, err := xdrFiles(c.Dir)
	if err != nil {
		return nil, times, err
	}
	if len(files) == 0 {
		return nil, times, fmt.Errorf("%s has no .x files", c.Dir)
	}
	manifest, err := readManifest(c.Dir)
	if err != nil {
		return nil, times, err
	}
	root, err := trial.Root(c.Root)
	if err != nil {
		return nil, times, fmt.Errorf("%w; run corpus in a checkout of the project, or name one with -root", err)
	}
	dir, err := os.MkdirTemp("", "xdrgen-corpus-")
	if err != nil {
		return nil, times, err
	}
	defer os.RemoveAll(dir)
	mod, err := trial.NewModule(dir, root)
	if err != nil {
		return nil, times, err
	}
	rows = make([]corpusRow, len(files))
	start := time.Now()
	for i, f := range files {
		rows[i] = corpusRow{V: 1, Type: "file", File: f, Rpcgen: manifest[f], dir: fmt.Sprintf("p%04d", i)}
		if err := c.compile(&rows[i], mod); err != nil {
			return nil, times, fmt.Errorf("%s: %w", f, err)
		}
	}
	generate := time.Since(start)
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	if !c.Measure {
		return rows, times, test(ctx, mod, rows)
	}
	times, err = measure(ctx, mod, rows)
	times.Generate = generate
	return rows, times, err
}

// test vets the packages and runs their tests, and records the results in rows.
func test(ctx context.Context, mod trial.Module, rows []corpusRow) error {
	vet, err := mod.Go(ctx, "vet", "./...")
	if err != nil {
		return err
	}
	test, err := mod.Go(ctx, "test", "-vet=off", "./...")
	if err != nil {
		return err
	}
	vetted, tested := trial.Faults(vet), trial.Faults(test)
	for i := range rows {
		r := &rows[i]
		stubs := r.dir + "/" + r.dir + "rpc"
		r.Vet = r.Accepted && vetted[r.dir] == "" && vetted[stubs] == ""
		r.RoundTrip = r.Accepted && tested[r.dir] == "" && bytes.Contains(test, []byte("ok  \t"+trial.Path+"/"+r.dir+"\t"))
		r.fault(tested[r.dir])
		r.fault(vetted[stubs])
		r.fault(vetted[r.dir])
	}
	return nil
}

// fault records a fault that the go command found, if there is one.
func (r *corpusRow) fault(text string) {
	if text != "" {
		r.Finding = text
	}
}

// compile compiles one file, writes its package, and records the result in row.
func (c *corpusCmd) compile(row *corpusRow, mod trial.Module) error {
	o := sema.Options{Files: []string{filepath.Join(c.Dir, filepath.FromSlash(row.File))}, Include: c.Include, ImportRoot: trial.Path, Stubs: c.RPC}
	if c.Bind != "" {
		name := filepath.Join(c.Bind, filepath.FromSlash(strings.TrimSuffix(row.File, ".x")+".bind"))
		if exists(name) {
			o.BindFile = name
		}
	}
	r, err := sema.Compile(o)
	if err != nil {
		return err
	}
	var files []gogen.File
	if r.Unit != nil {
		var more []diag.Diagnostic
		o := gogen.Options{
			Package: row.dir, ImportPath: trial.Path + "/" + row.dir, Tests: !c.Measure,
			Views: c.Views || r.Bind.Views, With: ir.MethodsWith(r.Bind.With, c.With), Stubs: c.RPC, Async: c.RPC,
		}
		if files, more, err = gogen.Generate(r.Unit, r.Bind, o); err != nil {
			return err
		}
		r.Diags = append(r.Diags, more...)
	}
	row.Errors, row.Warnings = diag.Count(r.Diags)
	row.Accepted = row.Errors == 0
	for _, d := range r.Diags {
		if row.Finding == "" || d.Severity == diag.Error {
			p := d.Span.Position()
			row.Finding = fmt.Sprintf("%d:%d: %s: %s: %s", p.Line, p.Column, d.Severity, d.Rule.Info().Name, d.Message)
		}
		if d.Severity == diag.Error {
			break
		}
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name, "_test.go") {
			row.Lines += bytes.Count(f.Content, []byte("\n"))
			row.Bytes += len(f.Content)
		}
		if err := mod.Write(row.dir+"/"+f.Name, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// xdrFiles returns the .x files below a folder, as paths relative to it.
func xdrFiles(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(name, ".x") {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	return out, err
}

// readManifest returns the result of rpcgen for each file, from the columns file and
// rpcgen of MANIFEST.tsv in the folder. It returns nil if there is no manifest.
func readManifest(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	file, rpcgen := -1, -1
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		columns := strings.Split(s.Text(), "\t")
		if file < 0 {
			for i, name := range columns {
				switch name {
				case "file":
					file = i
				case "rpcgen":
					rpcgen = i
				}
			}
			if file < 0 || rpcgen < 0 {
				return nil, fmt.Errorf("%s: expected the columns file and rpcgen in the first line", filepath.Join(dir, "MANIFEST.tsv"))
			}
		} else if len(columns) > max(file, rpcgen) {
			out[columns[file]] = columns[rpcgen]
		}
	}
	return out, nil
}

func corpusJSON(w io.Writer, rows []corpusRow, sum corpusSummary) error {
	e := json.NewEncoder(w)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return e.Encode(sum)
}

func corpusText(w io.Writer, rows []corpusRow, tested bool) error {
	wide := len("file")
	for _, r := range rows {
		wide = max(wide, len(r.File))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s  %-8s  %8s  %6s  %-4s  %-10s  %s\n", wide, "file", "accepted", "warnings", "lines", "vet", "round trip", "first finding")
	for _, r := range rows {
		finding := r.Finding
		if !r.OK {
			finding = "NOT OK: " + finding
		}
		trip := "-"
		if tested {
			trip = yes(r.RoundTrip)
		}
		fmt.Fprintf(&b, "%-*s  %-8s  %8d  %6d  %-4s  %-10s  %s\n", wide, r.File, yes(r.Accepted), r.Warnings, r.Lines,
			yes(r.Vet), trip, strings.TrimSpace(finding))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
