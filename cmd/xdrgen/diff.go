package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// diffCmd is the command "diff": gen that writes nothing.
type diffCmd struct {
	genCmd
}

// run prints what gen would change, as a unified diff. Paths in it are those
// that gen would write, so patch -p0 applies it.
func (c *diffCmd) run(env environment) int {
	files, code := c.generate(env)
	if code != exitClean {
		return code
	}
	different := false
	for _, f := range files {
		name := filepath.Join(c.Out, f.Name)
		old, err := os.ReadFile(name)
		from := filepath.ToSlash(name)
		if errors.Is(err, fs.ErrNotExist) {
			from = "/dev/null"
		} else if err != nil {
			return failed(env, err)
		}
		text := unified(from, filepath.ToSlash(name), old, f.Content)
		if text == "" && err == nil {
			continue
		}
		different = true
		if _, err := env.stdout.Write([]byte(text)); err != nil {
			return failed(env, err)
		}
	}
	if different {
		return exitFindings
	}
	return exitClean
}
