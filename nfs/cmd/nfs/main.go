// Command nfs lists and copies the files of an NFS version 3 server, over RDMA or TCP. Nothing is
// mounted: the command is the NFS client. docs/nfs.md explains it.
//
//	go run ./nfs/cmd/nfs ls -l storage.example.net:/export
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rpcrdma/rpcrdma/internal/spelling"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

const usage = `nfs lists and copies the files of an NFS version 3 server without mounting it.

usage:
  nfs ls  [-l] [-R] HOST:/PATH                lists a directory
  nfs cat HOST:/PATH                          writes a file to stdout
  nfs get [-r] [-resume] HOST:/PATH LOCAL     copies from the server
  nfs put [-r] [-resume] LOCAL HOST:/PATH     copies to the server

nfs COMMAND -h lists the flags. docs/nfs.md has examples, and the rules of copies.
Exit codes: 0 done, 1 failed, 2 usage, 130 and 143 ended by a signal.
`

// errUsage is the error of a command line.
var errUsage = errors.New("usage")

// program is one run of the command.
type program struct {
	stdout, stderr io.Writer

	flags                          *flag.FlagSet
	cfg                            client.Config
	uid, gid                       int
	json, quiet                    bool
	long, recursive, deep, resumed bool
}

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Reset(os.Interrupt, syscall.SIGTERM) // the second signal kills the process
		cancel(&interrupted{s})
	}()
	p := &program{stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.report(p.run(ctx, os.Args[1:])))
}

// interrupted is the error of a command that was stopped by a signal.
type interrupted struct{ signal os.Signal }

// Error returns the name of the signal.
func (i *interrupted) Error() string { return "ended by signal: " + i.signal.String() }

// run runs a command line.
func (p *program) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: found no command, expected ls, cat, get or put", errUsage)
	}
	command, ok := map[string]func(context.Context) error{"ls": p.ls, "cat": p.cat, "get": p.get, "put": p.put}[args[0]]
	if !ok {
		if args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
			_, err := io.WriteString(p.stdout, usage)
			return err
		}
		if strings.HasPrefix(args[0], "-") {
			return fmt.Errorf("%w: found %.64q, expected a command first: ls, cat, get or put, and then its flags", errUsage, args[0])
		}
		message := fmt.Sprintf("found command %.64q, expected ls, cat, get or put", args[0])
		if near, ok := spelling.Nearest(args[0], []string{"ls", "cat", "get", "put", "help"}); ok {
			message = spelling.DidYouMean(message, near)
		}
		return fmt.Errorf("%w: %s", errUsage, message)
	}
	p.define(args[0])
	if err := p.flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return p.help(args[0])
	} else if err != nil {
		return fmt.Errorf("%w: %s: %w: nfs %s -h lists the flags", errUsage, args[0], spelling.Flag(p.flags, err), args[0])
	}
	if err := p.values(); err != nil {
		return fmt.Errorf("%w: %s: %w: nfs %s -h lists the flags", errUsage, args[0], err, args[0])
	}
	if p.uid >= 0 || p.gid >= 0 {
		p.cfg.Cred = &oncrpc.AuthSysParms{MachineName: []byte("nfs"), UID: number(p.uid, os.Getuid()), GID: number(p.gid, os.Getgid())}
	}
	err := command(ctx)
	if signal := (*interrupted)(nil); err != nil && !errors.As(err, &signal) && errors.As(context.Cause(ctx), &signal) {
		return signal // the end of ctx caused err
	}
	return err
}

// help prints how a command is used, and its flags.
func (p *program) help(command string) error {
	for l := range strings.Lines(usage) {
		if strings.HasPrefix(l, "  nfs "+command+" ") {
			if _, err := fmt.Fprintf(p.stdout, "usage: %s\n", strings.TrimLeft(l, " ")); err != nil {
				return err
			}
		}
	}
	p.flags.SetOutput(p.stdout)
	p.flags.PrintDefaults()
	return nil
}

