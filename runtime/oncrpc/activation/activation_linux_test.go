package activation_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/activation"
)

// child is set in a process that a test starts with sockets.
const child = "ACTIVATION_CHILD"

// start runs a test again in a process that gets files from descriptor 3 on and variables, and
// returns its output. LISTEN_PID, if it is not given, is the number of that process.
func start(t *testing.T, files []*os.File, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.ExtraFiles = files
	cmd.Env = append(append(os.Environ(), child+"=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// passed reports whether this is the process of start, and completes its environment.
func passed() bool {
	if os.Getenv(child) == "" {
		return false
	}
	if os.Getenv("LISTEN_PID") == "" {
		os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	}
	return true
}

// sockets returns the files of two listeners, over TCP and at a local socket, and of a UDP socket.
func sockets(t *testing.T) []*os.File {
	t.Helper()
	byTCP, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	byUDP, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for _, s := range []interface{ File() (*os.File, error) }{byTCP.(*net.TCPListener), local.(*net.UnixListener), byUDP.(*net.UDPConn)} {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files = append(files, f)
	}
	return files
}

// The sockets have their names and kinds, are taken once, and are not for the process's children.
func TestSocketsAreTakenByName(t *testing.T) {
	if !passed() {
		out := start(t, sockets(t), "LISTEN_FDS=3", "LISTEN_FDNAMES=rpc:rpc:time")
		for _, want := range []string{"names [rpc rpc time]", "tcp then unix", "udp", "left []", "again []", "environment clean", "closed on exec"} {
			if !strings.Contains(out, want+"\n") {
				t.Errorf("%q is missing:\n%s", want, out)
			}
		}
		return
	}
	s, err := activation.Sockets()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("names", s.Names())
	if _, err := s.Listener("time"); !errors.Is(err, activation.ErrNone) || !strings.Contains(err.Error(), `["rpc" "rpc" "time"]`) {
		t.Errorf("a datagram socket is a listener: %v", err)
	}
	if _, err := s.PacketConn("rpc"); !errors.Is(err, activation.ErrNone) {
		t.Errorf("a listener is a datagram socket: %v", err)
	}
	flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, 3, syscall.F_GETFD, 0)
	if flags&syscall.FD_CLOEXEC != 0 {
		fmt.Println("closed on exec")
	}
	first, err := s.Listener("rpc")
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Listener("")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(first.Addr().Network(), "then", second.Addr().Network())
	pc, err := s.PacketConn("")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(pc.LocalAddr().Network())
	fmt.Println("left", s.Names())
	if again, err := activation.Sockets(); err == nil {
		fmt.Println("again", again.Names())
	}
	if !strings.Contains(strings.Join(os.Environ(), "\n"), "LISTEN_") {
		fmt.Println("environment clean")
	}
}

// Without names the sockets are unknown. Close closes the rest.
func TestSocketsWithoutNames(t *testing.T) {
	if !passed() {
		if out := start(t, sockets(t), "LISTEN_FDS=3"); !strings.Contains(out, "[unknown unknown unknown]\nclosed\n") {
			t.Error(out)
		}
		return
	}
	s, err := activation.Sockets()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(s.Names())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(3, &st); len(s.Names()) == 0 && (err == syscall.EBADF || st.Mode&syscall.S_IFMT != syscall.S_IFSOCK) {
		fmt.Println("closed")
	}
}

// Sockets for another process are not taken, and variables that contradict each other are errors.
func TestVariablesAreChecked(t *testing.T) {
	if passed() {
		s, err := activation.Sockets()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("names", s.Names())
		return
	}
	files := sockets(t)
	regular, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	for _, tt := range []struct {
		files []*os.File
		env   string
		want  string
	}{
		{files, "LISTEN_FDS=3 LISTEN_PID=1", "names []"},
		{nil, "LISTEN_PID=", "LISTEN_FDS is \"\", must be a number up to 1024"},
		{nil, "LISTEN_FDS=0", "names []"},
		{files, "LISTEN_FDS=x", "LISTEN_FDS is \"x\", must be a number"},
		{files, "LISTEN_FDS=-1", "must be a number"},
		{files, "LISTEN_FDS=1025", "must be a number"},
		{files, "LISTEN_FDS=2 LISTEN_FDNAMES=a:b:c", "LISTEN_FDNAMES has 3 names, must be 2"},
		{[]*os.File{files[0], regular}, "LISTEN_FDS=2", "file descriptor 4, \"unknown\": it is not a socket"},
		{files, "LISTEN_FDS=900", "activation: file descriptor "},
	} {
		if out := start(t, tt.files, strings.Fields(tt.env)...); !strings.Contains(out, tt.want) {
			t.Errorf("%s: want %q:\n%s", tt.env, tt.want, out)
		}
	}
}

// systemd's own program passes a socket when the first client connects, and the client is served.
func TestSystemdPassesSockets(t *testing.T) {
	if passed() {
		s, err := activation.Sockets()
		if err != nil {
			t.Fatal(err)
		}
		ln, err := s.Listener("greeting")
		if err != nil {
			t.Fatal(err)
		}
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(nc, "hello")
		nc.Close()
		return
	}
	systemd := witness.Program(t, "systemd-socket-activate")
	path := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(systemd, "-l", path, "--fdname=greeting", "-E", child+"=1", os.Args[0], "-test.run=^"+t.Name()+"$")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	said, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(said, "Listening on") {
		t.Fatalf("%q, %v", said, err)
	}
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if line, err := bufio.NewReader(nc).ReadString('\n'); line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// A notification reaches the socket of NOTIFY_SOCKET, at a path or an abstract name.
func TestNotificationsAreSent(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := activation.Notify("READY=1"); err != nil {
		t.Error(err)
	}
	for _, at := range []string{filepath.Join(t.TempDir(), "n"), "@" + t.Name()} {
		pc, err := net.ListenPacket("unixgram", at)
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		t.Setenv("NOTIFY_SOCKET", at)
		if err := activation.Notify("READY=1\nSTATUS=serving"); err != nil {
			t.Error(err)
		}
		b := make([]byte, 100)
		if n, _, err := pc.ReadFrom(b); err != nil || string(b[:n]) != "READY=1\nSTATUS=serving" {
			t.Errorf("%q, %v", b[:n], err)
		}
	}
	t.Setenv("NOTIFY_SOCKET", "/no/such/socket")
	if err := activation.Notify("READY=1"); err == nil {
		t.Error("no error without a manager")
	}
}
