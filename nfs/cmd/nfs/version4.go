package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
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
	return version4{ctx, c}, name, nil
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

// version4 is a server by NFS version 4.1 or 4.2.
type version4 struct {
	ctx context.Context
	c   *client4.Client
}

func (r version4) stat(name string) (fs.FileInfo, error) { return info4(r.c.Stat(r.ctx, name)) }
func (r version4) readLink(name string) (string, error)  { return r.c.ReadLink(r.ctx, name) }
func (r version4) mkdir(name string) error               { return r.c.Mkdir(r.ctx, name, 0o700) }
func (r version4) chmod(name string, perm fs.FileMode) error {
	return r.c.SetAttr(r.ctx, name, client4.SetMode(perm))
}
func (r version4) symlink(target, name string) error { return r.c.Symlink(r.ctx, target, name) }
func (r version4) remove(name string) error          { return r.c.Remove(r.ctx, name) }
func (r version4) rename(from, to string) error      { return r.c.Rename(r.ctx, from, to) }
func (r version4) Close() error                      { return r.c.Close() }

func (r version4) open(name string) (source, error) {
	f, err := r.c.Open(r.ctx, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r version4) create(name string) (sink, error) {
	f, err := r.c.OpenFile(r.ctx, name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// info4 returns a description as an interface, nil with an error.
func info4(i *client4.Info, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (r version4) list(name string) iter.Seq2[fs.FileInfo, error] {
	return func(yield func(fs.FileInfo, error) bool) {
		for i, err := range r.c.ReadDir(r.ctx, name) {
			if !yield(info4(i, err)) {
				return
			}
		}
	}
}

func (r version4) readFile(name string) ([]byte, error) {
	f, err := r.c.Open(r.ctx, name)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, maxNote+1)
	n, err := f.ReadAt(buf, 0)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], errors.Join(err, f.Close())
}

func (r version4) writeFile(name string, data []byte) error {
	f, err := r.c.Create(r.ctx, name, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

func (r version4) setAttr(name string, info fs.FileInfo) error {
	attr := client4.SetTimes(info.ModTime(), info.ModTime())
	mode := client4.SetMode(info.Mode().Perm())
	attr.Mode, attr.Mask = mode.Mode, append(attr.Mask, make([]uint32, max(0, len(mode.Mask)-len(attr.Mask)))...)
	for i, word := range mode.Mask {
		attr.Mask[i] |= word
	}
	return r.c.SetAttr(r.ctx, name, attr)
}

// setLinkTime sets the time of a link, unless the server does not do that.
func (r version4) setLinkTime(name string, at time.Time) error {
	err := r.c.SetAttr(r.ctx, name, client4.SetTimes(at, at))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		return nil
	}
	return err
}
