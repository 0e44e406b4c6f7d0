package client4

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42xattr"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// The size limits of the values and the lists of extended attributes, as Linux has them.
const (
	maxXattr     = 64 << 10
	maxXattrList = 64 << 10
	maxXattrs    = 10_000
	maxXattrName = 255
)

// GetXattr returns an extended attribute, whose key has no prefix such as "user." (RFC 8276 §8.2).
func (c *Client) GetXattr(ctx context.Context, name, key string) ([]byte, error) {
	cmp, err := c.at(ctx, name)
	var res *nfs42xattr.GetXattrRes
	if err == nil {
		res = cmp.GetXattr(key, maxXattr)
	}
	if err = c.do(ctx, "GETXATTR", name, cmp, err); err != nil {
		return nil, err
	}
	return res.Value, nil
}

// SetXattr sets an extended attribute, whether or not it is there.
func (c *Client) SetXattr(ctx context.Context, name, key string, value []byte) error {
	cmp, err := c.at(ctx, name)
	if err == nil {
		cmp.SetXattr(&nfs42xattr.SetXattrArgs{Option: nfs42xattr.SetXattrOptionEither, Key: nfs42xattr.XattrKey(key), Value: value})
	}
	return c.do(ctx, "SETXATTR", name, cmp, err)
}

// RemoveXattr removes an extended attribute.
func (c *Client) RemoveXattr(ctx context.Context, name, key string) error {
	cmp, err := c.at(ctx, name)
	if err == nil {
		cmp.RemoveXattr(key)
	}
	return c.do(ctx, "REMOVEXATTR", name, cmp, err)
}

// ListXattrs returns the keys of all extended attributes.
func (c *Client) ListXattrs(ctx context.Context, name string) (keys []string, err error) {
	args := nfs42xattr.ListXattrsArgs{MaxCount: maxXattrList}
	for {
		cmp, err := c.at(ctx, name)
		var res *nfs42xattr.ListXattrsRes
		if err == nil {
			res = cmp.ListXattrs(&args)
		}
		if err = c.do(ctx, "LISTXATTRS", name, cmp, err); err != nil {
			return nil, err
		}
		if keys, err = addKeys(keys, args.Cookie, &res.OK); err != nil {
			return nil, fmt.Errorf("LISTXATTRS %q: %w", name, err)
		}
		if res.OK.EOF {
			return keys, nil
		}
		args.Cookie = res.OK.Cookie
	}
}

// addKeys adds the keys of a reply, which was asked for from a cookie on, within the size limits.
func addKeys(keys []string, from nfs42.Cookie, ok *nfs42xattr.ListXattrsResOK) ([]string, error) {
	for _, k := range ok.Names {
		if len(k) > maxXattrName {
			return nil, &nfs4.ProtocolError{Rule: fmt.Sprintf("a key of %d bytes, expected at most %d", len(k), maxXattrName)}
		}
		keys = append(keys, string(k))
	}
	if len(keys) > maxXattrs || !ok.EOF && (len(ok.Names) == 0 || ok.Cookie == from) {
		return nil, &nfs4.ProtocolError{Rule: fmt.Sprintf("cookie %d after %d names and no end (RFC 8276 §8.4.3)", ok.Cookie, len(keys))}
	}
	return keys, nil
}
