package nfsd

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// Sizes that FSINFO and PATHCONF report.
const (
	maxData  = 1 << 20 // bytes of a READ or WRITE
	maxFile  = 1 << 30
	maxName  = 255
	maxPath  = 4096
	rootID   = 2
	fsID     = 0x6e667364
	handleOf = "nfsd" // with which handles begin
)

// Server is a server with one directory, the root. It is safe for concurrent use.
type Server struct {
	mu    sync.Mutex
	verf  nfs3.WriteVerf
	last  nfs3.FileID
	nodes map[nfs3.FileID]*node
	names map[string]*node
	root  *node
	calls map[string]int // by procedure or operation
}

// node is the root, a file or a symbolic link.
type node struct {
	id         nfs3.FileID
	attr       nfs3.Attr // without size and use, which follow from data
	data       []byte    // of a file, or the path of a link
	name       string
	createVerf *nfs3.CreateVerf
}

// New returns a Server with an empty root.
func New() *Server {
	s := &Server{nodes: map[nfs3.FileID]*node{}, names: map[string]*node{}, calls: map[string]int{}, last: rootID - 1}
	binary.BigEndian.PutUint64(s.verf[:], uint64(time.Now().UnixNano()))
	s.root = s.add("", nfs3.FileTypeDir, 0o755)
	return s
}

// Restart loses nothing but the verifier of writes, as if the server had stored them all before it
// was restarted.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verf[0]++
}

// Calls returns the number of calls of an NFS version 3 procedure, such as "GETATTR", or of an
// NFS version 4 operation, such as "EXCHANGE_ID", that the server has executed.
func (s *Server) Calls(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[name]
}

// Root returns the handle of the root, which MNT of any path returns.
func (s *Server) Root() nfs3.Handle { return s.root.handle() }

// add creates an object in the root.
func (s *Server) add(name string, kind nfs3.FileType, mode nfs3.Mode) *node {
	s.last++
	n := &node{id: s.last, name: name}
	n.attr = nfs3.Attr{Type: kind, Mode: mode, Nlink: 1, FSID: fsID, FileID: n.id}
	n.touch()
	s.nodes[n.id] = n
	if kind != nfs3.FileTypeDir {
		s.names[name] = n
		s.root.touch()
	}
	return n
}

// touch sets the times of a change.
func (n *node) touch() {
	now := time.Now()
	t := nfs3.Time{Seconds: uint32(now.Unix()), Nseconds: uint32(now.Nanosecond())}
	n.attr.Mtime, n.attr.Ctime = t, t
}

func (n *node) handle() nfs3.Handle {
	return nfs3.Handle{Data: binary.BigEndian.AppendUint64([]byte(handleOf), uint64(n.id))}
}

// find returns the object of a handle.
func (s *Server) find(h *nfs3.Handle) (*node, nfs3.Status) {
	if len(h.Data) != len(handleOf)+8 || string(h.Data[:len(handleOf)]) != handleOf {
		return nil, nfs3.StatusBadhandle
	}
	n := s.nodes[nfs3.FileID(binary.BigEndian.Uint64(h.Data[len(handleOf):]))]
	if n == nil {
		return nil, nfs3.StatusStale
	}
	return n, nfs3.StatusOK
}

// file returns the file of a handle.
func (s *Server) file(h *nfs3.Handle) (*node, nfs3.Status) {
	n, status := s.find(h)
	switch {
	case status != nfs3.StatusOK:
	case n.attr.Type == nfs3.FileTypeDir:
		status = nfs3.StatusIsdir
	case n.attr.Type != nfs3.FileTypeReg:
		status = nfs3.StatusInval
	}
	return n, status
}

// lookup returns the object of a name. It is nil if the root has no such name.
func (s *Server) lookup(w *nfs3.DirOpArgs) (*node, nfs3.Status) {
	dir, status := s.find(&w.Dir)
	switch {
	case status != nfs3.StatusOK:
		return nil, status
	case dir != s.root:
		return nil, nfs3.StatusNotdir
	case len(w.Name) > maxName:
		return nil, nfs3.StatusNametoolong
	case string(w.Name) == "." || string(w.Name) == "..":
		return s.root, nfs3.StatusOK
	}
	return s.names[string(w.Name)], nfs3.StatusOK
}

// attributes returns the attributes of an object.
func (n *node) attributes() nfs3.Attr {
	a := n.attr
	a.Size = nfs3.Size(len(n.data))
	a.Used = a.Size
	return a
}

func (n *node) after() nfs3.PostOpAttr {
	return nfs3.PostOpAttr{AttributesFollow: true, Attributes: n.attributes()}
}

func (n *node) changed() nfs3.WccData { return nfs3.WccData{After: n.after()} }

// set changes attributes. The times are those of the change.
func (n *node) set(a *nfs3.SetAttr) nfs3.Status {
	if a.Size.SetIt {
		if a.Size.Size > maxFile {
			return nfs3.StatusFbig
		}
		n.resize(int(a.Size.Size))
	}
	if a.Mode.SetIt {
		n.attr.Mode = a.Mode.Mode
	}
	if a.UID.SetIt {
		n.attr.UID = a.UID.UID
	}
	if a.GID.SetIt {
		n.attr.GID = a.GID.GID
	}
	n.touch()
	return nfs3.StatusOK
}

// resize sets the length of a file. New bytes are zero.
func (n *node) resize(size int) {
	if old := len(n.data); size > old {
		n.data = slices.Grow(n.data, size-old)[:size]
		clear(n.data[old:])
	}
	n.data = n.data[:size]
}

// list returns the entries of the root with their cookies, in their order.
func (s *Server) list() []nfs3.Entry {
	all := []nfs3.Entry{
		{FileID: s.root.id, Name: nfs3.Filename("."), Cookie: 1},
		{FileID: s.root.id, Name: nfs3.Filename(".."), Cookie: 2},
	}
	for name, n := range s.names {
		all = append(all, nfs3.Entry{FileID: n.id, Name: nfs3.Filename(name), Cookie: nfs3.Cookie(n.id)})
	}
	slices.SortFunc(all[2:], func(a, b nfs3.Entry) int { return cmp.Compare(a.Cookie, b.Cookie) })
	return all
}
