//go:build !unix

package main

import "io"

const canStall = false

// run is not called: parseStalls refuses -stall.
func (s stalls) run([]string, io.Writer) int { return 1 }
