package transport

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/internal/process"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

//go:embed echo.x tirpc/peer.c
var tirpcSource embed.FS

// errNoTirpc reports that a tool or library which libtirpc's row needs is not installed.
var errNoTirpc = errors.New("libtirpc is not measured")

// tirpc is a C program with both ends of calls, by rpcgen and libtirpc. It times itself
// and counts its processor time: tirpc/peer.c describes the requests.
type tirpc struct {
	dir  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	used process.Usage // of the last run
}

// openTirpc adds the row of libtirpc, or says why it does not.
func (s *suite) openTirpc() error {
	err := s.add(Tirpc, bench.Call, single, func() (*watched, io.Closer, error) {
		p, err := startTirpc()
		if err != nil {
			return nil, nil, err
		}
		return &watched{run: p.run, outside: func() process.Usage { return p.used }}, p, nil
	})
	if errors.Is(err, errNoTirpc) {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return err
}

// startTirpc builds the program in a temporary folder and starts it. The caller calls Close.
func startTirpc() (*tirpc, error) {
	for _, tool := range []string{"rpcgen", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %s is not installed", errNoTirpc, tool)
		}
	}
	if _, err := os.Stat("/usr/include/tirpc/rpc/rpc.h"); err != nil {
		return nil, fmt.Errorf("%w: /usr/include/tirpc is missing: install libtirpc-dev", errNoTirpc)
	}
	dir, err := os.MkdirTemp("", "transportbench")
	if err != nil {
		return nil, err
	}
	p := &tirpc{dir: dir}
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *tirpc) start() error {
	for name, file := range map[string]string{"echo.x": "echo.x", "peer.c": "tirpc/peer.c"} {
		text, err := tirpcSource.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(p.dir, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	for _, command := range []string{
		"rpcgen -C -h -o echo.h echo.x", "rpcgen -C -c -o echo_xdr.c echo.x", "rpcgen -C -l -o echo_clnt.c echo.x", "rpcgen -C -m -o echo_svc.c echo.x",
		"gcc -O2 -w -I/usr/include/tirpc -I. peer.c echo_xdr.c echo_clnt.c echo_svc.c -ltirpc -o peer",
	} {
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = p.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	p.cmd = exec.Command(filepath.Join(p.dir, "peer"))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		return fmt.Errorf("libtirpc's program said %q, %w, expected ready", line, err)
	}
	return nil
}

// run makes n calls, one at a time.
func (p *tirpc) run(n int) (time.Duration, error) {
	if _, err := fmt.Fprintf(p.in, "run %d\n", n); err != nil {
		return 0, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("libtirpc's program has failed: %w", err)
	}
	var took time.Duration
	p.used = process.Usage{}
	_, err = fmt.Sscan(line, &took, &p.used.CPU)
	return took, err
}

// Close stops the program and removes its folder.
func (p *tirpc) Close() error {
	var errs []error
	if p.in != nil {
		errs = append(errs, p.in.Close())
	}
	if p.cmd != nil && p.cmd.Process != nil {
		errs = append(errs, p.cmd.Wait()) // it exits at the end of its input
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}
