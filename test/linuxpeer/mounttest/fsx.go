//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/nfs/fsx"
)

// fuzz makes random operations in a directory, in parts. After each part it compares all files,
// with an empty cache or another mount.
type fuzz struct {
	seed         uint64
	steps, parts int
	// safe leaves out the operations that a client cannot repeat when the server has forgotten
	// that it executed them: RENAME, LINK and REMOVE of NFS version 3.
	safe   bool
	forget func() error // makes the kernel read everything from the server again
}

// run makes the operations in a new directory, and prints a line after each part.
func (f fuzz) run(dir string, out io.Writer) error {
	cfg := fsx.Config{Seed: f.seed, Steps: f.steps / f.parts, MaxFile: 1 << 20}
	if f.safe {
		cfg.Only = []fsx.Op{fsx.Read, fsx.Write, fsx.Append, fsx.Truncate, fsx.Size, fsx.Sync, fsx.Reopen, fsx.Compare}
	}
	files := directory{fsx.OS(dir)}
	test := fsx.New(files, cfg)
	for part := range f.parts {
		if err := test.Run(context.Background()); err != nil {
			return err
		}
		fmt.Fprintf(out, "part %d of %d, %d bytes written\n", part+1, f.parts, test.Written())
		if err := f.forget(); err != nil {
			return err
		}
		if err := test.Compare(files); err != nil {
			return err
		}
	}
	return nil
}

// directory is a directory of a mount. Its listings have no files that the kernel has renamed
// because they were in use when they were removed: it removes them later.
type directory struct{ fsx.FS }

func (d directory) ReadDir(name string) ([]string, error) {
	names, err := d.FS.ReadDir(name)
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, ".nfs") }), err
}

func (d directory) Link(name, link string) error { return d.FS.(fsx.Linker).Link(name, link) }

// remount unmounts the file system at a point, the second of the arguments of mount.nfs, and
// mounts it again.
func remount(args []string) error {
	for _, argv := range [][]string{{"umount", args[1]}, append([]string{"mount.nfs"}, args...)} {
		if text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, text)
		}
	}
	return nil
}
