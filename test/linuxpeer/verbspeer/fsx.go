package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/fsx"
	"github.com/rpcrdma/rpcrdma/nfs/fsx/fsxtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// random makes random operations on an export over the device, and compares the directory itself,
// which is on this machine. They make no holes, which the kernel's server reads wrongly from tmpfs.
func random(ctx context.Context, o *options, args []string) (err error) {
	if len(args) != 4 {
		return fmt.Errorf("found arguments %q, expected the ports of NFS and MOUNT, HOST:PATH and a directory", args)
	}
	cfg := client.Config{Provider: "ibverbs=" + o.device, Cred: &oncrpc.AuthSysParms{}}
	for i, port := range []*int{&cfg.Port, &cfg.MountPort} {
		if *port, err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	c, rest, err := client.Dial(ctx, args[2], &cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	const parts = 6
	test := fsx.New(fsxtest.Dir(ctx, c, rest), fsx.Config{Seed: 1, Steps: o.messages / parts, MaxFile: 300 << 10, Dense: true})
	for part := range parts {
		if err := test.Run(ctx); err != nil {
			if other := test.Compare(fsx.OS(args[3])); other != nil {
				return fmt.Errorf("%w\nthe directory itself: %w", err, other)
			}
			return fmt.Errorf("%w\nthe directory itself is right", err)
		}
		fmt.Printf("part %d of %d, %d bytes written\n", part+1, parts, test.Written())
		if err := test.Compare(fsx.OS(args[3])); err != nil {
			return err
		}
	}
	return nil
}
