package tcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// maxPath is the length of the longest path that every system accepts for a socket, in bytes.
const maxPath = 103

// localPath returns the path of a socket in an address such as "unix:/run/notes.sock", or "@" and
// an abstract name.
func localPath(addr string) (path string, ok bool) {
	return strings.TrimPrefix(addr, oncrpc.LocalPrefix), oncrpc.IsLocal(addr)
}

// checkPath refuses paths that this system does not have.
func checkPath(path string) error {
	switch {
	case path[0] == '@' && runtime.GOOS != "linux":
		return fmt.Errorf("tcp: the address %s%s is an abstract name, which only Linux has: use a path", oncrpc.LocalPrefix, path)
	case len(path) > maxPath:
		return fmt.Errorf("tcp: the path of the socket has %d bytes, at most %d are possible: %s", len(path), maxPath, path)
	}
	return nil
}

// dialStream connects to an address of either form.
func dialStream(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1} // deadpeer.Watch sets it
	path, ok := localPath(addr)
	if !ok {
		return d.DialContext(ctx, "tcp", addr)
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return d.DialContext(ctx, "unix", path)
}

// listenStream listens at an address of either form.
func listenStream(ctx context.Context, addr string, mode fs.FileMode) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1} // deadpeer.Watch sets it
	path, ok := localPath(addr)
	if !ok {
		return lc.Listen(ctx, "tcp", addr)
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if path[0] == '@' {
		return lc.Listen(ctx, "unix", path)
	}
	if mode == 0 {
		mode = 0o600
	}
	lc.Control = func(_, _ string, raw syscall.RawConn) error { return restrict(raw, mode) }
	unlock := lockFolder(ctx, filepath.Dir(path))
	defer unlock()
	ln, err := lc.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err = removeStale(ctx, path, err); err == nil {
			ln, err = lc.Listen(ctx, "unix", path)
		}
	}
	if err != nil {
		return nil, err
	}
	l := &localListener{UnixListener: ln.(*net.UnixListener), path: path}
	l.SetUnlinkOnClose(false) // the file may be of another server by then
	if l.made, err = os.Lstat(path); err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes the socket of a server that was killed. inUse is the error of the attempt to
// listen, which is returned with the reason if the file must stay.
func removeStale(ctx context.Context, path string, inUse error) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return errors.Join(inUse, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w: there is a file that is not a socket", inUse)
	}
	nc, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = nc.Close()
		return fmt.Errorf("%w: another server listens there", inUse)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return errors.Join(inUse, err)
	}
	return os.Remove(path)
}

// localListener is a listener with a file.
type localListener struct {
	*net.UnixListener
	path string
	made os.FileInfo // of the file
	once sync.Once
}

// Close removes the file, unless it is another's, and stops listening.
func (l *localListener) Close() error {
	l.once.Do(func() { // later the system may have given the file's number to another
		defer lockFolder(context.Background(), filepath.Dir(l.path))()
		if now, err := os.Lstat(l.path); err == nil && l.made != nil && os.SameFile(now, l.made) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}

// addressOf returns an address in the form that Dial takes.
func addressOf(a net.Addr) string {
	if a.Network() == "unix" {
		return oncrpc.LocalPrefix + a.String()
	}
	return a.String()
}

// ends describes both ends of a stream.
type ends struct {
	local, remote string                // addresses: of this end, and the peer's
	process       *oncrpc.LocalIdentity // of the peer, over a local socket
}

// endsOf returns the ends of a stream. At a local socket a client's address is its process: it
// usually has no name, and one that it has chosen must not look like another process.
func endsOf(nc net.Conn, accepted bool) ends {
	e := ends{local: addressOf(nc.LocalAddr()), remote: addressOf(nc.RemoteAddr())}
	if nc.RemoteAddr().Network() != "unix" {
		return e
	}
	if raw, err := rawConn(nc); err == nil {
		e.process = processAt(raw)
	}
	switch p := e.process; {
	case !accepted:
	case p == nil:
		e.remote = oncrpc.LocalPrefix
	default:
		e.remote = fmt.Sprintf("%suid=%d,pid=%d", oncrpc.LocalPrefix, p.UID, p.PID)
	}
	return e
}
