package monitor

import (
	"slices"
	"strings"
	"time"
)

// DefaultMetricsKeep is the time for which Calls are recorded after a look of a collector: more
// than such programs pause between two.
const DefaultMetricsKeep = 5 * time.Minute

// Kind says how a Metric changes.
type Kind int

// The Kinds.
const (
	Counter   Kind = iota // only grows
	Gauge                 // the present state
	Histogram             // of times: Count, Sum and Buckets only grow
)

// Metric is a count or a state under a name, with a Point for each combination of labels.
type Metric struct {
	Name string // words with dots: "client.calls"
	Help string // a sentence without a full stop
	Unit string // "s", "By" for bytes, or empty
	Kind Kind

	// Labels are the names of the labels. They are the same at each look.
	Labels []string

	// Bounds are the upper bounds of a Histogram's buckets, in seconds, growing. One more bucket
	// has no bound.
	Bounds []float64

	// Points are in the order of their Values. No two have equal ones.
	Points []Point
}

// Point has the value of a Metric for some values of the labels.
type Point struct {
	// Values belong to Metric.Labels: printable text and valid UTF-8, at most 128 bytes.
	Values []string

	Value float64 // of a Counter or Gauge

	// Of a Histogram: the number of times, their sum in seconds, and the number in each bucket.
	Count   uint64
	Sum     float64
	Buckets []uint64
}

// Metrics returns the counts for a collector of metrics, such as the modules metrics/prometheus and
// metrics/otel. It begins a recording, or prolongs it, so that it lasts for keep after the last
// such look: DefaultMetricsKeep if keep is not positive. Calls are counted while a recording lasts,
// and the counts go on when the next one begins. The counts of connections (Watch) need no
// recording. A connection that has gone is counted as it was at the last look that saw it.
//
// Config.MaxProcedures and MaxPeers limit the number of Points. A Source has the sums of its
// connections.
func (m *Monitor) Metrics(keep time.Duration) []Metric {
	if keep <= 0 {
		keep = DefaultMetricsKeep
	}
	m.mu.Lock()
	m.look(keep)
	since, procedures, inProgress := m.since, m.counts.all(), m.progress.sides()
	warnings := m.last.dropped + uint64(len(m.last.records))
	peers := make(map[peerKey]peerCounts, len(m.peers.of))
	for k, c := range m.peers.of {
		peers[k] = *c
	}
	sources := slices.Clone(m.sources)
	m.mu.Unlock()

	var all families
	all.of("recording.start.timestamp", "When the recording of Calls began, in seconds since 1970", "s", Gauge).add(float64(since.UnixNano()) / 1e9)
	all.of("warnings", "Warnings and errors of the log", "", Counter).add(float64(warnings))
	for i, n := range inProgress {
		all.of("calls.in_progress", "Calls without a reply that began during the recording", "", Gauge, "side").add(float64(n), sideOf(i == 1))
	}
	for i := range procedures {
		all.procedure(&procedures[i])
	}
	for k, c := range peers {
		all.peer(k, c)
	}
	for _, n := range sources {
		n.metrics(&all)
	}
	return all.list()
}

// sides returns the number of Calls in progress: those that servers got, and that clients made.
func (l *progress) sides() (n [2]int) {
	for c := l.first; c != nil; c = c.next {
		if c.made {
			n[1]++
		} else {
			n[0]++
		}
	}
	return n
}

// procedure adds the counts of a procedure.
func (f *families) procedure(p *Procedure) {
	side, name := sideOf(p.Made), printable(p.Name)
	for outcome, n := range p.Outcomes {
		f.of(side+".calls", "Calls that ended, by the status of the reply", "", Counter, "procedure", "status").add(float64(n), name, outcome)
	}
	f.of(side+".received", "Bytes of the messages received", "By", Counter, "procedure").add(float64(p.Received), name)
	f.of(side+".sent", "Bytes of the messages sent", "By", Counter, "procedure").add(float64(p.Sent), name)
	if !p.Made {
		f.of("server.handler.duration", "Time from the begin of the handler to its reply", "s", Histogram, "procedure").times(&p.Times, name)
		f.of("server.reply.duration", "Time from the reply of the handler until it was sent", "s", Histogram, "procedure").times(&p.Sending, name)
		return
	}
	f.of("client.call.duration", "Time of a Call until it returned", "s", Histogram, "procedure").times(&p.Times, name)
	if p.Parts == nil {
		return
	}
	part := f.of("client.call.part.duration", "Parts of an answered Call: waited for a place or credit, sent, served by network and server, received", "s", Histogram, "procedure", "part")
	part.times(&p.Parts.Waited, name, "waited")
	part.times(&p.Parts.Sent, name, "sent")
	part.times(&p.Parts.Served, name, "served")
	part.times(&p.Parts.Received, name, "received")
}

