package main

import (
	"context"
	"errors"
	"fmt"
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
	c, name, err := p.dial(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	info, err := c.stat(name)
	if err != nil {
		return err
	}
	f, err := c.open(name)
	if err != nil {
		return err
	}
	_, err = f.CopyTo(p.stdout, 0, info.Size())
	return errors.Join(err, f.Close())
}
