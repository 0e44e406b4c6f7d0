package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Server is the other process.
type Server struct {
	Addrs map[string]string // addresses of its listeners, by name

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// Is reports whether this process was started by Start with this variable.
func Is(env string) bool { return os.Getenv(env) != "" }

// Answer answers the requests of Server, in the other process, when its listeners are open. It
// returns when in ends.
func Answer(in io.Reader, out io.Writer, addrs map[string]string) error {
	for name, addr := range addrs {
		fmt.Fprintln(out, name, addr)
	}
	fmt.Fprintln(out, "ready")
	say := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var err error
		switch what := lines.Text(); what {
		case "usage":
			err = say.Encode(Own())
		case "memory":
			err = say.Encode(Memory())
		case "resident":
			err = say.Encode(Resident())
		default:
			err = fmt.Errorf("found request %q, expected usage, memory or resident", what)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// Start starts this program again with the variable env set. That process must call Answer.
func Start(env string) (*Server, error) { return StartWith(env, "1") }

// StartWith does so with a value of the variable, which that process reads by os.Getenv.
func StartWith(env, value string) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &Server{cmd: exec.Command(self), Addrs: map[string]string{}}
	s.cmd.Env = append(os.Environ(), env+"="+value)
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
		s.Addrs[name] = addr
	}
	return nil, errors.Join(errors.New("the server process ended before it was ready"), s.Close())
}

// Usage returns the resources that the other process has used.
func (s *Server) Usage() (u Usage, err error) { return u, s.ask("usage", &u) }

// Memory returns the memory that the other process has in use, in bytes.
func (s *Server) Memory() (n int64, err error) { return n, s.ask("memory", &n) }

// Resident returns the resident memory of the other process in bytes, or 0 if the system does not
// report it.
func (s *Server) Resident() (n int64, err error) { return n, s.ask("resident", &n) }

func (s *Server) ask(what string, answer any) error {
	if _, err := io.WriteString(s.in, what+"\n"); err != nil {
		return err
	}
	if !s.lines.Scan() {
		return errors.Join(io.ErrUnexpectedEOF, s.lines.Err())
	}
	return json.Unmarshal(s.lines.Bytes(), answer)
}

// Close ends the other process.
func (s *Server) Close() error {
	s.in.Close()
	return s.cmd.Wait()
}
