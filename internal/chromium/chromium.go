// Package chromium drives a Chromium without a window in tests: it opens pages, presses keys, runs
// scripts, and records what pages request and print. It speaks the DevTools protocol over two
// pipes, so that it needs no port and no library.
package chromium

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Browser is a running Chromium. Its methods may be called concurrently.
type Browser struct {
	cmd    *exec.Cmd
	in     *os.File // commands
	stderr strings.Builder

	mu      sync.Mutex
	last    int // ID of the last command
	waiting map[int]chan message
	pages   map[string]*Page // by session
	err     error            // of the pipe; then no answer comes
}

// message is a command, an answer or an event of the protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser, which ends with the test. If Chromium is not installed, the test skips.
func Start(tb testing.TB, args ...string) *Browser {
	tb.Helper()
	path := witness.Program(tb, "chromium")
	theirIn, in, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	b := &Browser{in: in, waiting: map[int]chan message{}, pages: map[string]*Page{}}
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--user-data-dir=" + tb.TempDir(), "--remote-debugging-pipe",
	}, args...)
	b.cmd = exec.Command(path, args...)
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	b.cmd.Stderr = &b.stderr
	err = b.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		tb.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(bufio.NewReaderSize(out, 1<<16))
	}()
	tb.Cleanup(func() {
		if _, err := b.call("", "Browser.close", nil); err != nil {
			_ = b.cmd.Process.Kill()
		}
		_ = b.cmd.Wait()
		in.Close()
		<-read
		out.Close()
	})
	return b
}

// read passes on what the browser says, until the pipe ends.
func (b *Browser) read(r *bufio.Reader) {
	for {
		text, err := r.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(text[:len(text)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.err = fmt.Errorf("the browser is closed: %w", err)
			for _, c := range b.waiting {
				close(c)
			}
			clear(b.waiting)
			b.mu.Unlock()
			return
		}
		if c := b.waiting[m.ID]; c != nil {
			delete(b.waiting, m.ID)
			c <- m
		} else if p := b.pages[m.Session]; p != nil {
			p.event(m)
		}
		b.mu.Unlock()
	}
}

// call runs a command and returns its answer.
func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	m := message{Method: method, Session: session}
	if params != nil {
		var err error
		if m.Params, err = json.Marshal(params); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	if b.err != nil {
		b.mu.Unlock()
		return nil, b.err
	}
	b.last++
	m.ID = b.last
	b.waiting[m.ID] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	timer := newTimer()
	defer timer.Stop()
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, errors.New("the browser is closed")
		case m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		return m.Result, nil
	case <-timer.C:
		return nil, fmt.Errorf("%s: no answer within %v", method, leak.Patience())
	}
}
