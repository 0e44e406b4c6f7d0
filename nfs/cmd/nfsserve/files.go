package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rpcrdma/rpcrdma/nfs/iofs"
	"github.com/rpcrdma/rpcrdma/nfs/memfs"
)

// checkFiles checks -fs, the flag that only a directory has, and the arguments after the flags.
func (o *options) checkFiles(args []string) error {
	want := map[string]int{"dir": 1, "zip": 1, "mem": 0}
	n, ok := want[o.files]
	switch {
	case !ok:
		return fmt.Errorf("found -fs %.64q, expected dir, zip or mem", o.files)
	case n == 0 && len(args) > 0:
		return fmt.Errorf("found %d arguments after the flags, expected none with -fs %s", len(args), o.files)
	case n == 1 && (len(args) != 1 || args[0] == ""):
		return fmt.Errorf("found %d arguments after the flags, expected %s", len(args), map[string]string{"dir": "DIR", "zip": "FILE"}[o.files])
	case o.State != "" && o.files != "dir":
		return fmt.Errorf("found -state with -fs %s, expected it with a directory: handles of other files end with the server", o.files)
	}
	return nil
}

// openFiles opens the files to serve, and returns its name and the function that closes it.
func (o *options) openFiles() (name string, end func() error, err error) {
	var closer io.Closer
	switch o.files {
	case "mem":
		o.FS, name = memfs.New(memfs.Config{}), "memory"
	case "zip":
		r, err := zip.OpenReader(o.Dir)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", o.Dir, err)
		}
		files, err := iofs.New(r, iofs.Config{UID: o.AnonUID, GID: o.AnonGID})
		if err != nil {
			return "", nil, errors.Join(fmt.Errorf("%s: %w", o.Dir, err), r.Close())
		}
		o.FS, name, closer = files, o.Dir, r
	default:
		if o.State == "" {
			dir, err := filepath.Abs(o.Dir)
			if err != nil {
				return "", nil, err
			}
			o.State = dir + ".nfs3"
		}
		name = o.Dir
	}
	if closer == nil {
		return name, func() error { return nil }, nil
	}
	return name, closer.Close, nil
}
