package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/use4"
)

// files4 uses the kernel's NFS server of this machine, over the device, by versions 4.1 and 4.2.
func files4(ctx context.Context, o *options, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("found arguments %q, expected a use, a minor version, an address, and a command that cuts connections or nothing", args)
	}
	use, host := use4.Uses[args[0]], args[2]
	minor, err := strconv.ParseUint(args[1], 10, 32)
	if use == nil || err != nil {
		return fmt.Errorf("found use %q and minor version %q, expected a use of package use4", args[0], args[1])
	}
	local, err := os.MkdirTemp("", "use4-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(local)
	dev := &breaker{Device: o.dev}
	s := &use4.Server{
		Shell: script, Logf: log.Printf, Export: "/export", Local: local, Tester: "mounttest",
		Cut: func(ctx context.Context) error {
			if args[3] == "" {
				return dev.cut()
			}
			_, err := script(ctx, args[3])
			return err
		},
		Dial: func(ctx context.Context, cfg *nfs4.Config) (*nfs4.Session, error) {
			over := &rdmaio.ClientConfig{MinBackoff: 20 * time.Millisecond, MaxBackoff: time.Second}
			return nfs4.DialRDMA(ctx, dev, fmt.Sprintf("%s:%d", host, oncrpc.PortNFSRDMA), cfg, use4.OneCredit(over))
		},
		Client: func(ctx context.Context, cfg *client4.Config) (*client4.Client, error) {
			cfg.Provider = "ibverbs=" + o.device
			c, _, err := client4.Dial(ctx, host+":/", cfg)
			return c, err
		},
	}
	text, err := use(ctx, s, uint32(minor))
	if err == nil {
		fmt.Printf("4.%d: %s\n", minor, text)
	}
	return err
}

// script runs a script on this machine, and returns its output.
func script(ctx context.Context, text string) (string, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", text).CombinedOutput()
	log.Printf("$ %s\n%s", text, out)
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", text, err, strings.TrimSpace(string(out)))
	}
	return string(out), err
}
