package main

import (
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// ladder writes what happens, a line for each event, with the headers of messages decoded.
type ladder struct{ w io.Writer }

func newLadder(w io.Writer) *ladder { return &ladder{w: w} }

// add is the sink of a trace.
func (l *ladder) add(e trace.Event) {
	fmt.Fprintln(l.w, e) // the file keeps the error
}
