package main

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// pipePatience is the time after which a command that reads a named pipe says so.
const pipePatience = time.Second

// announcePipes says on stderr that the command reads named pipes of the command line, if it has not
// ended after some time: nothing may ever be written to them. The function that it returns is
// called at the end.
func announcePipes(env environment) (stop func()) {
	for _, name := range env.args {
		if info, err := os.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			timer := time.AfterFunc(pipePatience, func() {
				fmt.Fprintf(env.stderr, "xdrgen: %s is a named pipe: reading it ends when its writer closes it\n", diag.Quote(name))
			})
			return func() { timer.Stop() }
		}
	}
	return func() {}
}