// peer adds the counts of a peer.
func (f *families) peer(k peerKey, c peerCounts) {
	side := sideOf(k.made) + ".peer."
	f.of(side+"calls", "Calls that ended, by the host of the peer", "", Counter, "peer").add(float64(c.calls), k.host)
	f.of(side+"failures", "Calls that ended without SUCCESS, by the host of the peer", "", Counter, "peer").add(float64(c.failed), k.host)
	f.of(side+"received", "Bytes of the messages received, by the host of the peer", "By", Counter, "peer").add(float64(c.received), k.host)
	f.of(side+"sent", "Bytes of the messages sent, by the host of the peer", "By", Counter, "peer").add(float64(c.sent), k.host)
	f.of(side+"time", "Time that Calls took, by the host of the peer", "s", Counter, "peer").add(c.took.Seconds(), k.host)
}

// families are the Metrics of a look, in the order of their first Points.
type families struct {
	all []*family
	at  map[string]*family
}

// family is a Metric, with its Points by their values.
type family struct {
	Metric
	at map[string]int
}

// of returns the family with a name.
func (f *families) of(name, help, unit string, kind Kind, labels ...string) *family {
	if of := f.at[name]; of != nil {
		return of
	}
	of := &family{Metric: Metric{Name: name, Help: help, Unit: unit, Kind: kind, Labels: labels}, at: make(map[string]int)}
	if kind == Histogram {
		of.Bounds = metricBounds
	}
	if f.at == nil {
		f.at = make(map[string]*family)
	}
	f.at[name] = of
	f.all = append(f.all, of)
	return of
}

// list returns the Metrics, with their Points in order.
func (f *families) list() []Metric {
	list := make([]Metric, len(f.all))
	for i, of := range f.all {
		list[i] = of.Metric
		slices.SortFunc(list[i].Points, func(a, b Point) int { return slices.Compare(a.Values, b.Values) })
	}
	return list
}

// point returns the Point with some values. Procedures, and Sources, may have the same name.
func (f *family) point(values []string) *Point {
	key := strings.Join(values, "\xff") // which valid UTF-8 does not contain
	i, ok := f.at[key]
	if !ok {
		i = len(f.Points)
		f.at[key] = i
		f.Points = append(f.Points, Point{Values: values})
	}
	return &f.Points[i]
}

// add adds a number.
func (f *family) add(v float64, values ...string) { f.point(values).Value += v }

// times adds durations.
func (f *family) times(t *Times, values ...string) {
	p := f.point(values)
	p.Count += t.Count
	p.Sum += t.Sum.Seconds()
	if p.Buckets == nil {
		p.Buckets = make([]uint64, len(metricBounds)+1)
	}
	for i, n := range t.buckets {
		p.Buckets[metricBucket(i)] += n
	}
}

// The buckets of a Histogram have the powers of two from 2^13 to 2^36 ns as bounds: 8 us to 69 s.
const (
	metricFirst = 13
	metricLast  = 36
)

var metricBounds = func() (bounds []float64) {
	for log := metricFirst; log <= metricLast; log++ {
		bounds = append(bounds, time.Duration(1<<log).Seconds())
	}
	return bounds
}()

// metricBucket returns the bucket of a Histogram for bucket i of Times: the first one is below
// 2^timesFirst ns, and then there are four for each power of two.
func metricBucket(i int) int {
	if i == 0 {
		return 0
	}
	return min(max(timesFirst+(i-1)/4+1-metricFirst, 0), metricLast-metricFirst+1)
}
