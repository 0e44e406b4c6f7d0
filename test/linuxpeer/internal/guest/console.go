package guest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
)

// Console keeps the lines of the guest's serial console: the kernel log, and little else.
type Console struct {
	mu    sync.Mutex
	log   io.Writer // gets all bytes
	part  []byte    // an unfinished line
	lines []string
	more  chan struct{} // closed, and replaced, when there are more lines, and at the end
	end   bool
}

// maxConsoleLine is the length at which a line is cut in two.
const maxConsoleLine = 4096

// NewConsole returns a Console that also copies all bytes to log.
func NewConsole(log io.Writer) *Console {
	return &Console{log: log, more: make(chan struct{})}
}

// Write takes bytes of the serial line.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.log.Write(p)
	c.part = append(c.part, p...)
	before := len(c.lines)
	for {
		i := bytes.IndexByte(c.part, '\n')
		if i < 0 && len(c.part) < maxConsoleLine {
			break
		}
		if i < 0 {
			c.lines = append(c.lines, string(c.part[:maxConsoleLine]))
			c.part = c.part[maxConsoleLine:]
			continue
		}
		c.lines = append(c.lines, strings.TrimRight(string(c.part[:i]), "\r"))
		c.part = c.part[i+1:]
	}
	if len(c.lines) > before {
		c.wake()
	}
	return n, err
}

// Close says that no more lines come.
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.part) > 0 {
		c.lines = append(c.lines, string(c.part))
		c.part = nil
	}
	c.end = true
	c.wake()
	return nil
}

func (c *Console) wake() {
	close(c.more)
	c.more = make(chan struct{})
}

// Mark returns the number of lines so far.
func (c *Console) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines)
}

// Since returns the lines from a mark on.
func (c *Console) Since(mark int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[min(mark, len(c.lines)):len(c.lines):len(c.lines)]
}

// Wait blocks until a line from a mark on has text, and returns that line. It returns io.EOF if the
// console ends first, and the cause of ctx's end.
func (c *Console) Wait(ctx context.Context, mark int, text string) (string, error) {
	for {
		c.mu.Lock()
		for ; mark < len(c.lines); mark++ {
			if line := c.lines[mark]; strings.Contains(line, text) {
				c.mu.Unlock()
				return line, nil
			}
		}
		end, more := c.end, c.more
		c.mu.Unlock()
		if end {
			return "", io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
