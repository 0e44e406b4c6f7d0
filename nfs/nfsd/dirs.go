package nfsd

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
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
	dir, verf, eof, refused, err := s.list(r, &args.Dir, args.Cookie, args.CookieVerf, func(_ *caller, _ object, e vfs.Entry) bool {
		if room -= entryHead + nameSize(e.Name); room < 0 {
			return false
		}
		res.OK.Reply.Entries = append(res.OK.Reply.Entries, nfs3.Entry{FileID: nfs3.FileID(e.Ino), Name: nfs3.Filename(e.Name), Cookie: nfs3.Cookie(e.Cookie)})
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
	dir, verf, eof, refused, err := s.list(r, &args.Dir, args.Cookie, args.CookieVerf, func(c *caller, dir object, entry vfs.Entry) bool {
		size := entryHead + nameSize(entry.Name)
		first := len(res.OK.Reply.Entries) == 0
		room, names = room-size-plusMost, names-int64(size)
		if room < 0 || names < 0 && !first {
			return false
		}
		e := nfs3.EntryPlus{FileID: nfs3.FileID(entry.Ino), Name: nfs3.Filename(entry.Name), Cookie: nfs3.Cookie(entry.Cookie)}
		s.tree.plus(c, dir, entry.Name, &e)
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
func (t *tree) plus(c *caller, dir object, name string, e *nfs3.EntryPlus) {
	o := dir
	switch name {
	case "..":
		return
	case ".":
	default:
		err := c.need(&dir.attr, mayExecute)
		if err == nil {
			o, err = dir.child(name)
		}
		if err != nil {
			return
		}
	}
	h, err := t.handle(o)
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
func (s *Server) list(r *rpc.Request, h *nfs3.Handle, cookie nfs3.Cookie, verf nfs3.CookieVerf, f func(c *caller, dir object, e vfs.Entry) bool) (attr nfs3.PostOpAttr, now nfs3.CookieVerf, eof bool, refused, err error) {
	c, refused := s.users.caller(r)
	if refused != nil {
		return attr, now, false, refused, nil
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	dir, err := s.tree.directory(h)
	if err != nil {
		return attr, now, false, nil, err
	}
	attr, now = dir.after(), s.tree.cookieVerf(dir, s.cfg.StrictCookies)
	if err := c.need(&dir.attr, mayRead); err != nil {
		return attr, now, false, nil, err
	}
	if cookie != 0 && verf != now {
		return attr, now, false, nil, failed(nfs3.StatusBadCookie)
	}
	eof, err = dir.node.ReadDir(uint64(cookie), func(e vfs.Entry) bool { return f(c, dir, e) })
	return attr, now, eof, nil, err
}

// cookieVerf returns the verifier of a directory's cookies.
func (t *tree) cookieVerf(dir object, strict bool) (verf nfs3.CookieVerf) {
	text := binary.BigEndian.AppendUint64([]byte("cookies"), dir.ino())
	if strict {
		text = binary.BigEndian.AppendUint32(text, dir.attr.Mtime.Seconds)
		text = binary.BigEndian.AppendUint32(text, dir.attr.Mtime.Nseconds)
	}
	mac := t.handles.mac(text)
	copy(verf[:], mac[:])
	return verf
}
