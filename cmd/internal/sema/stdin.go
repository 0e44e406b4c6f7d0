package sema

import (
	"io"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// StdinFile is the name of standard input as a file, also in messages.
const StdinFile = "<stdin>"

// stdinFS is the file system of the disk with standard input as one more file.
type stdinFS struct {
	Disk
	text []byte
}

func (s stdinFS) ReadFile(name string) ([]byte, error) {
	if name == StdinFile {
		return s.text, nil
	}
	return s.Disk.ReadFile(name)
}

// FromStdin reads standard input for the file named "-". It returns the Files and the FS of
// Options. stdin may be nil.
func FromStdin(files []string, stdin io.Reader) ([]string, FileSystem, error) {
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, source.MaxSize+1))
	out := slices.Clone(files)
	for i, f := range out {
		if f == "-" {
			out[i] = StdinFile
		}
	}
	return out, stdinFS{text: text}, err
}
