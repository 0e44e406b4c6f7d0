package peers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

const mib = 1 << 20

// peer makes the calls of an operation, and returns their time and the client's processor time.
type peer interface {
	run(op Op, count int, serial int64) (took, cpu time.Duration, err error)
	io.Closer
}

// ours is package nfs/client.
type ours struct {
	c    *client.Client
	conn *tcp.Client
	raw  *nfs3rpc.Client
	file nfs3.Handle
	data *client.File
	to   *client.File
	buf  []byte
}

// dialOurs mounts a directory.
func dialOurs(ctx context.Context, s *server, dir string) (_ *ours, err error) {
	user := oncrpc.AuthSysParms{MachineName: []byte("bench")}
	cred, err := user.Auth()
	if err != nil {
		return nil, err
	}
	at, err := tcp.Dial(ctx, "127.0.0.1:"+s.mountPort, nil)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	m, err := mount3rpc.NewClient(at, &rpc.ClientConfig{Cred: cred}).Mount(ctx, mount3.DirPath(dir))
	if err != nil {
		return nil, err
	}
	if m.Status != mount3.StatusOK {
		return nil, fmt.Errorf("MOUNT %s: %v", dir, m.Status)
	}
	root := nfs3.Handle{Data: bytes.Clone(m.OK.Handle)}
	p := &ours{buf: make([]byte, 8*mib)}
	if p.conn, err = tcp.NewClient("127.0.0.1:"+s.port, nil); err != nil {
		return nil, err
	}
	p.raw = nfs3rpc.NewClient(p.conn, &rpc.ClientConfig{Cred: cred})
	if p.c, err = client.New(ctx, p.conn, root, &client.Config{Cred: &user}); err != nil {
		return nil, err
	}
	look, err := p.raw.Lookup(ctx, &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: root, Name: nfs3.Filename("data")}})
	if err != nil {
		return nil, err
	}
	p.file = look.OK.Object
	if p.data, err = p.c.Open(ctx, "data"); err != nil {
		return nil, err
	}
	p.to, err = p.c.Open(ctx, "written")
	return p, err
}

func (p *ours) run(op Op, count int, serial int64) (took, cpu time.Duration, err error) {
	used, begin := process.Own().CPU, time.Now()
	err = p.calls(op, count, serial)
	took = time.Since(begin)
	return took, time.Duration(process.Own().CPU - used), err
}

func (p *ours) calls(op Op, count int, serial int64) error {
	ctx := context.Background()
	each := func(f func(name string) error) error {
		for i := range count {
			if err := f(fmt.Sprintf("made/%d-%d", serial, i)); err != nil {
				return err
			}
		}
		return nil
	}
	switch op.Name {
	case "getattr":
		return atATime(count, op.Depth, func() error {
			var res nfs3.GetAttrRes
			return p.raw.GetAttrInto(ctx, &nfs3.GetAttrArgs{Object: p.file}, &res, nil)
		})
	case "read", "write":
		for n := 0; n < count; n += op.Depth {
			buf := p.buf[:op.Depth*mib]
			var err error
			if op.Name == "read" {
				_, err = p.data.ReadAt(buf, 0)
			} else {
				_, err = p.to.WriteAt(buf, 0)
			}
			if err != nil {
				return err
			}
		}
		return p.to.Sync()
	case "create":
		return each(func(name string) error {
			f, err := p.c.Create(ctx, name, 0o644)
			if err != nil {
				return err
			}
			return f.Close()
		})
	case "copy":
		return each(func(name string) error {
			f, err := p.c.Create(ctx, name, 0o644)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(p.buf[:1024], 0)
			return errors.Join(err, f.Close())
		})
	case "remove":
		return each(func(name string) error { return p.c.Remove(ctx, name) })
	}
	for range count {
		n := 0
		for _, err := range p.c.ReadDir(ctx, op.Name) {
			if err != nil {
				return err
			}
			n++
		}
		if n != op.Size {
			return fmt.Errorf("listed %d entries, expected %d", n, op.Size)
		}
	}
	return nil
}

// atATime makes count calls, depth at a time.
func atATime(count, depth int, call func() error) error {
	var left atomic.Int64
	left.Store(int64(count))
	errs := make([]error, depth)
	var wg sync.WaitGroup
	for i := range depth {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				errs[i] = call()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close implements io.Closer.
func (p *ours) Close() error { return errors.Join(p.data.Close(), p.to.Close(), p.conn.Close()) }

// libnfs is the C program.
type libnfs struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// dialLibnfs mounts a directory.
func dialLibnfs(program string, s *server, dir string) (*libnfs, error) {
	url := fmt.Sprintf("nfs://127.0.0.1%s?nfsport=%s&mountport=%s&uid=0&gid=0&dircache=0", dir, s.port, s.mountPort)
	l := &libnfs{cmd: exec.Command(program, url)}
	var stderr strings.Builder
	l.cmd.Stderr = &stderr
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	l.lines = bufio.NewScanner(out)
	if !l.lines.Scan() {
		return nil, errors.Join(l.Close(), errors.New(stderr.String()))
	}
	return l, nil
}

func (l *libnfs) run(op Op, count int, serial int64) (took, cpu time.Duration, err error) {
	if _, err := fmt.Fprintln(l.in, op.Name, count, op.Depth, serial); err != nil {
		return 0, 0, err
	}
	if !l.lines.Scan() {
		return 0, 0, fmt.Errorf("%v: libnfs ended", op)
	}
	wall, used, _ := strings.Cut(l.lines.Text(), " ")
	w, err := strconv.ParseInt(wall, 10, 64)
	u, err2 := strconv.ParseInt(used, 10, 64)
	return time.Duration(w), time.Duration(u), errors.Join(err, err2)
}

// Close implements io.Closer.
func (l *libnfs) Close() error {
	l.in.Close()
	return l.cmd.Wait()
}
