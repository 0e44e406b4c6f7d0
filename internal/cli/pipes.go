package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// pipePatience is the time after which a program that reads a named pipe says so.
const pipePatience = time.Second

// AnnouncePipes writes a line to w if a word of a command line is a named pipe and the command has
// not ended after a second, because nothing may ever be written to the pipe. The caller calls stop
// when the command ends.
func AnnouncePipes(w io.Writer, program string, words []string) (stop func()) {
	for _, name := range words {
		if info, err := os.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			timer := time.AfterFunc(pipePatience, func() {
				fmt.Fprintf(w, "%s: %q is a named pipe: reading it ends when its writer closes it\n", program, name)
			})
			return func() { timer.Stop() }
		}
	}
	return func() {}
}
