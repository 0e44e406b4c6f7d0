package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxLine is the largest size of an input line, in bytes.
const maxLine = 64 << 20

// lines makes a call for each line of standard input and prints an object for each, in order. The
// error has the code of the first line that failed.
func (c *caller) lines(ctx context.Context) (err error) {
	if c.env.stdin == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		if c.remote != nil {
			err = errors.Join(err, c.remote.close())
		}
	}()
	code := exitDone
	fail := func(n int, err error) {
		var f *failure
		if !errors.As(err, &f) {
			f = &failure{code: exitFailed, stage: "call", err: err}
		}
		if f.more == nil {
			f.more = map[string]any{}
		}
		if n > 0 {
			f.more["line"] = n
		}
		report(c.env, f)
		if code == exitDone {
			code = f.code
		}
	}
	input := readLines(ctx, c.env.stdin)
	for {
		l, ok := nextLine(ctx, input)
		if !ok {
			break
		}
		if l.err != nil {
			fail(l.number, &failure{code: exitInput, stage: "standard input", err: l.err})
			continue
		}
		args, err := c.parse(l.text)
		if err != nil {
			fail(l.number, err)
			continue
		}
		if c.remote == nil {
			if err := c.connect(ctx); err != nil {
				fail(l.number, err)
				break
			}
		}
		value, err := c.call(ctx, args)
		if err != nil {
			fail(l.number, err)
		} else {
			c.print(value, map[string]any{"line": l.number})
		}
		if ctx.Err() != nil {
			break
		}
		if c.remote.Err() != nil { // the next line has its own connection
			if err := c.remote.close(); err != nil {
				return err
			}
			c.remote = nil
		}
	}
	if code == exitDone && ctx.Err() != nil {
		fail(0, &failure{code: exitFailed, stage: "standard input", err: errors.New("interrupted")})
	}
	if code != exitDone {
		return &failure{code: code, err: errReported}
	}
	return nil
}

// inputLine is a line of input that is not blank.
type inputLine struct {
	number int // the first is 1
	text   []byte
	err    error
}

// nextLine returns the next line, or false if the input ends or ctx is done.
func nextLine(ctx context.Context, input <-chan inputLine) (l inputLine, ok bool) {
	select {
	case l, ok = <-input:
	case <-ctx.Done():
	}
	return l, ok && ctx.Err() == nil
}

// readLines returns the lines of in until in is at its end or ctx is done. A read that blocks then
// is left alone: a terminal cannot interrupt it.
func readLines(ctx context.Context, in io.Reader) <-chan inputLine {
	out := make(chan inputLine)
	go func() {
		defer close(out)
		r := bufio.NewReader(in)
		for n := 1; ; n++ {
			text, err := readLine(r)
			if len(bytes.TrimSpace(text)) > 0 || err != nil && err != io.EOF {
				l := inputLine{number: n, text: text}
				if err != io.EOF {
					l.err = err
				}
				select {
				case out <- l:
				case <-ctx.Done():
					return
				}
			}
			if err != nil && !errors.Is(err, errLongLine) {
				return
			}
		}
	}()
	return out
}

var errLongLine = errors.New("the line is too long")

// readLine reads a line and skips it if it is longer than maxLine.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for long := false; ; {
		part, more := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case more == bufio.ErrBufferFull:
		case long && (more == nil || more == io.EOF):
			return nil, fmt.Errorf("%w: expected at most %d bytes", errLongLine, maxLine)
		default:
			return line, more
		}
	}
}
