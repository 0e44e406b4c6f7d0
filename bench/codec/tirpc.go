package codec

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed dirplus.x tirpc/rpcrdma1.x tirpc/bench.c
var tirpcSource embed.FS

// ErrNoTirpc says that rpcgen, a C compiler or libtirpc is not installed.
var ErrNoTirpc = errors.New("rpcgen + libtirpc not measured")

// Tirpc is a C program made by rpcgen and linked with libtirpc, which times
// itself on request. It is not safe for concurrent use.
type Tirpc struct {
	dir string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// TirpcName is the codec's name in tables.
const TirpcName = "rpcgen + libtirpc (C)"

// tirpcOps are the operations of bench.c by ours.
var tirpcOps = map[string]string{OpEncode: "encode", OpDecode: "decode", OpFresh: "fresh"}

// StartTirpc compiles and starts the program, and gives it the messages. The
// error is ErrNoTirpc where something it takes is not installed. The caller
// calls Close.
func StartTirpc(messages []Message) (*Tirpc, error) {
	for _, tool := range []string{"rpcgen", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %s is not installed", ErrNoTirpc, tool)
		}
	}
	if _, err := os.Stat("/usr/include/tirpc/rpc/rpc.h"); err != nil {
		return nil, fmt.Errorf("%w: no /usr/include/tirpc (install libtirpc-dev)", ErrNoTirpc)
	}
	dir, err := os.MkdirTemp("", "codecbench")
	if err != nil {
		return nil, err
	}
	t := &Tirpc{dir: dir}
	if err := t.start(messages); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Tirpc) start(messages []Message) error {
	for _, name := range []string{"dirplus.x", "tirpc/rpcrdma1.x", "tirpc/bench.c"} {
		text, err := tirpcSource.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(t.dir, filepath.Base(name)), text, 0o600); err != nil {
			return err
		}
	}
	for _, command := range []string{
		"rpcgen -h -o rpcrdma1.h rpcrdma1.x",
		"rpcgen -c -o rpcrdma1_xdr.c rpcrdma1.x",
		"rpcgen -h -o dirplus.h dirplus.x",
		"rpcgen -c -o dirplus_xdr.c dirplus.x",
		"gcc -O2 -w -I/usr/include/tirpc -I. bench.c rpcrdma1_xdr.c dirplus_xdr.c -ltirpc -o bench",
	} {
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = t.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	t.cmd = exec.Command(filepath.Join(t.dir, "bench"))
	t.cmd.Stderr = os.Stderr
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return err
	}
	t.out = bufio.NewReader(out)
	if err := t.cmd.Start(); err != nil {
		return err
	}
	for _, m := range messages {
		answer, err := t.ask(fmt.Sprintf("load %s %d\n%s", m.Name, len(m.Wire), m.Wire))
		if err != nil || answer != "ok" {
			return fmt.Errorf("libtirpc: load %s: %q, %w", m.Name, answer, err)
		}
	}
	return nil
}

// Close ends the program and removes its folder.
func (t *Tirpc) Close() error {
	var errs []error
	if t.in != nil {
		errs = append(errs, t.in.Close())
	}
	if t.cmd != nil && t.cmd.Process != nil {
		errs = append(errs, t.cmd.Wait()) // it ends at the end of its input
	}
	return errors.Join(append(errs, os.RemoveAll(t.dir))...)
}

// Ops returns the operations Run knows, in the order of the tables.
func (t *Tirpc) Ops() []string { return []string{OpEncode, OpDecode, OpFresh} }

// Run does op on a message n times and returns the time by the program's clock.
func (t *Tirpc) Run(message, op string, n int) (time.Duration, error) {
	answer, err := t.ask(fmt.Sprintf("run %s %s %d\n", message, tirpcOps[op], n))
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(answer, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("libtirpc: %s %s: %s", op, message, answer)
	}
	return time.Duration(ns), nil
}

// Bytes returns the message as the program encodes it.
func (t *Tirpc) Bytes(message string) ([]byte, error) {
	answer, err := t.ask("bytes " + message + "\n")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(answer)
	if err != nil {
		return nil, fmt.Errorf("libtirpc: bytes of %s: %s", message, answer)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(t.out, b)
	return b, err
}

func (t *Tirpc) ask(question string) (string, error) {
	if _, err := io.WriteString(t.in, question); err != nil {
		return "", fmt.Errorf("libtirpc: %w", err)
	}
	line, err := t.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("libtirpc: %w", err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}
