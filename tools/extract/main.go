package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// Exit codes, the same as in the project's other commands.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
)

const help = `extract writes the XDR of protocol documents to .x files with origin maps.

  go run ./tools/extract           write spec/x from spec/MANIFEST, and print
                                   what changed
  go run ./tools/extract -check    write nothing; exit 3 if spec/x is not
                                   current
  go run ./tools/extract -report   show the extracted lines, and the errata
                                   applied
  go run ./tools/extract -doc spec/draft-ietf-nfsv4-rpcrdma-08.txt \
      -mode sections -section 4.3
                                   print the XDR of any document, without a
                                   manifest

Flags:
`

const helpEnd = `
Exit codes: 0 success; 1 failure; 2 usage error; 3 findings: of -check, or with
-doc a definition that begins and never closes, which is left out. "go run"
turns every failure into 1; where the code matters, build the command first:
go build -o extract ./tools/extract
Formats of the manifest, the errata and the origin maps: go doc ./tools/extract
`

// options holds the values of the command line.
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

// run runs the command. It writes results to stdout and everything else to stderr.
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
		return o.single()
	}
	return o.all()
}

func parseOptions(args []string, stdout, stderr io.Writer) (*options, error) {
	o := &options{stdout: stdout, stderr: stderr}
	fs := flag.NewFlagSet("extract", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.spec, "spec", "spec", "`folder` of the documents")
	fs.StringVar(&o.manifest, "manifest", "", "manifest `file` (default MANIFEST in the folder of the documents)")
	fs.StringVar(&o.out, "o", "", "output `folder` (default x in the folder of the documents;\nwith -doc, - for stdout is the default)")
	fs.BoolVar(&o.check, "check", false, "compare instead of write")
	fs.BoolVar(&o.dryRun, "n", false, "print the names of the files that would be written, write nothing")
	fs.BoolVar(&o.report, "report", false, "report on every document, write nothing")
	fs.StringVar(&o.format, "format", "text", "output `format`: text, or json for one object per line")
	fs.StringVar(&o.doc, "doc", "", "extract one document `file`, without manifest and errata")
	fs.StringVar(&o.mode, "mode", "", "with -doc: marked or sections\n(default marked if the document has /// lines)")
	fs.StringVar(&o.section, "section", "", "with -mode sections: section `numbers`, separated by commas,\ntable:NUMBER for a table of constants (default the whole document)")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, help)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		fmt.Fprint(stdout, helpEnd)
		return nil, err
	}
	if err != nil {
		return nil, spelling.Flag(fs, err)
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; a single document is given with -doc", fs.Arg(0))
	}
	fs.Visit(func(f *flag.Flag) {
		if strings.Contains(" manifest spec check n report format ", " "+f.Name+" ") && o.doc != "" {
			err = fmt.Errorf("-%s cannot be used with -doc, which reads no manifest", f.Name)
		}
		if strings.Contains(" mode section ", " "+f.Name+" ") && o.doc == "" {
			err = fmt.Errorf("-%s needs -doc; otherwise the manifest gives it", f.Name)
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
			return fmt.Errorf("-mode: found %q, expected marked or sections", o.mode)
		}
		if o.section != "" && o.mode != modeSections {
			return errors.New("-section needs -mode sections")
		}
		return nil
	}
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("-format: found %q, expected text or json", o.format)
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
		return errors.New("-o -: stdout takes one document only; use -doc")
	}
	return nil
}
