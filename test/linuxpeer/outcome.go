package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/cases"
)

// outcome counts the results of a run.
type outcome struct {
	count    map[cases.Status]int
	problems int // of the kernel, between the cases
	left     int // cases that were not begun
}

// failed reports whether a case failed, or the kernel between the cases.
func (o outcome) failed() bool { return o.count[cases.Fail] > 0 || o.problems > 0 }

// cut reports whether the run ended before its last case.
func (o outcome) cut() bool { return o.count[cases.Cut] > 0 || o.left > 0 }

func (o outcome) verdict() string {
	switch {
	case o.failed():
		return "FAILED"
	case o.cut():
		return "CUT"
	}
	return "passed"
}

func (o outcome) String() string {
	s := fmt.Sprintf("%d passed, %d failed, %d skipped", o.count[cases.Pass], o.count[cases.Fail], o.count[cases.Skip])
	if o.cut() {
		s += fmt.Sprintf(", %d cut, %d not run", o.count[cases.Cut], o.left)
	}
	return s
}

// commit returns the commit of the working tree for the page.
func commit(ctx context.Context) (string, error) {
	hash, err := git(ctx, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", fmt.Errorf("the page names the commit of the run: %w", err)
	}
	changes, err := git(ctx, "status", "--porcelain", "--untracked-files=no")
	if changes != "" {
		hash += " with changes"
	}
	return "commit " + hash, err
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
