package main

import (
	"errors"
	"fmt"
	"path/filepath"
)

// all extracts the documents of the manifest, and writes, compares or reports.
func (o *options) all() int {
	p := o.printer()
	results, err := build(o.manifest, o.spec)
	code := exitOK
	for _, e := range flatten(err) {
		var sum *checksumError
		if o.check && errors.As(e, &sum) {
			p.finding("checksum", sum.file, sum.message(), sum.help())
			code = max(code, exitFindings)
			continue
		}
		p.failure(e)
		code = exitFailed
	}
	if code == exitFailed {
		return code // write nothing if the set is incomplete
	}
	if o.report {
		for _, r := range results {
			p.report(r)
		}
		return code
	}
	list := outputs(o.out, results)
	for _, out := range list {
		have, same, err := out.current()
		if err == nil && !same && !o.check && !o.dryRun {
			err = out.write()
		}
		switch {
		case err != nil:
			p.failure(err)
			return exitFailed
		case same:
		case o.check:
			p.finding("differs", out.path, diff(filepath.ToSlash(out.path), have, out.data), "go run ./tools/extract writes it")
			code = exitFindings
		default:
			p.changed(out.path, o.dryRun)
		}
	}
	if err == nil { // else the files of documents that could not be read would look stale
		old, err := stale(o.out, list)
		if err != nil {
			p.failure(err)
			return exitFailed
		}
		for _, name := range old {
			const message = "was extracted earlier, and no document of the manifest yields it now"
			const help = "delete it and its .origin"
			if o.check {
				p.finding("stale", name, message, help)
				code = exitFindings
			} else {
				p.note(name, message+"; "+help)
			}
		}
	}
	for _, r := range results {
		p.summary(r)
	}
	if p.findings > 0 {
		fmt.Fprintf(o.stderr, "extract: %d findings; without -check, extract writes the files that differ\n", p.findings)
	}
	return code
}

// flatten returns the errors that errors.Join put together.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}
