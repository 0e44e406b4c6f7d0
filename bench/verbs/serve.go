package verbs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// The server is this program again, in an environment with serverEnv set. On
// its standard output it says where it listens, a line "name address" each and
// "ready" at the end; then it answers each line of its standard input: "memory"
// with the bytes it has in use, any other with the processor time it has used, in
// nanoseconds. It exits where that ends.
const serverEnv = "VERBSBENCH_SERVER"

// IsServer says whether this process was started to be the server: main is to
// call Serve then, and nothing else.
func IsServer() bool { return os.Getenv(serverEnv) != "" }

// Serve is the server. It returns when in ends.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	go acceptTCP(ln)
	fmt.Fprintln(out, "tcp", ln.Addr())
	for _, p := range networked() {
		dev, err := p.open()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		pln, err := dev.Listen(ctx, "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		defer pln.Close()
		go acceptProvider(ctx, dev, pln)
		fmt.Fprintln(out, p.name, pln.Addr())
	}
	fmt.Fprintln(out, "ready")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "memory" {
			fmt.Fprintln(out, memory())
		} else {
			fmt.Fprintln(out, cpuTime())
		}
	}
	return lines.Err()
}

func acceptTCP(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if err := serveTCP(conn); !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "verbsbench: server:", err)
			}
		}()
	}
}

// serveTCP does what the greeting asks for, until the client hangs up (io.EOF).
func serveTCP(conn net.Conn) error {
	var b [greetingSize]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return err
	}
	s, err := parseShape(b[1:])
	if err != nil {
		return err
	}
	switch k := kind(b[0]); k {
	case kindEcho:
		return serveEcho(conn, s)
	case kindSink:
		s.Size = max(s.Size, 8) // the head of a run is read there too
		return serveSink(conn, s)
	case kindFramed, kindFramedGo, kindSegments:
		return serveFramed(conn, k, s)
	default:
		return fmt.Errorf("greeting of kind %#x", byte(k))
	}
}

// server is the other process, as the client sees it.
type server struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	addrs map[string]string
}

func startServer() (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(self), addrs: map[string]string{}}
	s.cmd.Env = append(os.Environ(), serverEnv+"=1")
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.lines = bufio.NewScanner(out)
	for s.lines.Scan() {
		name, addr, _ := strings.Cut(s.lines.Text(), " ")
		if name == "ready" {
			return s, nil
		}
		s.addrs[name] = addr
	}
	return nil, errors.Join(errors.New("the server process ended before it was ready"), s.close())
}

// cpuTime is what the server has used, in nanoseconds.
func (s *server) cpuTime() (int64, error) { return s.ask("") }

// memory is what it has in use, in bytes.
func (s *server) memory() (int64, error) { return s.ask("memory") }

func (s *server) ask(what string) (int64, error) {
	if _, err := io.WriteString(s.in, what+"\n"); err != nil {
		return 0, err
	}
	if !s.lines.Scan() {
		return 0, errors.Join(io.ErrUnexpectedEOF, s.lines.Err())
	}
	return strconv.ParseInt(s.lines.Text(), 10, 64)
}

func (s *server) close() error {
	s.in.Close()
	return s.cmd.Wait()
}
