package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// meter shows the progress of a copy on a terminal, and nothing elsewhere.
type meter struct {
	mu    sync.Mutex
	out   io.Writer // nil: nothing is shown
	name  string
	count int // of the file
	size  int64
	done  int64
	first int64 // bytes that were there at the start
	begun time.Time
	shown bool
}

// start begins to show the progress, until the function that it returns is called.
func (m *meter) start(p *program) (stop func()) {
	if p.quiet || p.json || !cli.IsTerminal(p.stderr) {
		return func() {}
	}
	m.out = p.stderr
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case now := <-tick.C:
				m.show(now)
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
		m.clear()
	}
}

// file begins with a file. there is the number of bytes that are stored already.
func (m *meter) file(name string, size, there int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	m.name, m.size, m.done, m.first, m.begun = name, size, there, there, time.Now()
}

// add counts bytes of the file.
func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += int64(n)
}

func (m *meter) show(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.name != "" {
		fmt.Fprintf(m.out, "\r\x1b[K%s", line(m.count, m.name, m.first, m.done, m.size, now.Sub(m.begun)))
		m.shown = true
	}
}

// clear removes the line from the terminal.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.shown = false
	}
}

// line returns the progress of a file: its number in the tree, its share, the rate and the time
// that remains.
func line(count int, name string, first, done, size int64, took time.Duration) string {
	done = min(done, size) // data may be written again
	text := ""
	if count > 1 {
		text = fmt.Sprintf("file %d: ", count)
	}
	text += fmt.Sprintf("%.40s  %d of %d MB", shown(name), done/1e6, size/1e6)
	if size > 0 {
		text += fmt.Sprintf("  %d%%", done*100/size)
	}
	rate := float64(done-first) / took.Seconds()
	if rate > 0 {
		left := time.Duration(float64(size-done) / rate * float64(time.Second))
		text += fmt.Sprintf("  %.1f MB/s  %v left", rate/1e6, left.Round(time.Second))
	}
	return text
}
