package nfs

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
)

// The files that are called for, below the export.
const (
	dataFile  = "data"
	writeFile = "written"
	listDir   = "list"
	dataSize  = 16 << 20
)

// state returns the name of the directory of nfsd's own files, beside an exported one.
func state(dir string) string { return dir + ".state" }

// makeTree makes the directory to serve, with a number of empty files in listDir.
func makeTree(dir string, entries int) error {
	if err := os.MkdirAll(filepath.Join(dir, listDir), 0o755); err != nil {
		return err
	}
	data := make([]byte, dataSize)
	_, _ = rand.Read(data) // never fails
	if err := os.WriteFile(filepath.Join(dir, dataFile), data, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, writeFile), data[:1<<20], 0o666); err != nil {
		return err
	}
	for i := range entries {
		f, err := os.Create(filepath.Join(dir, listDir, fmt.Sprintf("file-%08d.txt", i)))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
