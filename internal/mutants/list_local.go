package main

const localFile = "runtime/oncrpc/tcp/unix.go"

var localTests = []string{"runtime/oncrpc/tcp"}

// localMutants are in local sockets.
var localMutants = []mutant{
	{"a client chooses its own address", localFile, "	case !accepted:\n", "	case !accepted, len(e.remote) > len(\"unix:@\"):\n", localTests},
	{"a socket in use is replaced", localFile, "	case err == nil:\n		_ = nc.Close()\n		return fmt", "	case err == nil:\n		_ = nc.Close()\n		return os.Remove(path)\n	case path == \"\":\n		return fmt", localTests},
	{"a file is replaced by a socket", localFile, "	case info.Mode().Type() != fs.ModeSocket:\n		return", "	case info.Mode().Type() != fs.ModeSocket && os.Remove(path) == nil:\n		return nil\n	case info.Mode().Type() != fs.ModeSocket:\n		return", localTests},
	{"an old socket stays in the way", localFile, "	if errors.Is(err, syscall.EADDRINUSE) {\n", "	if false {\n", localTests},
	{"servers that start together are not kept apart", localFile, "	unlock := lockFolder(ctx, filepath.Dir(path))\n	defer unlock()\n	ln,", "	ln,", localTests},
	{"the socket of another server is removed", localFile, "l.made != nil && os.SameFile(now, l.made)", "l.made != nil", localTests},
	{"a socket is left behind", localFile, "		_ = os.Remove(l.path)\n", "", localTests},
	{"a socket is open to others", localFile, "		mode = 0o600\n", "		mode = 0o666\n", localTests},
	{"the umask limits SocketMode", localFile, "		err = os.Chmod(path, mode)\n", "", localTests},
	{"a path is a name for a certificate", "runtime/oncrpc/tcp/starttls.go", "		addr = \"\"\n", "", localTests},
	{"a client that goes away is not noticed", "internal/deadpeer/closed_linux.go", "	return err == syscall.EPIPE\n", "	return false\n", localTests},
	{"a user of a socket registers as another", "runtime/oncrpc/rpcbind/server.go", "	if process := r.Peer().Local; process != nil {\n", "	if process := r.Peer().Local; false {\n", []string{"runtime/oncrpc/rpcbind"}},
}
