// Command readmany reads a file over NFS version 3 with 64 READs in flight on one TCP connection,
// and no goroutine for any of them: where a READ is answered, the next one is submitted.
//
//	go run ./nfs/examples/readmany 127.0.0.1:2049 /data report.pdf >copy.pdf
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

const (
	depth = 64       // READs in flight
	block = 64 << 10 // bytes of a READ
	other = 128      // bytes of its results without the data, at most
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: readmany HOST:PORT EXPORT NAME")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "readmany:", err)
		os.Exit(1)
	}
}

// run reads a file of an export, and writes it to out when it has all of it.
func run(ctx context.Context, addr, export, name string, out io.Writer) error {
	conn, err := tcp.Dial(ctx, addr, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	mount, err := mount3rpc.NewClient(conn, nil).Mount(ctx, mount3.DirPath(export))
	if err == nil && mount.Status != mount3.StatusOK {
		err = fmt.Errorf("MNT of %s: %v", export, mount.Status)
	}
	if err != nil {
		return err
	}
	nfs := nfs3rpc.NewClient(conn, nil)
	found, err := nfs.Lookup(ctx, &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: nfs3.Handle{Data: mount.OK.Handle}, Name: nfs3.Filename(name)}})
	if err == nil && found.Status != nfs3.StatusOK {
		err = fmt.Errorf("LOOKUP of %s: %v", name, found.Status)
	}
	if err != nil {
		return err
	}
	d := &download{ctx: ctx, nfs: nfs, file: found.OK.Object, data: make([]byte, found.OK.ObjAttributes.Attributes.Size), over: make(chan error, depth)}
	for range depth {
		r := &reader{download: d, opt: rpc.Options{ReplyBuf: make([]byte, rpc.ReplyHead+other+block)}}
		r.done = r.answered // bound once, so that submitting allocates nothing
		r.next()
	}
	for range depth {
		err = errors.Join(err, <-d.over)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(d.data)
	return err
}

// download has the state that all readers share.
type download struct {
	ctx  context.Context
	nfs  *nfs3rpc.Client
	file nfs3.Handle
	data []byte       // of the whole file
	at   atomic.Int64 // where no reader has begun
	over chan error   // gets the end of each reader
}

// reader has one READ in flight after the other. All that it holds belongs to the READ until done
// runs.
type reader struct {
	*download
	args nfs3.ReadArgs
	res  nfs3.ReadRes
	opt  rpc.Options
	rest []byte // of its block, not read so far
	done func(error)
}

// next begins the next block. After the last one the reader is over.
func (r *reader) next() {
	at := r.at.Add(block) - block
	if at >= int64(len(r.data)) {
		r.over <- nil
		return
	}
	r.rest = r.data[at:min(at+block, int64(len(r.data)))]
	r.args.File, r.args.Offset = r.file, nfs3.Offset(at)
	r.read()
}

// read submits a READ for the bytes that the block lacks.
func (r *reader) read() {
	r.args.Count = nfs3.Count(len(r.rest))
	if err := r.nfs.ReadSubmit(r.ctx, &r.args, &r.res, &r.opt, r.done); err != nil {
		r.over <- err
	}
}

// answered takes the answer of a READ, which may have less than it was asked for.
func (r *reader) answered(err error) {
	switch got := len(r.res.OK.Data); {
	case err != nil:
		r.over <- err
	case r.res.Status != nfs3.StatusOK:
		r.over <- fmt.Errorf("READ at byte %d: %v", r.args.Offset, r.res.Status)
	case got == 0 || got > len(r.rest):
		r.over <- fmt.Errorf("READ at byte %d has %d bytes, expected up to %d", r.args.Offset, got, len(r.rest))
	default:
		copy(r.rest, r.res.OK.Data)
		if r.rest = r.rest[got:]; len(r.rest) > 0 {
			r.args.Offset += nfs3.Offset(got)
			r.read()
			return
		}
		r.next()
	}
}
