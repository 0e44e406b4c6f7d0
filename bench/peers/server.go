package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	gonfs "github.com/willscott/go-nfs"
	"github.com/willscott/go-nfs/helpers"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// serverEnv is the variable of a server's process: the kind of the server and the directory.
const serverEnv = "PEERBENCH_SERVER"

// Names of the servers.
const (
	NFSD    = "nfsd"
	Ganesha = "ganesha"
	GoNFS   = "go-nfs"
)

// IsServer reports whether this process was started as a server. Then main must call Serve, and
// nothing else.
func IsServer() bool { return process.Is(serverEnv) }

// Serve runs the server until in ends.
func Serve(in io.Reader, out io.Writer) error {
	kind, dir, _ := strings.Cut(os.Getenv(serverEnv), ":")
	addr, err := "", error(nil)
	if kind == GoNFS {
		var ln net.Listener
		if ln, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			addr = ln.Addr().String()
			handler := helpers.NewCachingHandler(helpers.NewNullAuthHandler(changeable{osfs.New(dir)}), 1<<18)
			go func() { _ = gonfs.Serve(ln, handler) }()
		}
	} else {
		addr, err = serveNFSD(dir)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return process.Answer(in, out, map[string]string{"tcp": addr})
}

func serveNFSD(dir string) (addr string, err error) {
	server, err := nfsd.New(nfsd.Config{Dir: dir, State: dir + ".state", AllowRoot: true})
	if err != nil {
		return "", err
	}
	ln, err := tcp.Listen(context.Background(), "127.0.0.1:0", server.Handler(), nil)
	if err != nil {
		return "", err
	}
	return ln.Addr(), nil
}

// changeable adds the methods without which go-nfs refuses changes.
type changeable struct{ billy.Filesystem }

func (c changeable) path(name string) string { return filepath.Join(c.Root(), name) }

// Chmod implements billy.Change.
func (c changeable) Chmod(name string, mode os.FileMode) error { return os.Chmod(c.path(name), mode) }

// Lchown implements billy.Change.
func (c changeable) Lchown(name string, uid, gid int) error {
	return os.Lchown(c.path(name), uid, gid)
}

// Chown implements billy.Change.
func (c changeable) Chown(name string, uid, gid int) error { return os.Chown(c.path(name), uid, gid) }

// Chtimes implements billy.Change.
func (c changeable) Chtimes(name string, atime, mtime time.Time) error {
	return os.Chtimes(c.path(name), atime, mtime)
}

// server is a server's process.
type server struct {
	name       string
	port, root string // root: the path of the served directory in MOUNT
	mountPort  string
	cpu        func() (time.Duration, error)
	close      func() error
}

// startServer starts nfsd or go-nfs for a directory.
func startServer(kind, dir, root string) (*server, error) {
	p, err := process.StartWith(serverEnv, kind+":"+dir)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(p.Addrs["tcp"])
	return &server{name: kind, port: port, mountPort: port, root: root, close: p.Close, cpu: func() (time.Duration, error) {
		u, err := p.Usage()
		return time.Duration(u.CPU), err
	}}, err
}

const ganeshaConfig = `
NFS_CORE_PARAM {
	Protocols = 3; NFS_Port = %s; MNT_Port = %s;
	Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
	%s
}
NFSv4 { RecoveryRoot = %s; Graceless = true; }
EXPORT {
	Export_Id = 1; Path = %s; Pseudo = /export; Protocols = 3; Transports = TCP;
	Access_Type = RW; Squash = None; SecType = sys;
	FSAL { Name = VFS; }
}
`

// startGanesha starts nfs-ganesha, and rpcbind if no other one answers. plugins is the folder of
// its back ends, or empty for the default.
func startGanesha(dir, state, plugins string) (_ *server, err error) {
	var cmds []*exec.Cmd
	s := &server{name: Ganesha, root: dir, close: func() error {
		for _, c := range cmds {
			_ = c.Process.Signal(syscall.SIGKILL)
			_ = c.Wait()
		}
		return nil
	}}
	start := func(program string, args ...string) error {
		c := exec.Command(program, args...)
		if err := c.Start(); err != nil {
			return err
		}
		cmds = append(cmds, c)
		return nil
	}
	defer func() {
		if err != nil {
			_ = s.close()
		}
	}()
	if conn, err := net.Dial("tcp", "127.0.0.1:111"); err == nil {
		conn.Close()
	} else if err := start("rpcbind", "-f"); err != nil {
		return nil, err
	}
	for _, port := range []*string{&s.port, &s.mountPort} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		_, *port, _ = net.SplitHostPort(ln.Addr().String())
		ln.Close()
	}
	if plugins != "" {
		plugins = "Plugins_Dir = " + plugins + ";"
	}
	config := filepath.Join(state, "ganesha.conf")
	text := fmt.Sprintf(ganeshaConfig, s.port, s.mountPort, plugins, state, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := waitFor("127.0.0.1:111"); err != nil {
		return nil, err
	}
	if err := start("ganesha.nfsd", "-F", "-L", filepath.Join(state, "ganesha.log"), "-f", config, "-p", filepath.Join(state, "pid")); err != nil {
		return nil, err
	}
	pid := cmds[len(cmds)-1].Process.Pid
	s.cpu = func() (time.Duration, error) { return cpuOf(pid) }
	return s, errors.Join(waitFor("127.0.0.1:"+s.port), waitFor("127.0.0.1:"+s.mountPort))
}

// waitFor waits until a server listens.
func waitFor(addr string) error {
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var conn net.Conn
		if conn, err = net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
	}
	return err
}

// cpuOf returns the processor time of a process: utime and stime of proc(5), in ticks of 10 ms.
func cpuOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, io.ErrUnexpectedEOF
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
