package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The line has the totals of a tree, with a plus sign while they may still grow, and without a
// share or a time that is not known yet.
func TestLineOfProgress(t *testing.T) {
	for _, tt := range []struct {
		p    progress
		want string
	}{
		{progress{name: "name", allFiles: 1, bytes: 3e6, allBytes: 6e6, copied: 2e6, complete: true, took: 2 * time.Second}, "3.0 MB of 6.0 MB  50%  1.0 MB/s  3s left  name"},
		{progress{name: "dir/name", files: 6, allFiles: 40, bytes: 3e9, allBytes: 6e9, copied: 2e9, complete: true, tree: true, took: 20 * time.Second}, "6 of 40 files  3.0 GB of 6.0 GB  50%  100.0 MB/s  1m53s left  dir/name"},
		{progress{files: 36, allFiles: 40, bytes: 3e9, allBytes: 6e9, copied: 2e9, complete: true, tree: true, took: 20 * time.Second}, "36 of 40 files  3.0 GB of 6.0 GB  50%  100.0 MB/s  30s left"},
		{progress{allFiles: 40, bytes: 3e9, allBytes: 6e9, copied: 2e9, complete: true, tree: true, took: 20 * time.Second}, "0 of 40 files  3.0 GB of 6.0 GB  50%  100.0 MB/s  30s left"},
		{progress{bytes: math.MaxInt64 / 2, allBytes: math.MaxInt64, copied: 1, complete: true, took: time.Second}, "4611686.0 TB of 9223372.0 TB  50%  1 B/s  9999h0m0s left"},
		{progress{files: 6, allFiles: 40, bytes: 999, allBytes: 1000, copied: 5, tree: true, took: time.Second}, "6 of 40+ files  999 B of 1.0 kB+  5 B/s"},
		{progress{allFiles: 1, complete: true, took: time.Second}, "0 B of 0 B"},
		{progress{bytes: 7, allBytes: 5, copied: 7, complete: true, took: time.Second}, "7 B of 5 B  100%  7 B/s  0s left"},
		{progress{allBytes: 999_960, complete: true, took: time.Second}, "0 B of 1.0 MB  0%"},
	} {
		if got := tt.p.line(80); got != tt.want {
			t.Errorf("found %q, expected %q", got, tt.want)
		}
	}
	p := progress{name: strings.Repeat("é", 300) + ".end", took: time.Second}
	for _, width := range []int{20, 40, 79} {
		if got := p.line(width); utf8.RuneCountInString(got) > width || width > 20 && !strings.HasSuffix(got, "é.end") {
			t.Errorf("%d columns: %q", width, got)
		}
	}
	p.name = "a\x1b[31m"
	if got := p.line(80); strings.Contains(got, "\x1b") {
		t.Errorf("a name with an escape sequence is shown as %q", got)
	}
}

// Bytes that are counted twice, because they are written again, make no file larger than it is.
// Bytes that were there before are done, and do not count for the rate.
func TestMeterCountsFiles(t *testing.T) {
	var m meter
	m.begun = time.Now()
	m.found(2, 300)
	m.file("a", 100, 40)
	m.add(60)
	m.add(60)
	if p := m.at(m.begun.Add(time.Second)); p.bytes != 100 || p.copied != 120 || p.files != 0 || p.name != "a" || p.took != time.Second {
		t.Errorf("%+v", p)
	}
	m.finished(100)
	if p := m.at(m.begun); p.bytes != 100 || p.files != 1 || p.name != "" || p.allFiles != 2 || p.allBytes != 300 || p.complete {
		t.Errorf("%+v", p)
	}
}

// Sizes that a server makes up do not make a number negative.
func TestSizesOfAHostileServer(t *testing.T) {
	var m meter
	m.begun = time.Now()
	for range 3 {
		m.found(1, math.MaxInt64)
		m.file("a", math.MaxInt64, math.MaxInt64)
		m.add(1 << 20)
		if p := m.at(m.begun.Add(time.Second)); p.bytes < 0 || p.allBytes != math.MaxInt64 {
			t.Errorf("%+v", p)
		}
		m.finished(math.MaxInt64)
	}
	if p := m.at(m.begun); p.bytes != math.MaxInt64 || p.copied != 3<<20 || p.files != 3 {
		t.Errorf("%+v", p)
	}
}

// With -json the totals of a tree come when all is found, without parts of copies, and all of it is
// done at the end, whether it was copied, was there, or failed. With -q no totals come.
func TestTotalsOfATree(t *testing.T) {
	f := serve(t, "tcp")
	dest := filepath.Join(f.base, "dest")
	for _, dir := range []string{filepath.Join(f.dir, "sub"), filepath.Join(dest, "blocked")} {
		check(t, os.MkdirAll(dir, 0o755))
	}
	write(t, filepath.Join(f.dir, "a"), 100)
	write(t, filepath.Join(f.dir, "blocked"), 5)
	write(t, filepath.Join(f.dir, "sub", "b"), 20)
	write(t, filepath.Join(f.dir, "b"+partEnding), 3000)
	check(t, os.Symlink("a", filepath.Join(f.dir, "link")))
	var p program
	found := make(chan struct{})
	out := &trigger{at: `"totals"`, do: func() { close(found) }}
	p.stdout, p.stderr, p.json = out, new(bytes.Buffer), true
	p.cfg.Window = 1 << 20
	job := &copier{program: &p, ctx: t.Context(), from: local{root(t, f.dir)}, to: local{root(t, dest)}}
	job.data = func(name, part string, from, size int64, stored func(int64) error) error {
		select {
		case <-found: // the scan is first
		case <-time.After(time.Minute): // of a test that hangs
			return errors.New("no totals came")
		}
		job.meter.add(int(size - from))
		if err := stored(size); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dest, part), make([]byte, size), 0o600)
	}
	if err := job.copy(".", "."); err == nil || exitCode(err) != exitPartial {
		t.Errorf("%v, expected that a file was not copied", err)
	}
	var totals struct {
		Type  string
		Files int
		Size  int64 `json:"size_bytes"`
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, `"totals"`) {
			check(t, json.Unmarshal([]byte(line), &totals))
		}
	}
	if now := job.meter.at(time.Now()); totals.Files != 4 || totals.Size != 125 || now.files != 4 || now.bytes != 125 || now.allBytes != 125 || !now.complete {
		t.Errorf("totals %+v, at the end %+v", totals, now)
	}
	if out := f.done(t, "get", "-r", "-q", "-json", target+"/sub", filepath.Join(f.base, "other")); strings.Contains(out, "totals") {
		t.Error(out)
	}
}

func exitCode(err error) int { _, code := exitOf(err); return code }

// A directory that cannot be listed leaves the totals incomplete.
func TestScanOfUnlistedDirectory(t *testing.T) {
	job := &copier{program: &program{}, from: unlisted{}}
	job.scan(".")()
	if job.meter.now.complete || job.meter.now.allFiles != 0 {
		t.Errorf("%+v", job.meter.now)
	}
}

// unlisted is a side whose listing fails.
type unlisted struct{ side }

func (unlisted) list(string) iter.Seq2[fs.FileInfo, error] {
	return func(yield func(fs.FileInfo, error) bool) { yield(nil, errors.New("no list")) }
}
