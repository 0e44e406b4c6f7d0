// Package history keeps the figures of benchmark runs over commits: a file with a line of JSON for
// each run, and a picture of them.
package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rpcrdma/rpcrdma/bench/internal/target"
)

// version is the version of the lines. Readers refuse others.
const version = 1

// Line is a run.
type Line struct {
	V      int      `json:"v"`
	Commit string   `json:"commit"` // ends in "-dirty" if files were changed
	Date   string   `json:"date"`   // RFC 3339, UTC
	CPUs   int      `json:"cpus"`
	Load   string   `json:"load,omitempty"` // of 1, 5 and 15 minutes, at the end
	Noise  Noise    `json:"noise"`
	Rows   []Figure `json:"rows"`
}

// Figure is a figure that has a target.
type Figure struct {
	Row string `json:"row"` // name, operation and shape
	target.Target
}

// Title is the name of the measure.
func (f *Figure) Title() string { return f.Row + ": " + f.What }

// Commit returns the commit of the working folder, or "unknown".
func Commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// Append adds a line to a file, which it creates if there is none.
func Append(file string, l Line) error {
	l.V = version
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// maxLine is the largest length of a line in bytes.
const maxLine = 1 << 20

// Read returns the lines of a history. The error names the line that has a fault.
func Read(r io.Reader) ([]Line, error) {
	var lines []Line
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		if len(strings.TrimSpace(s.Text())) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case l.V != version:
			return nil, fmt.Errorf("line %d: version %d, expected %d", n, l.V, version)
		case l.Commit == "" || l.Date == "":
			return nil, fmt.Errorf("line %d: no commit or no date", n)
		}
		for _, f := range l.Rows {
			if f.Row == "" || f.What == "" || (f.Most > 0) == (f.Least > 0) {
				return nil, fmt.Errorf("line %d: row %q: expected a row, a measure and one target", n, f.Row)
			}
		}
		lines = append(lines, l)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return lines, nil
}
