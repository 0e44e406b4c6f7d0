package nfs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// maxSize is the size in bytes of the largest READ and WRITE.
const maxSize = 1 << 20

// maxCount is the size of a listing's reply that the client asks for.
const maxCount = 64 << 10

// client is the generated client over one connection, with memory for each concurrent call.
type client struct {
	nfs     *nfs3rpc.Client
	conn    io.Closer
	dev     verbs.Device // nil over TCP
	root    nfs3.Handle
	file    nfs3.Handle // dataFile
	written nfs3.Handle
	dir     nfs3.Handle // listDir
	slots   []slot
}

// slot is the memory of one call at a time.
type slot struct {
	attr nfs3.GetAttrRes
	look nfs3.LookupRes
	read nfs3.ReadRes
	buf  []byte
	opt  rpc.Options
}

// buffers returns memory for READs and WRITEs.
func buffers(depth int) [][]byte {
	all := make([][]byte, depth)
	for i := range all {
		all[i] = make([]byte, maxSize)
	}
	return all
}

// connection is a connection of either carrier.
type connection interface {
	oncrpc.Conn
	io.Closer
}

// dial connects over a carrier, with the root's handle of a server's TCP address.
func dial(ctx context.Context, carrier, addr, mountAddr, export string, depth int) (_ *client, err error) {
	user := oncrpc.AuthSysParms{MachineName: []byte("bench")}
	cred, err := user.Auth()
	if err != nil {
		return nil, err
	}
	c := &client{slots: make([]slot, depth)}
	if c.root, err = mount(ctx, mountAddr, export, cred); err != nil {
		return nil, err
	}
	var conn connection
	if carrier == listenTCP {
		conn, err = tcp.Dial(ctx, addr, nil)
	} else if c.dev, err = device(carrier); err == nil {
		conn, err = rdmaio.Dial(ctx, c.dev, addr, nil)
	}
	if err != nil {
		return nil, err
	}
	c.conn, c.nfs = conn, nfs3rpc.NewClient(conn, &rpc.ClientConfig{Cred: cred})
	for i, buf := range buffers(depth) {
		s := &c.slots[i]
		s.buf = buf
		if carrier == listenTCP {
			s.opt.ReplyBuf = make([]byte, maxSize+256)
		}
	}
	for name, h := range map[string]*nfs3.Handle{dataFile: &c.file, writeFile: &c.written, listDir: &c.dir} {
		if *h, err = c.find(ctx, name); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// mount returns the handle of an export.
func mount(ctx context.Context, addr, export string, cred oncrpc.OpaqueAuth) (nfs3.Handle, error) {
	conn, err := tcp.Dial(ctx, addr, nil)
	if err != nil {
		return nfs3.Handle{}, err
	}
	res, err := mount3rpc.NewClient(conn, &rpc.ClientConfig{Cred: cred}).Mount(ctx, mount3.DirPath(export))
	if err = errors.Join(err, conn.Close()); err != nil {
		return nfs3.Handle{}, err
	}
	if res.Status != mount3.StatusOK {
		return nfs3.Handle{}, fmt.Errorf("MOUNT %s: %v", export, res.Status)
	}
	return nfs3.Handle{Data: res.OK.Handle}, nil
}

// find returns the handle of a name in the export.
func (c *client) find(ctx context.Context, name string) (nfs3.Handle, error) {
	res, err := c.nfs.Lookup(ctx, &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: c.root, Name: nfs3.Filename(name)}})
	if err != nil {
		return nfs3.Handle{}, err
	}
	return res.OK.Object, check("LOOKUP "+name, res.Status)
}

func check(call string, status nfs3.Status) error {
	if status != nfs3.StatusOK {
		return fmt.Errorf("%s: %v", call, status)
	}
	return nil
}

func (c *client) getattr(i int) error {
	s := &c.slots[i]
	err := c.nfs.GetAttrInto(context.Background(), &nfs3.GetAttrArgs{Object: c.file}, &s.attr, nil)
	if err == nil && s.attr.OK.ObjAttributes.Size != dataSize {
		err = fmt.Errorf("GETATTR: found %v and a size of %d bytes, expected %d", s.attr.Status, s.attr.OK.ObjAttributes.Size, dataSize)
	}
	return err
}

func (c *client) lookup(i int) error {
	s := &c.slots[i]
	err := c.nfs.LookupInto(context.Background(), &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: c.root, Name: nfs3.Filename(dataFile)}}, &s.look, nil)
	return errors.Join(err, check("LOOKUP", s.look.Status))
}

func (c *client) read(i, size int) error {
	s := &c.slots[i]
	opt := s.opt
	if c.dev != nil {
		opt.Results = [][]byte{s.buf[:size]}
	}
	err := c.nfs.ReadInto(context.Background(), &nfs3.ReadArgs{File: c.file, Count: nfs3.Count(size)}, &s.read, &opt)
	if err == nil && len(s.read.OK.Data) != size {
		err = fmt.Errorf("READ: found %v and %d bytes, expected %d", s.read.Status, len(s.read.OK.Data), size)
	}
	return err
}

func (c *client) write(i, size int) error {
	args := nfs3.WriteArgs{File: c.written, Count: nfs3.Count(size), Stable: nfs3.StableHowUnstable, Data: c.slots[i].buf[:size]}
	res, err := c.nfs.Write(context.Background(), &args)
	if err == nil && int(res.OK.Count) != size {
		err = fmt.Errorf("WRITE: found %v and %d bytes, expected %d", res.Status, res.OK.Count, size)
	}
	return err
}

// list lists a directory, and returns the number of its entries.
func (c *client) list() (int, error) { return c.entries(func(int) error { return nil }) }

// entries lists a directory by READDIRPLUS. It calls f after each reply, and returns the number of
// entries.
func (c *client) entries(f func(n int) error) (n int, err error) {
	args := nfs3.ReadDirPlusArgs{Dir: c.dir, DirCount: maxCount, MaxCount: maxCount}
	var res nfs3.ReadDirPlusRes
	for {
		if err := c.nfs.ReadDirPlusInto(context.Background(), &args, &res, nil); err != nil {
			return n, err
		}
		if err := check("READDIRPLUS", res.Status); err != nil {
			return n, err
		}
		entries := res.OK.Reply.Entries
		n += len(entries)
		if err := f(n); err != nil || res.OK.Reply.EOF {
			return n, err
		}
		args.Cookie, args.CookieVerf = entries[len(entries)-1].Cookie, res.OK.CookieVerf
	}
}

// Close implements io.Closer.
func (c *client) Close() error {
	err := c.conn.Close()
	if c.dev != nil {
		err = errors.Join(err, c.dev.Close())
	}
	return err
}
