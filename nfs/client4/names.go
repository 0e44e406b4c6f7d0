package client4

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ErrName is the error of a name that is not one element of a path.
var ErrName = errors.New("invalid name")

// element returns an error unless name is one element of a path. Another name from a server, for
// example "../x", could lead a copy out of its directory.
func element(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%w: found %.64q, expected one element of a path, neither . nor .. nor with a slash or NUL", ErrName, name)
	}
	return nil
}

// elements returns the elements of a path.
func elements(name string) (out []string, err error) {
	for e := range strings.SplitSeq(name, "/") {
		if e == "" || e == "." {
			continue
		}
		if err := element(e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// maxLookups is the number of LOOKUPs in a COMPOUND.
const maxLookups = 8

// walk appends operations to cmp that make a file the current one. Longer paths take further
// COMPOUNDs, which it makes.
func (c *Client) walk(ctx context.Context, cmp *nfs4.Compound, list []string) error {
	at, known := nfs42.Handle(nil), false
	for len(list) > maxLookups {
		var part nfs4.Compound
		begin(&part, at, known)
		for _, e := range list[:maxLookups] {
			part.Lookup(e)
		}
		fh := part.GetFH()
		if err := c.s.Do(ctx, &part); err != nil {
			return err
		}
		at, known, list = fh.OK.Object, true, list[maxLookups:]
	}
	begin(cmp, at, known)
	for _, e := range list {
		cmp.Lookup(e)
	}
	return nil
}

// begin makes a handle, or the root, the current one.
func begin(cmp *nfs4.Compound, at nfs42.Handle, known bool) {
	if known {
		cmp.PutFH(at)
	} else {
		cmp.PutRootFH()
	}
}

// at returns a COMPOUND that has made the file of a name the current one.
func (c *Client) at(ctx context.Context, name string) (*nfs4.Compound, error) {
	list, err := elements(name)
	if err != nil {
		return nil, err
	}
	cmp := new(nfs4.Compound)
	return cmp, c.walk(ctx, cmp, list)
}

// in is at for the directory of a name, with its last element.
func (c *Client) in(ctx context.Context, name string) (*nfs4.Compound, string, error) {
	list, err := elements(name)
	if err != nil {
		return nil, "", err
	}
	if len(list) == 0 {
		return nil, "", fmt.Errorf("%w: found the root, expected the name of a file below it", ErrName)
	}
	last := len(list) - 1
	cmp := new(nfs4.Compound)
	return cmp, list[last], c.walk(ctx, cmp, list[:last])
}

// do makes a COMPOUND about a name.
func (c *Client) do(ctx context.Context, op, name string, cmp *nfs4.Compound, err error) error {
	if err == nil {
		err = c.s.Do(ctx, cmp)
	}
	return named(op, name, err)
}

// named returns the error of an operation on a name.
func named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", op, name, err)
}

// described are the attributes of an Info.
func described() nfs42.Bitmap {
	return nfs42ext.AttributesMask(nfs42.AttrType, nfs42.AttrChange, nfs42.AttrSize, nfs42.AttrFileID, nfs42.AttrMode,
		nfs42.AttrNumLinks, nfs42.AttrOwner, nfs42.AttrOwnerGroup, nfs42.AttrSpaceUsed, nfs42.AttrTimeAccess,
		nfs42.AttrTimeMetadata, nfs42.AttrTimeModify)
}

// decode decodes the attributes that a server sent for those in mask.
func decode(f *nfs42.Fattr, mask nfs42.Bitmap) (*nfs42ext.Attributes, error) {
	a := new(nfs42ext.Attributes)
	if err := a.Decode(xdr.NewDecoder(nil, nil), f); err != nil {
		return nil, &nfs4.ProtocolError{Rule: fmt.Sprintf("attributes that do not decode: %v (RFC 8881 §5)", err)}
	}
	for i, word := range a.Mask {
		if i >= len(mask) || word&^mask[i] != 0 {
			return nil, &nfs4.ProtocolError{Rule: fmt.Sprintf("attributes %x, expected only those asked for, %x (RFC 8881 §18.7.3)", a.Mask, mask)}
		}
	}
	return a, nil
}

// Info describes a file. It implements fs.FileInfo.
type Info struct {
	name string
	Attr *nfs42ext.Attributes // those in its Mask are known
}

var _ fs.FileInfo = (*Info)(nil)

// describe returns the description of a file. A server must know its type.
func describe(name string, f *nfs42.Fattr) (*Info, error) {
	a, err := decode(f, described())
	if err != nil {
		return nil, err
	}
	if !a.Has(nfs42.AttrType) {
		return nil, &nfs4.ProtocolError{Rule: "no type of a file, expected one (RFC 8881 §5.6)"}
	}
	return &Info{name: name, Attr: a}, nil
}

// base returns the last element of a name, "." for the root.
func base(name string) string {
	if b := path.Base("/" + name); b != "/" {
		return b
	}
	return "."
}

// Name returns the last element of the file's name, "." for the root.
func (i *Info) Name() string { return i.name }

// Size returns the size in bytes, math.MaxInt64 at most.
func (i *Info) Size() int64 { return int64(min(uint64(i.Attr.Size), math.MaxInt64)) }

// ModTime returns the time when the data was last changed.
func (i *Info) ModTime() time.Time {
	return time.Unix(i.Attr.TimeModify.Seconds, int64(i.Attr.TimeModify.Nseconds))
}

// IsDir reports whether the file is a directory.
func (i *Info) IsDir() bool { return i.Attr.Type == nfs42.FileTypeDir }

// Sys returns the attributes, a *nfs42ext.Attributes.
func (i *Info) Sys() any { return i.Attr }

// Mode returns the type and the permissions.
func (i *Info) Mode() fs.FileMode {
	m := fs.FileMode(i.Attr.Mode & 0o777)
	for bit, mode := range map[nfs42.Mode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if i.Attr.Mode&bit != 0 {
			m |= mode
		}
	}
	switch i.Attr.Type {
	case nfs42.FileTypeReg:
		return m
	case nfs42.FileTypeDir:
		return m | fs.ModeDir
	case nfs42.FileTypeLnk:
		return m | fs.ModeSymlink
	case nfs42.FileTypeBlk:
		return m | fs.ModeDevice
	case nfs42.FileTypeChr:
		return m | fs.ModeDevice | fs.ModeCharDevice
	case nfs42.FileTypeSock:
		return m | fs.ModeSocket
	case nfs42.FileTypeFifo:
		return m | fs.ModeNamedPipe
	}
	return m | fs.ModeIrregular
}

// Stat describes a file. If the name is a symbolic link, Stat describes the link.
func (c *Client) Stat(ctx context.Context, name string) (*Info, error) {
	cmp, err := c.at(ctx, name)
	if err != nil {
		return nil, c.do(ctx, "LOOKUP", name, cmp, err)
	}
	attr := cmp.GetAttr(described())
	if err := c.do(ctx, "STAT", name, cmp, nil); err != nil {
		return nil, err
	}
	return describe(base(name), &attr.OK.ObjAttributes)
}
