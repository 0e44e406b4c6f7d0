package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// restarts is the number of times that a listing begins again because the directory changed.
const restarts = 8

// ReadDir lists a directory, in the order of the server and without . and .. entries. It holds the
// entries of one reply at a time. The sequence ends after the first error.
//
// If the server refuses to continue because the directory changed (NFS3ERR_BAD_COOKIE), ReadDir
// begins again, and skips the entries up to the last one that it has listed. If that entry was
// removed, the listing fails and can be repeated.
func (c *Client) ReadDir(ctx context.Context, name string) iter.Seq2[*Info, error] {
	return func(yield func(*Info, error) bool) {
		l := listing{c: c, name: name}
		if err := l.run(ctx, func(i *Info) bool { return yield(i, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// listing is the state of one ReadDir.
type listing struct {
	c      *Client
	name   string
	args   nfs3.ReadDirPlusArgs
	begun  int    // times that the listing began
	last   string // the entry listed last
	skip   bool   // up to last
	count  int
	loop   nfs3.Cookie // a cookie seen before: Brent's algorithm finds a loop with one of them
	steps  int
	length int
}

func (l *listing) run(ctx context.Context, yield func(*Info) bool) error {
	dir, err := l.c.walk(ctx, l.name)
	if err != nil {
		return err
	}
	l.restart(dir.handle)
	for {
		res, err := l.page(ctx)
		if refused(err, nfs3.StatusBadCookie) {
			if l.begun > restarts {
				return fmt.Errorf("%w: the directory changed %d times while it was listed: list it again", err, restarts)
			}
			l.restart(dir.handle)
			continue
		}
		if err != nil {
			return err
		}
		for i := range res.Reply.Entries {
			e := &res.Reply.Entries[i]
			if err := l.progress(e.Cookie); err != nil {
				return err
			}
			if name := string(e.Name); name == "." || name == ".." {
				continue
			} else if l.skip {
				l.skip = name != l.last
				continue
			}
			info, err := l.entry(ctx, dir.handle, e)
			if errors.Is(err, errGone) {
				continue
			}
			if err != nil || !yield(info) {
				return err
			}
			l.last = info.name
		}
		switch {
		case res.Reply.EOF && l.skip:
			return fmt.Errorf("READDIRPLUS %q: the directory changed while it was listed, and the entry %q is gone: list it again", l.name, l.last)
		case res.Reply.EOF:
			return nil
		case len(res.Reply.Entries) == 0:
			return l.broken("the reply has no entry and is not the last, expected at least one entry (RFC 1813 §3.3.17)")
		}
		l.args.Cookie, l.args.CookieVerf = res.Reply.Entries[len(res.Reply.Entries)-1].Cookie, res.CookieVerf
	}
}

func (l *listing) restart(dir nfs3.Handle) {
	size := nfs3.Count(l.c.dirs)
	l.args = nfs3.ReadDirPlusArgs{Dir: dir, DirCount: size, MaxCount: size}
	l.begun++
	l.skip = l.last != ""
	l.count, l.loop, l.steps, l.length = 0, 0, 0, 1
}

func (l *listing) broken(rule string) error {
	return &ProtocolError{Op: "READDIRPLUS", Name: l.name, Rule: rule}
}

// page makes a call. A server without READDIRPLUS is asked by READDIR, and the attributes come by
// LOOKUP. The Client asks it for READDIRPLUS once.
func (l *listing) page(ctx context.Context) (*nfs3.ReadDirPlusResOK, error) {
	if !l.c.noPlus.Load() {
		var res nfs3.ReadDirPlusRes
		err := l.c.do(ctx, "READDIRPLUS", l.name, &res.Status, func() error { return l.c.nfs.ReadDirPlusInto(ctx, &l.args, &res, nil) })
		if !unsupported(err) {
			return &res.OK, err
		}
		l.c.noPlus.Store(true)
	}
	args := nfs3.ReadDirArgs{Dir: l.args.Dir, Cookie: l.args.Cookie, CookieVerf: l.args.CookieVerf, Count: l.args.DirCount}
	var res nfs3.ReadDirRes
	err := l.c.do(ctx, "READDIR", l.name, &res.Status, func() error { return l.c.nfs.ReadDirInto(ctx, &args, &res, nil) })
	ok := &nfs3.ReadDirPlusResOK{CookieVerf: res.OK.CookieVerf}
	ok.Reply.EOF = res.OK.Reply.EOF
	for _, e := range res.OK.Reply.Entries {
		ok.Reply.Entries = append(ok.Reply.Entries, nfs3.EntryPlus{FileID: e.FileID, Name: e.Name, Cookie: e.Cookie})
	}
	return ok, err
}

// progress counts an entry, and finds cookies that come back.
func (l *listing) progress(cookie nfs3.Cookie) error {
	if l.count++; l.c.cfg.MaxEntries > 0 && l.count > l.c.cfg.MaxEntries {
		return l.broken(fmt.Sprintf("the directory has more than %d entries, the limit Config.MaxEntries", l.c.cfg.MaxEntries))
	}
	if cookie == l.loop || cookie == 0 {
		return l.broken(fmt.Sprintf("cookie %d came twice, expected one for each entry (RFC 1813 §3.3.17)", cookie))
	}
	if l.steps++; l.steps == l.length {
		l.loop, l.steps, l.length = cookie, 0, 2*l.length
	}
	return nil
}

// errGone means that an entry was removed after the server listed it.
var errGone = errors.New("removed while it was listed")

// entry checks an entry, and fetches the attributes that did not come with it.
func (l *listing) entry(ctx context.Context, dir nfs3.Handle, e *nfs3.EntryPlus) (*Info, error) {
	name := string(e.Name)
	if err := element(name); err != nil {
		return nil, fmt.Errorf("READDIRPLUS %q: the server listed an %w", l.name, err)
	}
	if e.NameAttributes.AttributesFollow {
		return &Info{name: name, Attr: e.NameAttributes.Attributes}, nil
	}
	whole := path.Join(l.name, name)
	n, err := l.c.lookup(ctx, dir, name, whole)
	if err != nil {
		if refused(err, nfs3.StatusNoent) {
			return nil, errGone
		}
		return nil, err
	}
	return l.c.stat(ctx, n, whole)
}
