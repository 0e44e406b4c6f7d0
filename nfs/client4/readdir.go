package client4

import (
	"context"
	"fmt"
	"iter"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// The size limits of a reply to READDIR and of a directory.
const (
	listBytes  = 32 << 10
	maxEntries = 10_000_000
)

// ReadDir lists a directory. One reply of the server is held at a time. After a name that is not
// one element of a path the listing stops with an error.
func (c *Client) ReadDir(ctx context.Context, name string) iter.Seq2[*Info, error] {
	return func(yield func(*Info, error) bool) {
		cmp, err := c.at(ctx, name)
		var fh *nfs42.GetFHRes
		if err == nil {
			fh = cmp.GetFH()
		}
		if err := c.do(ctx, "LOOKUP", name, cmp, err); err != nil {
			yield(nil, err)
			return
		}
		args := nfs42.ReadDirArgs{DirCount: listBytes / 4, MaxCount: listBytes, AttrRequest: described()}
		loop := brent{}
		for {
			cmp := new(nfs4.Compound)
			cmp.PutFH(fh.OK.Object)
			res := cmp.ReadDir(&args)
			if err := c.do(ctx, "READDIR", name, cmp, nil); err != nil {
				yield(nil, err)
				return
			}
			for i := range res.OK.Reply.Entries {
				e := &res.OK.Reply.Entries[i]
				info, err := entry(e)
				if err == nil {
					err = loop.next(e.Cookie)
				}
				if err != nil {
					yield(nil, fmt.Errorf("READDIR %q: %w", name, err))
					return
				}
				if !yield(info, nil) {
					return
				}
				args.Cookie = e.Cookie
			}
			if res.OK.Reply.EOF {
				return
			}
			if len(res.OK.Reply.Entries) == 0 {
				yield(nil, fmt.Errorf("READDIR %q: %w", name, &nfs4.ProtocolError{Rule: "no entry before the end of the directory, expected at least one (RFC 8881 §18.23.3)"}))
				return
			}
			args.CookieVerf = res.OK.CookieVerf
		}
	}
}

// entry describes an entry of a directory.
func entry(e *nfs42.Entry) (*Info, error) {
	if err := element(string(e.Name)); err != nil {
		return nil, err
	}
	return describe(string(e.Name), &e.Attrs)
}

// brent finds a cookie that comes back, with the memory of one cookie.
type brent struct {
	seen   nfs42.Cookie
	n, end int // entries so far, and when seen is replaced
}

func (b *brent) next(cookie nfs42.Cookie) error {
	// RFC 8881 §18.23.3: 1 and 2 are reserved, and 0 begins a listing.
	if b.n > 0 && cookie == b.seen || cookie <= 2 {
		return &nfs4.ProtocolError{Rule: fmt.Sprintf("cookie %d again, or a reserved one, after %d entries (RFC 8881 §18.23.3)", cookie, b.n)}
	}
	if b.n >= b.end {
		b.seen, b.end = cookie, 2*b.n+1
	}
	if b.n++; b.n > maxEntries {
		return fmt.Errorf("found more than %d entries, the limit of a directory", maxEntries)
	}
	return nil
}
