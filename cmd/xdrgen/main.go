// Command xdrgen compiles XDR (RFC 4506) and RPC (RFC 5531 §12) definitions.
//
//	xdrgen check file.x ...                    find faults
//	xdrgen gen -o DIR -package NAME file.x ... write a Go package
//
// xdrgen help shows everything.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], environment{
		stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, terminal: isTerminal,
	}))
}
