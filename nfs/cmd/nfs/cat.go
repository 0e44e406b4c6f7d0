package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// cat writes a file to stdout.
func (p *program) cat(ctx context.Context) (err error) {
	args, err := p.operands(remotePath)
	if err != nil {
		return err
	}
	if p.json {
		return fmt.Errorf("%w: cat: -json has no meaning for the bytes of a file", errUsage)
	}
	c, name, err := client.Dial(ctx, args[0], &p.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	f, err := c.Open(ctx, name)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.CopyTo(p.stdout, 0, info.Size())
	}
	return errors.Join(err, f.Close())
}
