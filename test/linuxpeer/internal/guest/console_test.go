package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// However the bytes arrive, the lines are the same, and the log has every byte.
func TestConsoleLines(t *testing.T) {
	const text = "[ 0.1] one\r\n\n[ 0.2] two\nlast"
	want := []string{"[ 0.1] one", "", "[ 0.2] two", "last"}
	for size := 1; size <= len(text); size++ {
		var log bytes.Buffer
		c := NewConsole(&log)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if _, err := io.WriteString(c, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		c.Close()
		if diff := cmp.Diff(want, c.Since(0)); diff != "" {
			t.Errorf("written by %d bytes (-want +got):\n%s", size, diff)
		}
		if log.String() != text {
			t.Errorf("written by %d bytes: the log is %q", size, log.String())
		}
	}
}

// A line without an end does not gather without a limit.
func TestConsoleLongLine(t *testing.T) {
	c := NewConsole(io.Discard)
	if _, err := c.Write(make([]byte, 10*maxConsoleLine)); err != nil {
		t.Fatal(err)
	}
	if c.Mark() != 9 && c.Mark() != 10 {
		t.Errorf("%d lines of 10 times the limit", c.Mark())
	}
	if len(c.part) > maxConsoleLine {
		t.Errorf("%d bytes wait for the end of their line, at most %d", len(c.part), maxConsoleLine)
	}
}

func TestConsoleWait(t *testing.T) {
	c := NewConsole(io.Discard)
	found := make(chan string)
	go func() {
		line, err := c.Wait(context.Background(), 0, "ready")
		if err != nil {
			line = err.Error()
		}
		found <- line
	}()
	for _, part := range []string{"first\nagent rea", "dy\nthird\n"} {
		if _, err := io.WriteString(c, part); err != nil {
			t.Fatal(err)
		}
	}
	if line := <-found; line != "agent ready" {
		t.Errorf("Wait returned %q", line)
	}
	mark := c.Mark()
	if got := c.Since(mark); len(got) != 0 {
		t.Errorf("Since the mark: %q", got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := c.Wait(ctx, mark, "ready"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait for a line before the mark: %v", err)
	}
	c.Close()
	if _, err := c.Wait(context.Background(), mark, "ready"); !errors.Is(err, io.EOF) {
		t.Errorf("Wait after the end: %v", err)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/a b": "'/a b'", "it's": `'it'\''s'`} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

// A folder whose path is too long for a socket is refused with the remedy.
func TestLongPath(t *testing.T) {
	_, err := Start(t.Context(), Config{Dir: "/" + strings.Repeat("d", maxSocketPath)})
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("%v, want an error that names TMPDIR", err)
	}
}
