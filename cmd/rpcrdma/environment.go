package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// environment holds the streams and settings of a command.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	json           bool            // reports and errors are JSON lines
	flags          map[string]bool // of the command, each with its -; nil: not known
}

// output is a writer that keeps its first error, such as a full disk.
type output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.w.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// printJSON prints one object as a line.
func printJSON(env environment, typ string, fields map[string]any) {
	fields["v"], fields["type"] = 1, typ
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err) // impossible: the fields are numbers and strings
	}
	fmt.Fprintf(env.stdout, "%s\n", jsontext.Printable(line))
}
