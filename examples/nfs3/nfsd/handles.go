package nfsd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"path"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// A handle has the mark, the inode number, the generation and a MAC of these.
const (
	handleMark = "nfs\x01"
	handleBody = len(handleMark) + 16
	handleSize = handleBody + 16
)

// object is a file, directory or other thing that a handle names, as found at the begin of a call.
type object struct {
	path string // from the export
	stat
}

// seal returns the handle of a file.
func (t *table) seal(ino, gen uint64) nfs3.Handle {
	b := append(make([]byte, 0, handleSize), handleMark...)
	b = binary.BigEndian.AppendUint64(b, ino)
	b = binary.BigEndian.AppendUint64(b, gen)
	return nfs3.Handle{Data: append(b, t.mac(b)...)}
}

// open returns the parts of a handle that seal made.
func (t *table) open(handle []byte) (ino, gen uint64, ok bool) {
	if len(handle) != handleSize || string(handle[:len(handleMark)]) != handleMark {
		return 0, 0, false
	}
	body, mac := handle[:handleBody], handle[handleBody:]
	if !hmac.Equal(mac, t.mac(body)) {
		return 0, 0, false
	}
	body = body[len(handleMark):]
	return binary.BigEndian.Uint64(body), binary.BigEndian.Uint64(body[8:]), true
}

// mac returns the first half of the MAC of a text.
func (t *table) mac(text []byte) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write(text)
	return h.Sum(nil)[:handleSize-handleBody]
}

// object finds the object of a handle. The caller holds s.tree.
func (s *Server) object(h *nfs3.Handle) (object, error) {
	ino, gen, ok := s.table.open(h.Data)
	if !ok {
		return object{}, failed(nfs3.StatusBadhandle) // RFC 1813 §2.6: not a handle of this server
	}
	for _, path := range s.table.paths(ino, gen) {
		st, err := s.lstat(path)
		switch {
		case gone(err):
			continue
		case err != nil:
			return object{}, err
		}
		if now := s.generation(path); st.dev == s.dev && st.ino() == ino && (now == 0 || now == gen) {
			return object{path, st}, nil
		}
	}
	return object{}, failed(nfs3.StatusStale)
}

// refresh gets the attributes of an object again, with the lock of its inode held: another call may
// have changed them before.
func (s *Server) refresh(o *object) error {
	st, err := s.lstat(o.path)
	if err == nil && (st.ino() != o.ino() || st.dev != o.dev) {
		err = failed(nfs3.StatusStale)
	}
	o.stat = st
	return err
}

// directory finds the directory of a handle.
func (s *Server) directory(h *nfs3.Handle) (object, error) {
	o, err := s.object(h)
	if err == nil && o.attr.Type != nfs3.FileTypeDir {
		err = failed(nfs3.StatusNotdir)
	}
	return o, err
}

// child finds an object in a directory. If the directory has none of that name, the error has the
// status NFS3ERR_NOENT.
func (s *Server) child(dir object, name string) (object, error) {
	p := path.Join(dir.path, name)
	st, err := s.lstat(p)
	if err == nil && st.dev != s.dev {
		err = failed(nfs3.StatusAcces) // another file system is mounted there
	}
	return object{p, st}, err
}

// handle returns the handle of a child of dir.
func (s *Server) handle(dir, o object, name string) (nfs3.Handle, error) {
	links := o.attr.Type != nfs3.FileTypeDir && o.attr.Nlink > 1
	gen, err := s.table.add(o.ino(), s.generation(o.path), links, dir.ino(), name)
	return s.table.seal(o.ino(), gen), err
}
