package activation

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// firstFD is the number of the first file descriptor that is passed: SD_LISTEN_FDS_START.
const firstFD = 3

// mostFDs is the largest number of sockets that are taken.
const mostFDs = 1024

// ErrNone reports that no socket of a name was passed.
var ErrNone = errors.New("activation: no such socket was passed")

// Set has the sockets that were passed to the process. It is not safe for concurrent use.
type Set struct {
	files []*os.File // named as the sockets
}

// Sockets returns the sockets that were passed to this process, in their order, and removes the
// variables LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment, so that a process that
// it starts does not look for them. It returns a Set without sockets if the variables are missing
// or were set for another process. A process calls it once. The caller must Close the Set.
func Sockets() (*Set, error) {
	pid, fds, names := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_FDNAMES")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	if pid != strconv.Itoa(os.Getpid()) {
		return new(Set), nil
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 0 || n > mostFDs {
		return nil, fmt.Errorf("activation: LISTEN_FDS is %.20q, must be a number up to %d", fds, mostFDs)
	}
	called := strings.Split(names, ":")
	if names != "" && len(called) != n {
		return nil, fmt.Errorf("activation: LISTEN_FDNAMES has %d names, must be %d as in LISTEN_FDS", len(called), n)
	}
	s := new(Set)
	for i := range n {
		name := "unknown" // as sd_listen_fds_with_names has it
		if names != "" {
			name = called[i]
		}
		f, err := take(firstFD+i, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("activation: file descriptor %d, %q: %w", firstFD+i, name, err), s.Close())
		}
		s.files = append(s.files, f)
	}
	return s, nil
}

// Names returns the names of the sockets that are left, in their order.
func (s *Set) Names() []string {
	var all []string
	for _, f := range s.files {
		all = append(all, f.Name())
	}
	return all
}

// Listener removes the first stream socket with a name from the Set and returns it: a listener of
// TCP, or of a local socket, whose file stays when it is closed. An empty name stands for any. The
// error is an ErrNone if there is no such socket.
func (s *Set) Listener(name string) (net.Listener, error) {
	var ln net.Listener
	err := s.use(name, "stream", isStream, func(f *os.File) (err error) {
		ln, err = net.FileListener(f)
		return err
	})
	return ln, err
}

// PacketConn removes the first datagram socket with a name from the Set and returns it, as Listener
// does.
func (s *Set) PacketConn(name string) (net.PacketConn, error) {
	var pc net.PacketConn
	err := s.use(name, "datagram", isDatagram, func(f *os.File) (err error) {
		pc, err = net.FilePacketConn(f)
		return err
	})
	return pc, err
}

// use calls open with the first socket that has a name and a kind, and closes the original.
func (s *Set) use(name, kind string, is func(*os.File) bool, open func(*os.File) error) error {
	for i, f := range s.files {
		if name != "" && f.Name() != name || !is(f) {
			continue
		}
		s.files = append(s.files[:i:i], s.files[i+1:]...)
		err := errors.Join(open(f), f.Close())
		if err != nil {
			return fmt.Errorf("activation: socket %q: %w", f.Name(), err)
		}
		return nil
	}
	return fmt.Errorf("%w: a %s socket with the name %q, of the sockets %q", ErrNone, kind, name, s.Names())
}

// Close closes the sockets that are left.
func (s *Set) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	s.files = nil
	return errors.Join(errs...)
}

// Notify reports the state of the service to the service manager, such as "READY=1" when it serves
// and "STOPPING=1" when it begins to end; sd_notify(3) has all of them, several with a line each.
// Without the variable NOTIFY_SOCKET it does nothing.
func Notify(state string) error {
	at := os.Getenv("NOTIFY_SOCKET")
	if at == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("activation: NOTIFY_SOCKET: %w", err)
	}
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}
