package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rpcrdma/rpcrdma/bench/continued"
	"github.com/rpcrdma/rpcrdma/bench/internal/figures"
)

type report struct {
	figures.Head
	Results []continued.Result `json:"results"`
}

// find returns the result of a case, or nil if it was not measured.
func find(list []continued.Result, provider, direction, way string, inline, size int) *continued.Result {
	for i := range list {
		if r := &list[i]; r.Provider == provider && r.Direction == direction && r.Way == way && r.Inline == inline && r.Size == size {
			return r
		}
	}
	return nil
}

// writeTable writes a line for each inline size and length. Each way has its time in microseconds,
// and the chunks also the time of the continued message relative to theirs.
func (r *report) writeTable(out io.Writer) error {
	if _, err := fmt.Fprintf(out, "%v. us an RPC; in brackets continued, of this\n", r.Head); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, provider := range []string{continued.Mem, continued.RDMATCP} {
		for _, direction := range []string{continued.Call, continued.Reply} {
			ways := continued.Ways(direction)
			fmt.Fprintf(w, "\n%s, %s\tsize", provider, direction)
			for _, way := range ways {
				fmt.Fprintf(w, "\t%s", way)
			}
			fmt.Fprintln(w)
			for _, inline := range continued.Inlines {
				for _, size := range continued.Sizes {
					fmt.Fprintf(w, "inline %d KiB\t%d KiB", inline>>10, size>>10)
					whole := find(r.Results, provider, direction, continued.Continued, inline, size)
					for _, way := range ways {
						x := find(r.Results, provider, direction, way, inline, size)
						switch {
						case x == nil:
							fmt.Fprint(w, "\t-")
						case x == whole || whole == nil:
							fmt.Fprintf(w, "\t%.1f", x.NS/1e3)
						default:
							fmt.Fprintf(w, "\t%.1f (%s)", x.NS/1e3, figures.Ratio(whole.NS/x.NS))
						}
					}
					fmt.Fprintln(w)
				}
			}
		}
	}
	return w.Flush()
}
