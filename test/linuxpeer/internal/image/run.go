package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// runner starts the programs of a build.
type runner struct {
	log *os.File // the output of all programs

	// lock is the file of the cache's lock. Programs inherit it, so that the lock lasts until they
	// have ended, even if this process is killed.
	lock *os.File
}

// command prepares a program that ends when ctx does, with its children.
func (r runner) command(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.WaitDelay = 5 * time.Second
	if r.lock != nil {
		cmd.ExtraFiles = []*os.File{r.lock}
	}
	ownGroup(cmd)
	return cmd
}

// output runs a program and returns its standard output.
func (r runner) output(ctx context.Context, dir string, argv ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := r.command(ctx, dir, argv...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	fmt.Fprintf(r.log, "$ %s\n%s%s", strings.Join(argv, " "), out.Bytes(), errs.Bytes())
	if err != nil {
		return "", r.failed(ctx, argv, errs.String()+out.String(), err)
	}
	return out.String(), nil
}

// failed describes a failed program by the last lines of its output.
func (r runner) failed(ctx context.Context, argv []string, output string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", argv[0], context.Cause(ctx))
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if n := len(lines); n > 12 {
		lines = lines[n-12:]
	}
	return fmt.Errorf("%s: %w (all output is in %s)\n\t%s", argv[0], err, r.log.Name(), strings.Join(lines, "\n\t"))
}
