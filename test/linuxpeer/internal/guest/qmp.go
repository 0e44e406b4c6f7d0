package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"
)

// qmp is a connection to QEMU's machine protocol.
type qmp struct {
	mu   sync.Mutex
	conn net.Conn
	r    *bufio.Reader
}

// qmpTimeout bounds each command.
const qmpTimeout = 20 * time.Second

// dialQMP connects as soon as QEMU listens. It gives up when ctx ends.
func dialQMP(ctx context.Context, path string) (*qmp, error) {
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			q := &qmp{conn: conn, r: bufio.NewReader(conn)}
			if _, err := q.do("qmp_capabilities", nil); err != nil {
				conn.Close()
				return nil, err
			}
			return q, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to QEMU's control socket: %w (%w)", err, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// do executes a command and returns its result. Events that come first are skipped.
func (q *qmp) do(command string, args map[string]any) (json.RawMessage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.conn.SetDeadline(time.Now().Add(qmpTimeout)); err != nil {
		return nil, err
	}
	b, err := json.Marshal(struct {
		Execute   string         `json:"execute"`
		Arguments map[string]any `json:"arguments,omitempty"`
	}{command, args})
	if err != nil {
		return nil, err
	}
	if _, err := q.conn.Write(append(b, '\n')); err != nil {
		return nil, fmt.Errorf("QEMU's control socket: %w", err)
	}
	for {
		line, err := q.r.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("QEMU's control socket: %s: %w", command, err)
		}
		var answer struct {
			Return json.RawMessage
			Error  *struct{ Class, Desc string }
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return nil, fmt.Errorf("QEMU's control socket: %w in %.200q", err, line)
		}
		switch {
		case answer.Error != nil:
			return nil, fmt.Errorf("QEMU refuses %s: %s", command, answer.Error.Desc)
		case answer.Return != nil:
			return answer.Return, nil
		}
	}
}

// monitor executes a command of the monitor for people, whose answer is text.
func (q *qmp) monitor(command string) (string, error) {
	b, err := q.do("human-monitor-command", map[string]any{"command-line": command})
	if err != nil {
		return "", err
	}
	var text string
	err = json.Unmarshal(b, &text)
	return text, err
}

func (q *qmp) Close() error { return q.conn.Close() }
