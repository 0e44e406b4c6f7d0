package monitor

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// PrometheusName returns the name of a Metric by the conventions of Prometheus, with the unit and
// the kind: "client.call.duration" is rpcrdma_client_call_duration_seconds.
func (d *Metric) PrometheusName() string {
	name := "rpcrdma_" + strings.ReplaceAll(d.Name, ".", "_")
	switch d.Unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	if d.Kind == Counter {
		name += "_total"
	}
	return name
}

// String returns the name of a Kind: "counter", "gauge" or "histogram".
func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Gauge:
		return "gauge"
	}
	return "histogram"
}

// ServeMetrics serves what Metrics(0) returns in the text format of Prometheus, version 0.0.4, for
// a program without a registry:
//
//	mux.HandleFunc("/metrics", m.ServeMetrics)
//
// The access is as for the page: it shows clients' hosts.
func (m *Monitor) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are only read", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	var b bytes.Buffer
	for _, d := range m.Metrics(0) {
		d.appendText(&b)
	}
	_, _ = w.Write(b.Bytes())
}

// The text format has escapes for help texts, and for labels' values.
var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// appendText writes the lines of a Metric.
func (d *Metric) appendText(b *bytes.Buffer) {
	name := d.PrometheusName()
	b.WriteString("# HELP " + name + " " + helpEscapes.Replace(d.Help) + "\n# TYPE " + name + " " + d.Kind.String() + "\n")
	line := func(suffix string, p *Point, le, value string) {
		b.WriteString(name + suffix)
		open := byte('{')
		label := func(name, value string) {
			b.WriteByte(open)
			b.WriteString(name + `="` + valueEscapes.Replace(value) + `"`)
			open = ','
		}
		for i, v := range p.Values {
			label(d.Labels[i], v)
		}
		if le != "" {
			label("le", le)
		}
		if open == ',' {
			b.WriteByte('}')
		}
		b.WriteString(" " + value + "\n")
	}
	for i := range d.Points {
		p := &d.Points[i]
		if d.Kind != Histogram {
			line("", p, "", number64(p.Value))
			continue
		}
		below := uint64(0)
		for k, bound := range d.Bounds {
			below += p.Buckets[k]
			line("_bucket", p, number64(bound), strconv.FormatUint(below, 10))
		}
		line("_bucket", p, "+Inf", strconv.FormatUint(p.Count, 10))
		line("_sum", p, "", number64(p.Sum))
		line("_count", p, "", strconv.FormatUint(p.Count, 10))
	}
}

func number64(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
