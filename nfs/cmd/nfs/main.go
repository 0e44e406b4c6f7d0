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
	"sync"
	"syscall"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// program is one run of the command.
type program struct {
	mu             sync.Mutex // of events
	stdout, stderr io.Writer

	flags                          *flag.FlagSet
	cfg                            client.Config
	vers                           string // of NFS
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

// run runs a command line.
func (p *program) run(ctx context.Context, args []string) error {
	if topic, ok := cli.WantsHelp(args); ok {
		return p.help(topic)
	}
	switch strings.TrimLeft(args[0], "-") {
	case "completion":
		return p.completion(args[1:])
	case "version":
		return p.printVersion()
	}
	command, ok := commands(p)[args[0]]
	if !ok {
		return unknown(args[0])
	}
	p.define(args[0])
	if err := p.flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w: %s: %w: nfs help %s lists the flags", errUsage, args[0], spelling.Flag(p.flags, err), args[0])
	}
	if err := p.values(); err != nil {
		return fmt.Errorf("%w: %s: %w: nfs help %s lists the flags", errUsage, args[0], err, args[0])
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

// commands returns the commands that call a server.
func commands(p *program) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{"ls": p.ls, "cat": p.cat, "get": p.get, "put": p.put}
}

// otherWords lists words that other programs use for a command.
var otherWords = map[string]string{
	"list": "ls", "dir": "ls", "cp": "get or nfs put", "copy": "get or nfs put", "download": "get", "upload": "put", "read": "cat", "write": "put",
	"mount": "ls", "serve": "ls, or the program nfsserve",
}

// unknown returns the error for a word that is not a command.
func unknown(word string) error {
	if strings.HasPrefix(word, "-") {
		return fmt.Errorf("%w: found %.64q, expected a command first: ls, cat, get or put, and then its flags", errUsage, word)
	}
	message := fmt.Sprintf("found command %.64q, expected ls, cat, get or put", word)
	if near, ok := spelling.Nearest(word, []string{"ls", "cat", "get", "put", "help", "completion", "version"}); ok {
		message = spelling.DidYouMean(message, "nfs "+near)
	} else if other, ok := otherWords[strings.ToLower(word)]; ok {
		message = spelling.DidYouMean(message, "nfs "+other)
	}
	return fmt.Errorf("%w: %s", errUsage, message)
}

// values checks the values of the flags.
func (p *program) values() error {
	switch {
	case p.cfg.Transport != "rdma" && p.cfg.Transport != "tcp":
		return fmt.Errorf("found -transport %.64q, expected rdma or tcp", p.cfg.Transport)
	case p.vers != "3" && minors[p.vers] == 0:
		return fmt.Errorf("found -vers %.64q, expected 3, 4.1 or 4.2", p.vers)
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

// define defines the flags of a command, which its help describes.
func (p *program) define(command string) {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&p.cfg.Transport, "transport", "rdma", "")
	f.StringVar(&p.vers, "vers", "3", "")
	f.StringVar(&p.cfg.Provider, "provider", "iwarp", "")
	f.IntVar(&p.cfg.Port, "port", 0, "")
	f.IntVar(&p.cfg.MountPort, "mountport", 0, "")
	f.IntVar(&p.uid, "uid", -1, "")
	f.IntVar(&p.gid, "gid", -1, "")
	f.IntVar(&p.cfg.Depth, "depth", 8, "")
	f.DurationVar(&p.cfg.DialTimeout, "timeout", 0, "")
	f.BoolVar(&p.json, "json", false, "")
	switch command {
	case "ls":
		f.BoolVar(&p.long, "l", false, "")
		f.BoolVar(&p.recursive, "R", false, "")
	case "get", "put":
		f.BoolVar(&p.deep, "r", false, "")
		f.BoolVar(&p.resumed, "resume", false, "")
		f.IntVar(&p.cfg.Window, "window", 16<<20, "")
		f.BoolVar(&p.quiet, "q", false, "")
		f.BoolVar(&p.quiet, "quiet", false, "")
	}
	p.flags = f
}

// remotePath is the form of the operand that names a file of a server.
const remotePath = "HOST:/PATH"

// operands returns the arguments after the flags.
func (p *program) operands(want ...string) ([]string, error) {
	command, got := p.flags.Name(), p.flags.Args()
	form := usageOf(command)
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
			return nil, fmt.Errorf("%w: %s: found %.64q, expected %s: nfs help %s lists the arguments", errUsage, command, arg, remotePath, command)
		}
	}
	return got, nil
}
