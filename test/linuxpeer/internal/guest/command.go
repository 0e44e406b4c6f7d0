package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/control"
)

// Command is a command for the guest.
type Command struct {
	Argv   []string  // Argv is the program and its arguments.
	Env    []string  // Env has additional variables, each as NAME=value.
	Dir    string    // Dir is the working directory. If empty, it is the root.
	Stdin  io.Reader // Stdin is the input. If nil, there is none.
	Stdout io.Writer // Stdout receives the output. If nil, Result.Stdout has it.
	Stderr io.Writer // Stderr receives standard error. If nil, Result.Stderr has it.
	TTY    bool      // TTY runs the command on a terminal, whose output goes to Stdout.
}

// Result is the end of a command.
type Result struct {
	Code           int    // Code is the exit code, or 128 plus the number of a signal.
	Stdout, Stderr string // Stdout and Stderr are the output, unless the Command has writers.
}

// Run runs a program in the guest. An exit code other than 0 is an [*ExitError].
func (g *Guest) Run(ctx context.Context, argv ...string) (Result, error) {
	return g.Do(ctx, Command{Argv: argv})
}

// Shell runs a script of busybox's shell in the guest, as Run does.
func (g *Guest) Shell(ctx context.Context, script string) (Result, error) {
	return g.Run(ctx, "sh", "-c", script)
}

// Put writes a file in the guest.
func (g *Guest) Put(ctx context.Context, path string, mode uint32, r io.Reader) error {
	script := fmt.Sprintf(`cat >"$1" && chmod %o "$1"`, mode)
	_, err := g.Do(ctx, Command{Argv: []string{"sh", "-c", script, "sh", path}, Stdin: r})
	return err
}

// ExitError is an error about a command that ran and failed.
type ExitError struct {
	Argv   []string
	Result Result
}

func (e *ExitError) Error() string {
	text := strings.TrimSpace(e.Result.Stderr)
	if text == "" {
		text = strings.TrimSpace(e.Result.Stdout)
	}
	const most = 2000
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	return fmt.Sprintf("guest: %s: exit code %d: %s", strings.Join(e.Argv, " "), e.Result.Code, text)
}

// Do runs a command in the guest until it ends. When ctx ends first, the command is killed.
func (g *Guest) Do(ctx context.Context, cmd Command) (Result, error) {
	fail := func(err error) (Result, error) {
		select {
		case <-g.exited:
			err = g.died()
		default:
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
		return Result{}, fmt.Errorf("guest: %s: %w", strings.Join(cmd.Argv, " "), err)
	}
	addr, err := g.Forward(control.Port)
	if err != nil {
		return fail(err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", addr)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	res, start, err := Exchange(conn, cmd)
	if err == nil && start != "" {
		err = errors.New(start)
	}
	if err != nil {
		return fail(err)
	}
	if res.Code != 0 {
		return res, &ExitError{Argv: cmd.Argv, Result: res}
	}
	return res, nil
}

// Exchange runs a command over a connection to an agent. The string says why the agent could not
// start it.
func Exchange(conn io.ReadWriter, cmd Command) (res Result, start string, err error) {
	req := control.Request{Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, TTY: cmd.TTY, Input: cmd.Stdin != nil}
	if err := control.Write(conn, req); err != nil {
		return Result{}, "", err
	}
	if cmd.Stdin != nil {
		go send(conn, cmd.Stdin)
	}
	var out, errs bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	in := control.NewReader(conn)
	for {
		var part control.Output
		if err := in.Read(&part); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the agent closed the connection")
			}
			return Result{}, "", err
		}
		if part.Done {
			return Result{Code: part.Code, Stdout: out.String(), Stderr: errs.String()}, part.Start, nil
		}
		w := cmd.Stdout
		if part.Err {
			w = cmd.Stderr
		}
		if _, err := w.Write(part.Data); err != nil {
			return Result{}, "", err
		}
	}
}

// send passes standard input on. It ends with the connection: an error of it is also the reader's.
func send(conn io.Writer, stdin io.Reader) {
	buf := make([]byte, control.MaxData)
	for {
		n, err := stdin.Read(buf)
		if n > 0 && control.Write(conn, control.Input{Data: buf[:n]}) != nil {
			return
		}
		if err != nil {
			_ = control.Write(conn, control.Input{Close: true})
			return
		}
	}
}
