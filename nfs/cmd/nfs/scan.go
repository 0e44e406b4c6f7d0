package main

import (
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
)

// scan finds the files of a tree while the first ones are copied, so that the progress has totals.
// It ends when the function that it returns is called. A directory that cannot be listed is left
// to the copy, which reports it, and the totals stay incomplete.
func (c *copier) scan(dir string) (stop func()) {
	var stopped atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c.count(dir, 0, &stopped) {
			c.meter.foundAll()
		}
	}()
	return func() {
		stopped.Store(true)
		<-ended
	}
}

// count counts the files below a directory, and reports whether it has found all.
func (c *copier) count(dir string, level int, stopped *atomic.Bool) bool {
	if level > maxDeep {
		return false
	}
	for entry, err := range c.from.list(dir) {
		if err != nil || stopped.Load() {
			return false
		}
		switch {
		case isPart(entry.Name()):
		case entry.IsDir():
			if !c.count(path.Join(dir, entry.Name()), level+1, stopped) {
				return false
			}
		default:
			c.meter.found(1, sizeOf(entry))
		}
	}
	return true
}

// isPart reports whether a name belongs to an incomplete copy or its note, which are not copied.
func isPart(name string) bool {
	return strings.HasSuffix(name, partEnding) || strings.HasSuffix(name, noteEnding)
}

// sizeOf returns the number of bytes that are to be copied of a file.
func sizeOf(file fs.FileInfo) int64 {
	if file.Mode().IsRegular() {
		return file.Size()
	}
	return 0
}
