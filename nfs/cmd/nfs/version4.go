package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// minors are the values of -vers for NFS version 4, with their minor versions.
var minors = map[string]uint32{"4.1": 1, "4.2": 2}

// dial4 is dial for NFS version 4.
func (p *program) dial4(ctx context.Context, target string) (remote, string, error) {
	cfg := &client4.Config{
		Session: &nfs4.Config{Minor: minors[p.vers], Cred: p.cfg.Cred},
		Port:    p.cfg.Port, Depth: p.cfg.Depth, Window: p.cfg.Window,
		Delegations: -1, // each file is opened once
	}
	if p.cfg.Transport == "rdma" {
		cfg.Provider = p.cfg.Provider
	}
	first, cancel := context.WithTimeout(ctx, cmp.Or(p.cfg.DialTimeout, 10*time.Second))
	defer cancel()
	c, name, err := client4.Dial(first, target, cfg)
	if err != nil {
		return nil, "", &unreachable{fmt.Errorf("NFS version %s: %w", p.vers, err)}
	}
	return &server[*client4.Info, *client4.File]{ctx, c, func(name string, mode *fs.FileMode, at *time.Time) error {
		var set nfs42ext.Attributes
		if at != nil {
			set = *client4.SetTimes(*at, *at)
		}
		if mode != nil {
			bits := client4.SetMode(*mode)
			set.Mode, set.Mask = bits.Mode, union(set.Mask, bits.Mask)
		}
		return c.SetAttr(ctx, name, &set)
	}}, name, nil
}

// userNumber returns the number of an owner or group, which servers without names send (RFC 8881
// §5.9), and 65534 for a name.
func userNumber(owner []byte) uint32 {
	n, err := strconv.ParseUint(string(owner), 10, 32)
	if err != nil {
		return 65534
	}
	return uint32(n)
}

// union returns the attributes in either mask.
func union(a, b nfs42.Bitmap) nfs42.Bitmap {
	out := make(nfs42.Bitmap, max(len(a), len(b)))
	copy(out, a)
	for i, word := range b {
		out[i] |= word
	}
	return out
}
