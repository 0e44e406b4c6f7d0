package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

// The time between two lines of progress, on a terminal and with -json.
const (
	showEvery  = 250 * time.Millisecond
	eventEvery = time.Second
)

// meter shows the progress of a copy: as a line on a terminal, or as events of JSON.
type meter struct {
	program *program
	out     io.Writer // of a terminal, or nil

	mu    sync.Mutex
	now   progress
	size  int64 // of the file that is copied
	done  int64 // of the file that is copied; may exceed size, where data are written again
	begun time.Time
	shown bool
}

// progress is the state of a copy.
type progress struct {
	name            string // of the file that is copied, or "" between two files
	files, allFiles int    // that are done, and that were found
	bytes, allBytes int64  // bytes has also those that were there before
	copied          int64  // bytes
	complete, tree  bool   // all files were found; the source is a directory
	took            time.Duration
}

// start begins to show the progress, until the function that it returns is called. It reports
// whether anything shows it.
func (m *meter) start(p *program) (stop func(), shows bool) {
	m.program, m.begun = p, time.Now()
	every := eventEvery
	switch {
	case p.quiet || !p.json && !cli.IsTerminal(p.stderr):
		return func() {}, false
	case !p.json:
		m.out, every = p.stderr, showEvery
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
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
	}, true
}

// found counts files that are to be copied.
func (m *meter) found(files int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.allFiles += files
	m.now.allBytes = sum(m.now.allBytes, bytes)
}

// foundAll says that all files were found.
func (m *meter) foundAll() {
	m.mu.Lock()
	m.now.complete = true
	all := m.now
	m.mu.Unlock()
	if m.program != nil && m.program.json && all.tree {
		// An error of stdout comes again with the next line.
		_ = m.program.event("totals", map[string]any{"files": all.allFiles, "size_bytes": all.allBytes})
	}
}

// file begins with a file. there is the number of bytes that are stored already.
func (m *meter) file(name string, size, there int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.name, m.size, m.done = name, size, there
}

// add counts bytes of the file that are copied.
func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = sum(m.done, int64(n))
	m.now.copied = sum(m.now.copied, int64(n))
}

// finished counts a file that is done, or has failed.
func (m *meter) finished(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.files++
	m.now.bytes = sum(m.now.bytes, size)
	m.now.name, m.size, m.done = "", 0, 0
}

// at returns the progress at a time.
func (m *meter) at(now time.Time) progress {
	p := m.now
	p.bytes = sum(p.bytes, min(m.done, m.size))
	p.took = now.Sub(m.begun)
	return p
}

func (m *meter) show(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.at(now)
	if m.out == nil {
		_ = m.program.event("progress", map[string]any{
			"name": p.name, "files": p.files, "all_files": p.allFiles, "done_bytes": p.bytes, "size_bytes": p.allBytes,
			"copied_bytes": p.copied, "complete": p.complete, "elapsed_ns": p.took,
		})
		return
	}
	fmt.Fprintf(m.out, "\r\x1b[K%s", p.line(cli.Width(m.out)-1))
	m.shown = true
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

// line returns the progress in one line of at most width columns: files, bytes, share, rate, the
// time that remains, and the file. While files are still searched, totals end with a plus sign.
func (p *progress) line(width int) string {
	plus := ""
	if !p.complete {
		plus = "+"
	}
	var parts []string
	if p.tree {
		parts = append(parts, fmt.Sprintf("%d of %d%s files", p.files, p.allFiles, plus))
	}
	parts = append(parts, fmt.Sprintf("%s of %s%s", amount(p.bytes), amount(p.allBytes), plus))
	if p.allBytes > 0 && p.complete {
		parts = append(parts, fmt.Sprintf("%d%%", int(float64(min(p.bytes, p.allBytes))/float64(p.allBytes)*100)))
	}
	if rate := float64(p.copied) / p.took.Seconds(); rate > 0 {
		parts = append(parts, amount(int64(rate))+"/s")
		if p.complete {
			parts = append(parts, fmt.Sprintf("%v left", p.left(rate)))
		}
	}
	text := strings.Join(parts, "  ")
	if room := width - utf8.RuneCountInString(text) - 2; p.name != "" && room > 4 {
		name := []rune(shown(p.name))
		if len(name) > room {
			name = append([]rune("..."), name[len(name)-room+3:]...)
		}
		text += "  " + string(name)
	}
	return text
}

// mostLeft is the longest time that left returns.
const mostLeft = 9999 * time.Hour

// left returns the time that remains at a rate in bytes a second, in whole seconds. Of a tree it is
// the longer one of the times by bytes and by files: the time of a small file hardly depends on its
// size.
func (p *progress) left(rate float64) time.Duration {
	seconds := float64(max(p.allBytes-p.bytes, 0)) / rate
	if p.tree && p.files > 0 {
		seconds = max(seconds, float64(max(p.allFiles-p.files, 0))/float64(p.files)*p.took.Seconds())
	}
	return time.Duration(min(seconds, mostLeft.Seconds()) * float64(time.Second)).Round(time.Second)
}

// sum returns a+b, at most math.MaxInt64. A server may send any size.
func sum(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// amount returns a number of bytes with a unit.
func amount(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if f /= 1000; f < 999.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
