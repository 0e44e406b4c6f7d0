package main

import (
	"fmt"
	"os"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// writeOutput writes the file of a flag -o, which must not be one of the files that were read.
func writeOutput(name string, text []byte, read []string) error {
	if old, err := os.Stat(name); err == nil {
		for _, f := range read {
			if in, err := os.Stat(f); err == nil && os.SameFile(in, old) {
				return fmt.Errorf("-o %s is a file to read: name another one", diag.Quote(name))
			}
		}
	}
	return os.WriteFile(name, text, 0o644)
}
