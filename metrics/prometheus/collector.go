package prometheus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// Config configures a Collector. The zero value, and nil, have the defaults.
type Config struct {
	// Keep is the time for which Calls are recorded after a scrape. It must be longer than the time
	// between two, or the Calls after it are not counted: monitor.DefaultMetricsKeep, 5 min, if not
	// positive.
	Keep time.Duration

	// Labels are added to each metric: the name of the program where several have one registry.
	Labels map[string]string
}

// Collector reads a Monitor when a registry gathers. Its methods are safe for concurrent use.
type Collector struct {
	m      *monitor.Monitor
	keep   time.Duration
	labels prometheus.Labels
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of a Monitor, to be registered. A registry takes two of them
// without an error: they need different Config.Labels. cfg may be nil.
func NewCollector(m *monitor.Monitor, cfg *Config) *Collector {
	c := &Collector{m: m}
	if cfg != nil {
		c.keep, c.labels = cfg.Keep, cfg.Labels
	}
	return c
}

// Describe implements prometheus.Collector. It sends nothing: which metrics there are depends on
// the carriers that are used.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, d := range c.m.Metrics(c.keep) {
		desc := prometheus.NewDesc(d.PrometheusName(), d.Help, d.Labels, c.labels)
		for i := range d.Points {
			to <- metricOf(desc, &d, &d.Points[i])
		}
	}
}

// metricOf returns the metric of a Point.
func metricOf(desc *prometheus.Desc, d *monitor.Metric, p *monitor.Point) prometheus.Metric {
	var m prometheus.Metric
	var err error
	switch d.Kind {
	case monitor.Histogram:
		buckets, below := make(map[float64]uint64, len(d.Bounds)), uint64(0)
		for i, bound := range d.Bounds {
			below += p.Buckets[i]
			buckets[bound] = below
		}
		m, err = prometheus.NewConstHistogram(desc, p.Count, p.Sum, buckets, p.Values...)
	case monitor.Gauge:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, p.Value, p.Values...)
	default:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, p.Value, p.Values...)
	}
	if err != nil { // a faulty name in Config.Labels
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}
