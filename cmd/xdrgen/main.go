// Command xdrgen compiles XDR (RFC 4506) and RPC (RFC 5531 §12) definitions.
//
//	xdrgen check file.x ...                    find faults
//	xdrgen gen -o DIR file.x ...               write a Go package
//	xdrgen diff -o DIR file.x                  show what gen would change
//	xdrgen dump -type T DATA file.x            show the bytes of a value
//	xdrgen json -type T DATA file.x            XDR to JSON, and back
//	xdrgen explain CODE                        explain a finding
//
// xdrgen help shows everything.
package main

import (
	"os"
	"runtime/debug"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// The command is done in a tenth of a second, so that collecting garbage by the
// default rate would be a third of its work. Large inputs get the usual rate
// near the limit.
const (
	gcPercent   = 800
	memoryLimit = 1 << 30
)

func main() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(run(os.Args[1:], environment{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, terminal: cli.IsTerminal,
	}))
}
