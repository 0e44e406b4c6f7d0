package nfsd

import (
	"encoding/binary"
	"path"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Sizes on the wire, in bytes.
const (
	// listHead is the size of READDIR3resok and READDIRPLUS3resok without entries: attributes,
	// cookie verifier, the end of the list and eof.
	listHead = 4 + nfs3.AttrFixedSize + nfs3.CookieVerfSize + 4 + 4
	// entryHead is the size of an entry without its name: mark, fileid, length of the name, cookie.
	entryHead = 4 + 8 + 4 + 8
	// plusMost is the size of attributes and handle.
	plusMost = 4 + nfs3.AttrFixedSize + 4 + 4 + handleSize
	maxList  = 1 << 20 // of a listing
)

// nameSize returns the size of a name with its padding.
func nameSize(name string) int { return (len(name) + 3) &^ 3 }

// ReadDir implements nfs3rpc.Server.
func (s *Server) ReadDir(r *rpc.Request, args *nfs3.ReadDirArgs, res *nfs3.ReadDirRes) error {
	room := listRoom(r, args.Count) - listHead
	dir, verf, eof, refused, err := s.list(r, &args.Dir, args.Cookie, args.CookieVerf, func(_ *caller, _ object, name string, ino, next uint64) bool {
		if room -= entryHead + nameSize(name); room < 0 {
			return false
		}
		res.OK.Reply.Entries = append(res.OK.Reply.Entries, nfs3.Entry{FileID: nfs3.FileID(ino), Name: nfs3.Filename(name), Cookie: nfs3.Cookie(next)})
		return true
	})
	if err == nil && len(res.OK.Reply.Entries) == 0 && !eof {
		err = failed(nfs3.StatusToosmall)
	}
	res.Status, res.Fail.DirAttributes = status(err), dir
	res.OK.DirAttributes, res.OK.CookieVerf, res.OK.Reply.EOF = dir, verf, eof
	return refused
}

// ReadDirPlus implements nfs3rpc.Server.
func (s *Server) ReadDirPlus(r *rpc.Request, args *nfs3.ReadDirPlusArgs, res *nfs3.ReadDirPlusRes) error {
	// RFC 1813 §3.3.17: maxcount is for all, dircount for the entries without attributes and
	// handles.
	room, names := listRoom(r, args.MaxCount)-listHead, int64(args.DirCount)
	dir, verf, eof, refused, err := s.list(r, &args.Dir, args.Cookie, args.CookieVerf, func(c *caller, dir object, name string, ino, next uint64) bool {
		size := entryHead + nameSize(name)
		first := len(res.OK.Reply.Entries) == 0
		room, names = room-size-plusMost, names-int64(size)
		if room < 0 || names < 0 && !first {
			return false
		}
		e := nfs3.EntryPlus{FileID: nfs3.FileID(ino), Name: nfs3.Filename(name), Cookie: nfs3.Cookie(next)}
		s.plus(c, dir, name, &e)
		res.OK.Reply.Entries = append(res.OK.Reply.Entries, e)
		return true
	})
	if err == nil && len(res.OK.Reply.Entries) == 0 && !eof {
		err = failed(nfs3.StatusToosmall)
	}
	res.Status, res.Fail.DirAttributes = status(err), dir
	res.OK.DirAttributes, res.OK.CookieVerf, res.OK.Reply.EOF = dir, verf, eof
	return refused
}

// plus adds the attributes and the handle of an entry, if the caller may look it up: otherwise a
// listing would give access to files that LOOKUP refuses. ".." gets neither, nor does an entry that
// was removed during the call. "." always gets both, because the caller has this handle already:
// go-nfs-client repeats the listing until it gets them.
func (s *Server) plus(c *caller, dir object, name string, e *nfs3.EntryPlus) {
	o, h, err := dir, nfs3.Handle{}, error(nil)
	switch name {
	case "..":
		return
	case ".":
		h = s.table.seal(dir.ino(), s.table.generation(dir.ino()))
	default:
		if err = c.need(&dir.attr, mayExecute); err != nil {
			return
		}
		if o, err = s.child(dir, name); err == nil {
			h, err = s.handle(dir, o, name)
		}
	}
	if err != nil {
		return
	}
	e.FileID, e.NameAttributes = o.attr.FileID, o.after()
	e.NameHandle = nfs3.PostOpHandle{HandleFollows: true, Handle: h}
}

// listRoom returns the size of the listing that the caller asks for and can receive. Over RDMA the
// latter is the memory that the client offers.
func listRoom(r *rpc.Request, count nfs3.Count) int {
	_, reply := r.Room()
	return int(min(uint64(count), maxList, uint64(max(reply-rpc.ReplyHead-4, 0))))
}

// list calls f with a directory's entries after a cookie, until f returns false. The cookie
// verifier is a MAC of the directory, so that cookies from other directories are refused; a strict
// server includes the time of the last change.
func (s *Server) list(r *rpc.Request, h *nfs3.Handle, cookie nfs3.Cookie, verf nfs3.CookieVerf, f func(c *caller, dir object, name string, ino, next uint64) bool) (attr nfs3.PostOpAttr, now nfs3.CookieVerf, eof bool, refused, err error) {
	c, refused := s.caller(r)
	if refused != nil {
		return attr, now, false, refused, nil
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	dir, err := s.directory(h)
	if err != nil {
		return attr, now, false, nil, err
	}
	attr, now = dir.after(), s.cookieVerf(dir)
	if err := c.need(&dir.attr, mayRead); err != nil {
		return attr, now, false, nil, err
	}
	if cookie != 0 && verf != now {
		return attr, now, false, nil, failed(nfs3.StatusBadCookie)
	}
	d, err := s.root.Open(dir.path)
	if err != nil {
		return attr, now, false, nil, err
	}
	if err := s.same(d, dir); err != nil {
		return attr, now, false, nil, err
	}
	defer d.Close()
	eof, err = readDir(d, uint64(cookie), func(name string, ino, next uint64) bool {
		switch {
		case name == "." || name == ".." && dir.path == ".":
			ino = dir.ino() // the client sees nothing above the export
		case ino == 0: // the system's listing has no numbers
			if st, err := s.lstat(path.Join(dir.path, name)); err == nil {
				ino = st.ino()
			}
		}
		return f(c, dir, name, ino, next)
	})
	return attr, now, eof, nil, err
}

// cookieVerf returns the verifier of a directory's cookies.
func (s *Server) cookieVerf(dir object) (verf nfs3.CookieVerf) {
	text := binary.BigEndian.AppendUint64([]byte("cookies"), dir.ino())
	if s.cfg.StrictCookies {
		text = binary.BigEndian.AppendUint32(text, dir.attr.Mtime.Seconds)
		text = binary.BigEndian.AppendUint32(text, dir.attr.Mtime.Nseconds)
	}
	mac := s.table.mac(text)
	copy(verf[:], mac[:])
	return verf
}
