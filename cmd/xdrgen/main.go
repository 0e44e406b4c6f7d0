// Command xdrgen compiles XDR (RFC 4506) and RPC (RFC 5531 §12) definitions.
//
//	xdrgen check file.x ...                    report errors and warnings
//	xdrgen gen -o DIR file.x ...               write a Go package
//	xdrgen diff -o DIR file.x                  show what gen would change
//	xdrgen dump -type T DATA file.x            show the bytes of a value
//	xdrgen json -type T DATA file.x            convert XDR to JSON, and back
//	xdrgen doc -o FILE.html file.x             describe a unit in a page
//	xdrgen explain CODE                        explain a finding
//
// xdrgen help lists all commands.
package main

import (
	"os"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

func main() {
	collectLate()
	os.Exit(run(os.Args[1:], environment{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, terminal: cli.IsTerminal,
	}))
}
