package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/spelling"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/cases"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/image"
)

// The exit codes. A cut run has exit code 5, as all commands of this module use it for "not in
// time".
const (
	codePassed = 0
	codeFailed = 1
	codeUsage  = 2
	codeCut    = 5
)

const usage = `linuxpeer runs cases against a Linux kernel in a virtual machine: docs/linux-peer.md

usage: linuxpeer [flags]

flags:
`

const codes = `
exit codes:
  0  all cases passed or were skipped
  1  a case failed, or the run was interrupted
  2  wrong usage
  5  -timeout ended the run, and no case had failed
`

// settings are the flags.
type settings struct {
	set, run, kernel, cache, mirror             string
	keep, list, verbose, required, shell, write bool
	rebuild, boot                               bool
	retries, memory                             int
	size                                        int64
	timeout                                     time.Duration
	interopPage                                 string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that the second signal kills the process
	ctx = withParent(ctx)
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return codePassed
	}
	if err != nil {
		fmt.Fprintln(stderr, "linuxpeer:", err)
		return codeUsage
	}
	h := &harness{settings: s, stdout: stdout, stderr: stderr, start: time.Now()}
	ok, err := h.main(ctx)
	switch {
	case errors.Is(err, errCut):
		return codeCut
	case err != nil:
		fmt.Fprintln(stderr, "linuxpeer:", err)
		return codeFailed
	case !ok:
		return codeFailed
	}
	return codePassed
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	f := flag.NewFlagSet("linuxpeer", flag.ContinueOnError)
	f.SetOutput(io.Discard) // command prints the error
	f.StringVar(&s.set, "set", cases.Sets()[0], "run this `set` of cases: all, or ci, which has one of each kind")
	f.StringVar(&s.run, "run", "", "run the cases whose name matches this regular `expression`")
	f.StringVar(&s.kernel, "kernel", image.Kernels()[0], "the guest's kernel: "+strings.Join(image.Kernels(), " or "))
	f.StringVar(&s.cache, "cache", filepath.Join(cache, "rpcrdma-linuxpeer"), "`folder` of guest images and downloaded packages")
	f.StringVar(&s.mirror, "mirror", "", "`URL` of Debian's archive, by default that of this machine's apt; security updates come from URL-security")
	f.StringVar(&s.interopPage, "page", "docs/interop.md", "`file` that -write writes and other runs compare with")
	f.BoolVar(&s.keep, "keep", false, "keep logs and captures of all cases, not only of those that failed")
	f.BoolVar(&s.list, "list", false, "list the cases and run none")
	f.BoolVar(&s.verbose, "v", false, "show the logs of all cases, not only of those that failed")
	f.BoolVar(&s.required, "required", os.Getenv(witness.Env) == witness.Required, "fail if a program that is needed is not installed, instead of skipping")
	f.BoolVar(&s.shell, "shell", false, "start a shell in the guest and run no cases")
	f.BoolVar(&s.write, "write", false, "write the rows of the cases that run to the kernel's part of the page")
	f.BoolVar(&s.rebuild, "rebuild", false, "build the guest again, of the packages that Debian has now")
	f.BoolVar(&s.boot, "boot", false, "boot the guest; do not continue from the saved state of an earlier one")
	f.IntVar(&s.retries, "retries", 0, "run a case that failed again, in a new guest, up to this many times; the first result is printed as AGAIN")
	f.Int64Var(&s.size, "size", cases.DefaultSize, "`bytes` of the tree that the cases nfs-tree copy; a gigabyte needs -memory 6144")
	f.IntVar(&s.memory, "memory", 0, "memory of the guest in `MiB`; default 1024")
	f.DurationVar(&s.timeout, "timeout", 90*time.Minute, "limit for the cases, from the moment when the guest is ready; the case in progress is CUT")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stderr, usage)
			f.SetOutput(stderr)
			f.PrintDefaults()
			fmt.Fprint(stderr, codes)
		}
		return s, spelling.Flag(f, err)
	}
	if !slices.Contains(cases.Sets(), s.set) {
		return s, fmt.Errorf("-set %q: the sets are %s", s.set, strings.Join(cases.Sets(), " and "))
	}
	if s.timeout <= 0 {
		return s, fmt.Errorf("-timeout %v: the limit must be positive", s.timeout)
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if _, err := regexp.Compile(s.run); err != nil {
		return s, fmt.Errorf("-run: %w", err)
	}
	return s, nil
}

// withParent returns a context that also ends when the parent process does: go run, make or a
// shell. A killed go run, for one, leaves its program behind.
func withParent(ctx context.Context) context.Context {
	if runtime.GOOS != "linux" {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				cancel(errors.New("the parent process has ended"))
				return
			}
		}
	}()
	return ctx
}

// selected returns the cases of a set that -run selects.
func selected(set, pattern string) []cases.Case {
	re := regexp.MustCompile(pattern)
	var list []cases.Case
	for _, c := range cases.All() {
		if cases.InSet(set, c.Name) && re.MatchString(c.Name) {
			list = append(list, c)
		}
	}
	return list
}
