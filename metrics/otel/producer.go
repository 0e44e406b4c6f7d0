package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/rpcrdma/rpcrdma"

// Config configures a Producer. The zero value, and nil, have the defaults.
type Config struct {
	// Keep is the time for which Calls are recorded after a collection. It must be longer than the
	// time between two, or the Calls after it are not counted: monitor.DefaultMetricsKeep, 5 min,
	// if not positive.
	Keep time.Duration
}

// Producer reads a Monitor when a reader collects. Its methods are safe for concurrent use.
type Producer struct {
	m     *monitor.Monitor
	keep  time.Duration
	began time.Time
}

var _ metric.Producer = (*Producer)(nil)

// NewProducer returns a Producer of a Monitor, for metric.WithProducer. cfg may be nil.
func NewProducer(m *monitor.Monitor, cfg *Config) *Producer {
	p := &Producer{m: m, began: time.Now()}
	if cfg != nil {
		p.keep = cfg.Keep
	}
	return p
}

// Produce implements metric.Producer. A name is that in monitor.Metric after "rpcrdma.". It
// returns an error if ctx is done.
func (p *Producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, now := p.m.Metrics(p.keep), time.Now()
	scope := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: Scope}}
	for i := range list {
		d := &list[i]
		if len(d.Points) == 0 {
			continue
		}
		of := metricdata.Metrics{Name: "rpcrdma." + d.Name, Description: d.Help, Unit: d.Unit}
		if of.Unit == "" {
			of.Unit = "1"
		}
		switch d.Kind {
		case monitor.Histogram:
			of.Data = p.histogram(d, now)
		case monitor.Gauge:
			of.Data = metricdata.Gauge[float64]{DataPoints: p.numbers(d, now, time.Time{})}
		default:
			of.Data = metricdata.Sum[float64]{DataPoints: p.numbers(d, now, p.began), Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
		}
		scope.Metrics = append(scope.Metrics, of)
	}
	return []metricdata.ScopeMetrics{scope}, nil
}

// numbers returns the points of a Counter or Gauge.
func (p *Producer) numbers(d *monitor.Metric, now, since time.Time) []metricdata.DataPoint[float64] {
	points := make([]metricdata.DataPoint[float64], len(d.Points))
	for i := range d.Points {
		points[i] = metricdata.DataPoint[float64]{Attributes: attributes(d, &d.Points[i]), StartTime: since, Time: now, Value: d.Points[i].Value}
	}
	return points
}

// histogram returns the points of a Histogram.
func (p *Producer) histogram(d *monitor.Metric, now time.Time) metricdata.Histogram[float64] {
	points := make([]metricdata.HistogramDataPoint[float64], len(d.Points))
	for i := range d.Points {
		of := &d.Points[i]
		points[i] = metricdata.HistogramDataPoint[float64]{
			Attributes: attributes(d, of), StartTime: p.began, Time: now,
			Count: of.Count, Sum: of.Sum, Bounds: d.Bounds, BucketCounts: of.Buckets,
		}
	}
	return metricdata.Histogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality}
}

// attributes returns the labels of a Point.
func attributes(d *monitor.Metric, p *monitor.Point) attribute.Set {
	list := make([]attribute.KeyValue, len(d.Labels))
	for i, name := range d.Labels {
		list[i] = attribute.String(name, p.Values[i])
	}
	return attribute.NewSet(list...)
}
