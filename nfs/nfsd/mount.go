package nfsd

import (
	"net"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// mountServer implements mount3rpc.Server (RFC 1813 §5).
type mountServer struct{ *Server }

// maxMounts is the largest number of mounts that DUMP lists. The list is for people, and clients
// may have crashed without UMNT, so the oldest mount is dropped first.
const maxMounts = 1024

// mounts is the list that DUMP returns.
type mounts struct {
	mu   sync.Mutex
	list []mount
}

type mount struct{ host, dir string }

// Mount implements mount3rpc.Server. It returns the handle of the export, or of a directory below
// it.
func (m mountServer) Mount(r *rpc.Request, args *mount3.DirPath, res *mount3.MountRes) error {
	s, dir := m.Server, path.Clean("/"+string(*args))
	if len(dir) > mount3.PathSize {
		res.Status = mount3.StatusNametoolong
		return nil
	}
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	h, err := s.tree.walk(c, s.cfg.Export, dir)
	if err != nil {
		res.Status = mountStatus(status(err))
		return nil
	}
	res.OK = mount3.MountResOK{Handle: mount3.Handle(h.Data), AuthFlavors: []int32{int32(oncrpc.AuthSys)}}
	s.mounts.add(mount{host(r), dir})
	return nil
}

// walk returns the handle of a directory by the path that a client names. It follows no symbolic
// link.
func (t *tree) walk(c *caller, export, dir string) (h nfs3.Handle, err error) {
	rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(path.Clean("/"+export), "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return h, failed(nfs3.StatusNoent)
	}
	o, err := found(t.fs.Root())
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" {
			continue
		}
		if err == nil {
			o, err = lookup(c, o, name)
		}
	}
	switch {
	case err != nil:
		return h, err
	case !o.isDir():
		return h, failed(nfs3.StatusNotdir)
	}
	return t.handle(o)
}

// mountStatus returns the status of MOUNT. The statuses that MOUNT has are numbered as in NFS.
func mountStatus(code nfs3.Status) mount3.Status {
	if s := mount3.Status(code); s.Valid() {
		return s
	}
	return mount3.StatusServerfault
}

// host returns the host of a caller.
func host(r *rpc.Request) string {
	addr := r.Peer().Addr
	if host, _, err := net.SplitHostPort(addr); err == nil {
		addr = host
	}
	return addr[:min(len(addr), mount3.NameSize)]
}

// Dump implements mount3rpc.Server.
func (m mountServer) Dump(_ *rpc.Request, res *mount3.Mounts) error {
	m.mounts.mu.Lock()
	defer m.mounts.mu.Unlock()
	for _, e := range m.mounts.list {
		*res = append(*res, mount3.Mount{HostName: mount3.Name(e.host), Directory: mount3.DirPath(e.dir)})
	}
	return nil
}

// Unmount implements mount3rpc.Server.
func (m mountServer) Unmount(r *rpc.Request, args *mount3.DirPath) error {
	gone := mount{host(r), path.Clean("/" + string(*args))}
	m.mounts.remove(func(e mount) bool { return e == gone })
	return nil
}

// UnmountAll implements mount3rpc.Server.
func (m mountServer) UnmountAll(r *rpc.Request) error {
	from := host(r)
	m.mounts.remove(func(e mount) bool { return e.host == from })
	return nil
}

// Export implements mount3rpc.Server.
func (m mountServer) Export(_ *rpc.Request, res *mount3.Exports) error {
	*res = mount3.Exports{{Dir: mount3.DirPath(m.cfg.Export)}}
	return nil
}

func (m *mounts) add(e mount) {
	m.remove(func(old mount) bool { return old == e })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list[max(len(m.list)-maxMounts+1, 0):], e)
}

func (m *mounts) remove(match func(mount) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, match)
}
