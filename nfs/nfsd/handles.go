package nfsd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"path"
	"time"

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
	mac := t.mac(b)
	return nfs3.Handle{Data: append(b, mac[:]...)}
}

// open returns the parts of a handle that seal made.
func (t *table) open(handle []byte) (ino, gen uint64, ok bool) {
	if len(handle) != handleSize || string(handle[:len(handleMark)]) != handleMark {
		return 0, 0, false
	}
	body, mac := handle[:handleBody], handle[handleBody:]
	if want := t.mac(body); !hmac.Equal(mac, want[:]) {
		return 0, 0, false
	}
	body = body[len(handleMark):]
	return binary.BigEndian.Uint64(body), binary.BigEndian.Uint64(body[8:]), true
}

// keyed computes MACs with the key of a table.
type keyed struct {
	hash.Hash
	sum [sha256.Size]byte
}

// mac returns the first half of a text's MAC.
func (t *table) mac(text []byte) (mac [handleSize - handleBody]byte) {
	h, ok := t.macs.Get().(*keyed)
	if !ok {
		h = &keyed{Hash: hmac.New(sha256.New, t.key)}
	}
	defer t.macs.Put(h)
	h.Reset()
	h.Write(text)
	copy(mac[:], h.Sum(h.sum[:0]))
	return mac
}

// object finds the object of a handle. The caller holds s.tree.
func (s *Server) object(h *nfs3.Handle) (object, error) {
	ino, gen, ok := s.table.open(h.Data)
	if !ok {
		return object{}, failed(nfs3.StatusBadhandle) // RFC 1813 §2.6: not a handle of this server
	}
	paths, confirmed := s.table.paths(ino, gen)
	for _, path := range paths {
		st, err := s.lstat(path)
		switch {
		case gone(err):
			continue
		case err != nil:
			return object{}, err
		}
		same := confirmed != nfs3.Time{} && confirmed == st.attr.Ctime
		if st.dev == s.dev && st.ino() == ino && (same || s.confirm(path, gen, &st)) {
			return object{path, st}, nil
		}
	}
	return object{}, failed(nfs3.StatusStale)
}

// confirm reports whether a file has a generation, and notes the time of the file's last change if
// that is in the past. A later file with the inode number has a later time, so a file with the time
// noted is the same one, and needs no further system call.
func (s *Server) confirm(path string, gen uint64, st *stat) bool {
	now := s.generation(path)
	if now != 0 && now != gen {
		return false
	}
	if settled(st.attr.Ctime, time.Now()) {
		s.table.confirm(st.ino(), gen, st.attr.Ctime)
	}
	return true
}

// settled reports whether a change is so long ago that a later one has a later time, although file
// systems count in ticks of milliseconds, some in seconds.
func settled(change nfs3.Time, now time.Time) bool { return int64(change.Seconds)+1 < now.Unix() }

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

// child finds an object in a directory. If no object has that name, the error has the status
// NFS3ERR_NOENT.
func (s *Server) child(dir object, name string) (object, error) {
	p := path.Join(dir.path, name)
	st, err := s.lstat(p)
	if err == nil && st.dev != s.dev {
		err = failed(nfs3.StatusAcces) // another file system is mounted there
	}
	return object{p, st}, err
}

// handle returns the handle of o, which has a name in dir.
func (s *Server) handle(dir, o object, name string) (nfs3.Handle, error) {
	links := o.attr.Type != nfs3.FileTypeDir && o.attr.Nlink > 1
	gen, err := s.table.add(o.ino(), s.generation(o.path), links, dir.ino(), name)
	return s.table.seal(o.ino(), gen), err
}
