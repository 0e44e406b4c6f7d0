package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Exit codes, the same as in the project's other commands.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
)

const help = `extract takes the XDR out of protocol documents and writes .x files with origin maps.

  go run ./tools/extract                                  write spec/x from spec/MANIFEST, print what changed
  go run ./tools/extract -check                           write nothing; exit 3 if spec/x is not what it would write
  go run ./tools/extract -report                          show which lines were taken and which errata applied
  go run ./tools/extract -doc spec/draft-ietf-nfsv4-rpcrdma-08.txt -mode sections -section 4.3
                                                          print the XDR of any document, no manifest needed

Flags:
`

const helpEnd = `
Exit codes: 0 done and clean; 1 failed; 2 usage; 3 findings: what -check found, or with -doc a definition that
begins and never closes, so that it was not taken. "go run" turns each but 0 into 1;
build the command first where the code matters: go build -o extract ./tools/extract
Formats of the manifest, the errata and the origin maps: go doc ./tools/extract
`

// options are the command line.
type options struct {
	manifest, spec, out   string
	check, dryRun, report bool
	format                string
	doc, mode, section    string
	stdout, stderr        io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command. Results go to stdout, everything else to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "extract: %v; see -help\n", err)
		return exitUsage
	}
	if o.doc != "" {
		return o.free()
	}
	return o.all()
}

func parseOptions(args []string, stdout, stderr io.Writer) (*options, error) {
	o := &options{stdout: stdout, stderr: stderr}
	fs := flag.NewFlagSet("extract", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.spec, "spec", "spec", "`folder` of the documents")
	fs.StringVar(&o.manifest, "manifest", "", "manifest `file` (default MANIFEST in the folder of the documents)")
	fs.StringVar(&o.out, "o", "", "output `folder` (default x in the folder of the documents; with -doc, - for stdout is the default)")
	fs.BoolVar(&o.check, "check", false, "compare instead of write")
	fs.BoolVar(&o.dryRun, "n", false, "say what would be written, write nothing")
	fs.BoolVar(&o.report, "report", false, "report on every document, write nothing")
	fs.StringVar(&o.format, "format", "text", "of stdout: text, or json for one object a line")
	fs.StringVar(&o.doc, "doc", "", "take one document `file` without manifest and errata")
	fs.StringVar(&o.mode, "mode", "", "with -doc: marked or sections (default marked where /// lines exist)")
	fs.StringVar(&o.section, "section", "", "with -mode sections: section `numbers`, separated by commas, table:NUMBER for a table of constants (default the whole document)")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, help)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		fmt.Fprint(stdout, helpEnd)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; a single document is given with -doc", fs.Arg(0))
	}
	fs.Visit(func(f *flag.Flag) {
		if strings.Contains(" manifest spec check n report format ", " "+f.Name+" ") && o.doc != "" {
			err = fmt.Errorf("-%s does not go with -doc, which uses no manifest", f.Name)
		}
		if strings.Contains(" mode section ", " "+f.Name+" ") && o.doc == "" {
			err = fmt.Errorf("-%s needs -doc; with a manifest, the manifest says it", f.Name)
		}
	})
	if err == nil {
		err = o.complete()
	}
	return o, err
}

func (o *options) complete() error {
	if o.doc != "" {
		if o.out == "" {
			o.out = "-"
		}
		if o.mode != "" && o.mode != modeMarked && o.mode != modeSections {
			return fmt.Errorf("-mode %q: want marked or sections", o.mode)
		}
		if o.section != "" && o.mode != modeSections {
			return errors.New("-section needs -mode sections")
		}
		return nil
	}
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("-format %q: want text or json", o.format)
	}
	if o.report && o.check || o.report && o.dryRun || o.check && o.dryRun {
		return errors.New("-check, -n and -report exclude each other")
	}
	if o.manifest == "" {
		o.manifest = filepath.Join(o.spec, "MANIFEST")
	}
	if o.out == "" {
		o.out = filepath.Join(o.spec, "x")
	}
	if o.out == "-" {
		return errors.New("-o -: several files do not go to stdout; use -doc for one document")
	}
	return nil
}
