// Package figures holds the parts that the reports of the benchmark commands share: the machine and
// the parameters of the measurement, and the form of figures and of JSON.
package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Head describes the machine and the parameters of a measurement.
type Head struct {
	Go      string `json:"go"`
	CPUs    int    `json:"cpus"`
	Load    string `json:"load,omitempty"` // of 1, 5 and 15 minutes, at NewHead
	Rounds  int    `json:"rounds"`
	SliceNS int64  `json:"slice_ns,omitempty"` // of one case in one round
}

// NewHead returns a Head for this machine. slice is 0 if a round is one run.
func NewHead(rounds int, slice time.Duration) Head {
	h := Head{Go: runtime.Version(), CPUs: runtime.GOMAXPROCS(0), Rounds: rounds, SliceNS: slice.Nanoseconds()}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(b)); len(f) >= 3 {
			h.Load = strings.Join(f[:3], " ")
		}
	}
	return h
}

// String returns the beginning of a table's first line.
func (h Head) String() string {
	text := fmt.Sprintf("%s, %d CPUs", h.Go, h.CPUs)
	if h.Load != "" {
		text += ", load " + h.Load
	}
	text += fmt.Sprintf("; medians of %d rounds", h.Rounds)
	if h.SliceNS > 0 {
		text += fmt.Sprintf(" of %v ms", float64(h.SliceNS)/1e6)
	}
	return text
}

// JSON writes a report as indented JSON.
func JSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(report)
}

// Ratio returns a ratio as the text of a table's cell; 0 means none.
func Ratio(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}
