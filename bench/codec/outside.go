package codec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// ErrNotHere is returned if a program that another codec needs is not installed.
var ErrNotHere = errors.New("not measured")

// Outside is a program with codecs of other authors. It times itself on request, with its own
// clock; tirpc/bench.c describes the requests. An Outside must not be used concurrently.
type Outside struct {
	Name string // of the codec, in tables
	dir  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// outsideOps maps our operations to those of the programs.
var outsideOps = map[string]string{OpEncode: "encode", OpDecode: "decode", OpFresh: "fresh"}

// Outsiders are the programs that can be started.
func Outsiders() []func([]Message) (*Outside, error) {
	return []func([]Message) (*Outside, error){StartTirpc, StartGoxdr}
}

// outside builds a program in a temporary folder, starts it, and sends it the messages.
func outside(name string, build func(dir string) (program string, err error), messages []Message) (*Outside, error) {
	dir, err := os.MkdirTemp("", "codecbench")
	if err != nil {
		return nil, err
	}
	p := &Outside{Name: name, dir: dir}
	program, err := build(dir)
	if err == nil {
		err = p.start(program, messages)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Outside) start(program string, messages []Message) error {
	p.cmd = exec.Command(program)
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
	for _, m := range messages {
		answer, err := p.ask(fmt.Sprintf("load %s %d\n%s", m.Name, len(m.Wire), m.Wire))
		if err != nil || answer != "ok" {
			return fmt.Errorf("%s: load %s: %q, %w", p.Name, m.Name, answer, err)
		}
	}
	return nil
}

// inFolder runs commands in a folder. The words of a command are separated by spaces.
func inFolder(dir string, commands ...string) error {
	for _, command := range commands {
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	return nil
}

// Close stops the program and removes its folder.
func (p *Outside) Close() error {
	var errs []error
	if p.in != nil {
		errs = append(errs, p.in.Close())
	}
	if p.cmd != nil && p.cmd.Process != nil {
		errs = append(errs, p.cmd.Wait()) // the program exits at the end of its input
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// Ops returns the operations Run knows, in the order of the tables.
func (p *Outside) Ops() []string { return []string{OpEncode, OpDecode, OpFresh} }

// Run does op on a message n times and returns the time by the program's clock.
func (p *Outside) Run(message, op string, n int) (time.Duration, error) {
	answer, err := p.ask(fmt.Sprintf("run %s %s %d\n", message, outsideOps[op], n))
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(answer, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s %s: %s", p.Name, op, message, answer)
	}
	return time.Duration(ns), nil
}

// Bytes returns the message as the program encodes it.
func (p *Outside) Bytes(message string) ([]byte, error) {
	answer, err := p.ask("bytes " + message + "\n")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: bytes of %s: %s", p.Name, message, answer)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(p.out, b)
	return b, err
}

func (p *Outside) ask(question string) (string, error) {
	if _, err := io.WriteString(p.in, question); err != nil {
		return "", fmt.Errorf("%s: %w", p.Name, err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Name, err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}