// values checks the values of the flags.
func (p *program) values() error {
	switch {
	case p.cfg.Transport != "rdma" && p.cfg.Transport != "tcp":
		return fmt.Errorf("found -transport %.64q, expected rdma or tcp", p.cfg.Transport)
	case p.flags.Lookup("window") != nil && p.cfg.Window < 1:
		return fmt.Errorf("found -window %d, expected at least 1 byte", p.cfg.Window)
	case p.cfg.Depth < 1:
		return fmt.Errorf("found -depth %d, expected at least 1 call", p.cfg.Depth)
	case min(p.cfg.Port, p.cfg.MountPort) < 0 || max(p.cfg.Port, p.cfg.MountPort) > 65535:
		return fmt.Errorf("found -port %d and -mountport %d, expected ports up to 65535", p.cfg.Port, p.cfg.MountPort)
	case p.cfg.DialTimeout < 0:
		return fmt.Errorf("found -timeout %v, expected a time that is not negative", p.cfg.DialTimeout)
	}
	return provider.Check(p.cfg.Provider)
}

// number returns n, or other if n is negative.
func number(n, other int) uint32 {
	if n < 0 {
		n = other
	}
	return uint32(n)
}

// define defines the flags of a command.
func (p *program) define(command string) {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&p.cfg.Transport, "transport", "rdma", "`transport`: rdma or tcp")
	f.StringVar(&p.cfg.Provider, "provider", "iwarp", "verbs `provider` for rdma: "+provider.Forms())
	f.IntVar(&p.cfg.Port, "port", 0, "`port` of NFS; default: ask rpcbind,\nelse 20049 for rdma and 2049 for tcp")
	f.IntVar(&p.cfg.MountPort, "mountport", 0, "`port` of MOUNT over TCP; default: ask rpcbind")
	f.IntVar(&p.uid, "uid", -1, "user `number`; default: the user of the process")
	f.IntVar(&p.gid, "gid", -1, "group `number`; default: the group of the process")
	f.IntVar(&p.cfg.Depth, "depth", 8, "READ or WRITE `calls` in flight")
	f.DurationVar(&p.cfg.DialTimeout, "timeout", 0, "longest `time` to mount; default 10s. Later the command waits\nfor the server until a signal ends it")
	f.BoolVar(&p.json, "json", false, "print JSON lines")
	switch command {
	case "ls":
		f.BoolVar(&p.long, "l", false, "print mode, links, owner, size and time")
		f.BoolVar(&p.recursive, "R", false, "list directories below, too")
	case "get", "put":
		f.BoolVar(&p.deep, "r", false, "copy a directory with all below it")
		f.BoolVar(&p.resumed, "resume", false, "go on with an interrupted copy, and skip files\nthat are there with the same size and time")
		f.IntVar(&p.cfg.Window, "window", 16<<20, "`bytes` between two times that the copy is stored and noted;\na copy that is cut repeats at most so many")
		f.BoolVar(&p.quiet, "q", false, "print no progress and no list of files")
	}
	p.flags = f
}

// remotePath is the form of the operand that names a file of a server.
const remotePath = "HOST:/PATH"

// operands returns the arguments after the flags.
func (p *program) operands(want ...string) ([]string, error) {
	command, got := p.flags.Name(), p.flags.Args()
	form := "nfs " + command + " [flags] " + strings.Join(want, " ")
	late := spelling.Late(got)
	switch {
	case len(got) != len(want) && late != nil:
		return nil, fmt.Errorf("%w: %s: %w: %s", errUsage, command, late, form)
	case len(got) < len(want):
		return nil, fmt.Errorf("%w: %s: %s is missing, expected %s", errUsage, command, want[len(got)], form)
	case len(got) > len(want):
		return nil, fmt.Errorf("%w: %s: found %.64q after %s, expected %s", errUsage, command, got[len(want)], want[len(want)-1], form)
	}
	for i, arg := range got {
		if _, _, err := client.SplitTarget(arg); (err != nil || strings.Contains(arg, "://")) && want[i] == remotePath {
			return nil, fmt.Errorf("%w: %s: found %.64q, expected %s: nfs %s -h lists the arguments", errUsage, command, arg, remotePath, command)
		}
	}
	return got, nil
}
