package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/hist"
	"github.com/rpcrdma/rpcrdma/internal/cputime"
)

// results reports a measurement, at intervals and at its end.
type results struct {
	m           *measurement
	start, last time.Time
	took        time.Duration
	cpu         time.Duration
	all         hist.Histogram
	bytes       uint64
}

func newReport(m *measurement) *results {
	kind := "to"
	switch {
	case m.Bidir:
		kind = "to and from"
	case m.Reverse:
		kind = "from"
	}
	t := m.conns.first.Terms()
	if m.JSON {
		fields := map[string]any{
			"address": m.addr, "provider": m.Provider, "size_bytes": int(m.Size), "depth": m.Depth, "connections": m.Parallel, "direction": kind, "async": m.Async,
		}
		termsJSON(fields, &t)
		tlsJSON(fields, m.conns.first)
		printJSON(m.env, "start", fields)
	} else if !m.Quiet {
		fmt.Fprintf(m.env.stdout, "%d bytes %s %s over %s, RPC-over-RDMA version %d: %d at a time on %s\n",
			m.Size, kind, m.addr, m.Provider, t.Version, m.Depth*m.Parallel, count(m.Parallel, "connection", "connections"))
		printTLS(m.env, m.conns.first)
	}
	return &results{m: m}
}

// begin starts the clock.
func (r *results) begin() {
	r.m.conns.begin()
	r.start = time.Now()
	r.last, r.cpu = r.start, cputime.Used()
}

// stop stops the clock.
func (r *results) stop() { r.took, r.cpu = time.Since(r.start), cputime.Used()-r.cpu }

// collect returns the times and bytes since the last report, and adds them to the totals.
func (r *results) collect() (times hist.Histogram, bytes uint64) {
	for i := range r.m.shards {
		bytes += r.m.shards[i].drain(&times)
	}
	r.all.Merge(&times)
	r.bytes += bytes
	return times, bytes
}

// interval reports the calls since the last report.
func (r *results) interval() {
	times, bytes := r.collect()
	now := time.Now()
	from, to, took := r.last.Sub(r.start), now.Sub(r.start), now.Sub(r.last)
	r.last = now
	switch {
	case r.m.Quiet, times.Count() == 0 && r.m.halted(): // it failed; the error follows
	case r.m.JSON:
		fields := figures(&times, bytes, took)
		fields["from_ns"], fields["to_ns"] = from, to
		printJSON(r.m.env, "interval", fields)
	default:
		fmt.Fprintf(r.m.env.stdout, "%5.1f-%-5.1f s  %s\n", from.Seconds(), to.Seconds(), line(&times, bytes, took))
	}
}

// end reports the whole measurement. It prints nothing if no call was counted: an error follows.
func (r *results) end() {
	r.collect()
	if r.all.Count() == 0 {
		return
	}
	calls := float64(r.all.Count())
	if r.m.JSON {
		fields := figures(&r.all, r.bytes, r.took)
		fields["took_ns"], fields["cpu_per_call_ns"] = r.took, float64(r.cpu)/calls
		if r.m.Parallel > 1 {
			fields["connection_calls"] = r.m.conns.counts()
		}
		if r.m.Histogram {
			var list []map[string]any
			for _, b := range r.all.Buckets() {
				list = append(list, map[string]any{"up_to_ns": b.UpTo, "count": b.Count})
			}
			fields["histogram"] = list
		}
		printJSON(r.m.env, "end", fields)
		return
	}
	out := r.m.env.stdout
	fmt.Fprintf(out, "%11s  %s\n", "all", line(&r.all, r.bytes, r.took))
	fmt.Fprintf(out, "time of a call: min %v, mean %v, max %v\n", rounded(r.all.Min()), rounded(r.all.Mean()), rounded(r.all.Max()))
	if r.cpu > 0 {
		fmt.Fprintf(out, "processor time of this process: %v a call\n", rounded(time.Duration(float64(r.cpu)/calls)))
	}
	if counts := r.m.conns.counts(); r.m.Parallel > 1 {
		fmt.Fprintf(out, "calls of each connection: %s; %s made\n", spread(counts), count(len(counts), "connection", "connections"))
	}
	if r.m.Histogram {
		fmt.Fprint(out, bars(&r.all))
	}
}

// figures returns the figures of an interval as JSON fields.
func figures(h *hist.Histogram, bytes uint64, took time.Duration) map[string]any {
	s := max(took.Seconds(), 1e-9)
	return map[string]any{
		"calls": h.Count(), "data_bytes": bytes, "calls_per_s": float64(h.Count()) / s, "bytes_per_s": float64(bytes) / s,
		"min_ns": h.Min(), "mean_ns": h.Mean(), "max_ns": h.Max(),
		"p50_ns": h.Quantile(0.5), "p90_ns": h.Quantile(0.9), "p99_ns": h.Quantile(0.99), "p999_ns": h.Quantile(0.999),
	}
}

// line returns the same figures as a line of text.
func line(h *hist.Histogram, bytes uint64, took time.Duration) string {
	s := max(took.Seconds(), 1e-9)
	return fmt.Sprintf("%9.0f calls/s  %9.2f MB/s  p50 %v  p90 %v  p99 %v  p99.9 %v", float64(h.Count())/s, float64(bytes)/s/1e6,
		rounded(h.Quantile(0.5)), rounded(h.Quantile(0.9)), rounded(h.Quantile(0.99)), rounded(h.Quantile(0.999)))
}

// spread returns the least, the median and the largest of the counts as text.
func spread(counts []uint64) string {
	if len(counts) == 0 {
		return "none"
	}
	slices.Sort(counts)
	return fmt.Sprintf("min %d, median %d, max %d", counts[0], counts[len(counts)/2], counts[len(counts)-1])
}

// bars returns a histogram as text. There are two rows for each power of two; rows without samples
// are left out.
func bars(h *hist.Histogram) string {
	type row struct {
		upTo  time.Duration
		count uint64
	}
	var rows []row
	most := uint64(1)
	for _, b := range h.Buckets() {
		edge := time.Duration(1)
		for half := false; edge < b.UpTo; half = !half {
			if half {
				edge += edge / 3
			} else {
				edge += (edge + 1) / 2
			}
		}
		if k := len(rows); k == 0 || rows[k-1].upTo != edge {
			rows = append(rows, row{upTo: edge})
		}
		k := len(rows) - 1
		rows[k].count += b.Count
		most = max(most, rows[k].count)
	}
	var out strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&out, "up to %-10v %10d  %s\n", rounded(r.upTo), r.count, strings.Repeat("#", int(50*r.count/most)))
	}
	return out.String()
}
