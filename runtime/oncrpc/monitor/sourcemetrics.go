package monitor

import (
	"reflect"
	"sync"
)

// sourceMetric is a Metric of Sources: a field of Stats, of the Source itself or of its
// connections.
type sourceMetric struct {
	field, name, help, unit string
	kind                    Kind
}

// sourceMetrics are the fields that Metrics returns. Their kinds are as the comments of the fields
// in packages rdmaio, tcp and udp say.
var sourceMetrics = []sourceMetric{
	{"Accepted", "connections.accepted", "Connections that came up", "", Counter},
	{"Rejected", "connections.rejected", "Connections that were not served", "", Counter},
	{"Connects", "connections.made", "Connections that a client made", "", Counter},
	{"DialFailures", "connections.failed", "Attempts to connect that failed", "", Counter},
	{"Lost", "connections.lost", "Connections that a client did not close", "", Counter},
	{"Stuck", "connections.stuck", "Connections closed because nothing came any more", "", Counter},
	{"IdleCloses", "connections.idle_closes", "Connections closed because they were idle", "", Counter},
	{"Displaced", "connections.displaced", "Idle connections closed to make room", "", Counter},
	{"Memory", "memory", "Memory that Calls and replies take on all connections of a server", "By", Gauge},
	{"Retransmissions", "calls.retransmissions", "Calls sent again", "", Counter},
	{"Repeated", "requests.repeated", "Calls that came again while the first was in progress", "", Counter},
	{"Garbage", "requests.garbage", "Datagrams that are not a Call", "", Counter},
	{"Excess", "requests.excess", "Calls ignored for a limit", "", Counter},
	{"Withheld", "replies.withheld", "Replies not sent for a limit", "", Counter},

	{"Calls", "calls.forward", "Calls sent, or received on the side that serves them", "", Counter},
	{"Replies", "replies.forward", "Replies to them", "", Counter},
	{"Sent", "messages.sent", "Messages sent", "", Counter},
	{"Received", "messages.received", "Messages received", "", Counter},
	{"ErrorMessages", "messages.errors", "RDMA_ERROR messages", "", Counter},
	{"DroppedMessages", "messages.dropped", "Messages received and not acted on", "", Counter},
	{"FaultyMessages", "messages.faulty", "Messages received that broke a rule", "", Counter},
	{"CallsOverCredit", "messages.over_credit", "Calls received beyond the grant", "", Counter},
	{"StrayReplies", "replies.stray", "Replies to no Call", "", Counter},
	{"DroppedCalls", "requests.dropped", "Calls that came during Shutdown", "", Counter},
	{"CanceledRequests", "requests.canceled", "Calls received whose caller gave up", "", Counter},
	{"BytesRead", "rdma.read", "Bytes that RDMA Read moved for Calls received", "By", Counter},
	{"BytesWritten", "rdma.written", "Bytes that RDMA Write moved for Calls received", "By", Counter},
	{"Staged", "rdma.staged", "Bytes that were copied for the device", "By", Counter},
	{"Registrations", "registrations", "Registrations of memory for Calls", "", Counter},
	{"RemoteRegistrations", "registrations.remote", "Registrations with a key for the peer", "", Counter},
	{"RemoteInvalidations", "invalidations.remote", "Keys that replies invalidated", "", Counter},
	{"Revocations", "revocations", "Keys for the peer that this side invalidated", "", Counter},
	{"DelayedCalls", "calls.delayed", "Calls that waited before they were sent", "", Counter},
	{"ZeroGrants", "credits.zero_grants", "Grants received of zero credits", "", Counter},
	{"OverGrants", "credits.over_grants", "Grants received of more than was asked for", "", Counter},
	{"Granted", "credits.granted", "Credits of the connections", "", Gauge},
	{"InFlight", "calls.in_flight", "Calls that were sent, or received, and have no reply", "", Gauge},
	{"Waiting", "calls.waiting", "Calls that wait for a credit or a place, and answers that wait for the send queue", "", Gauge},
	{"Abandoned", "calls.abandoned", "Cancelled Calls that have no reply", "", Gauge},
	{"Requests", "requests.in_progress", "Calls received that have no answer", "", Gauge},
	{"WaitingRequests", "requests.waiting", "Calls received that wait for a handler to end or for memory", "", Gauge},
	{"Unsent", "replies.unsent", "Bytes in replies that are not written", "By", Gauge},
	{"SendQueueFilled", "send_queue.filled", "Entries of send queues in use", "", Gauge},
	{"Regions", "regions", "Memory regions", "", Gauge},
	{"BufferBytes", "buffer", "Bytes in buffers", "By", Gauge},
	{"PinnedBytes", "registered", "Registered memory", "By", Gauge},
}

// tallies has the sums over a Source's connections. They never fall: a connection that has gone is
// still counted.
type tallies struct {
	mu   sync.Mutex
	sum  []uint64         // of sourceMetrics that are Counters
	last map[any][]uint64 // what they were at the last look, by the connections' addresses
}

// metrics adds what a Source and its connections count. It reads them as Look does.
func (n *named) metrics(all *families) {
	name := printable(n.name)
	values := make([]uint64, len(sourceMetrics))
	known := make([]bool, len(sourceMetrics))
	if n.stats != nil {
		addStats(values, known, n.stats())
	}
	if n.conns != nil {
		up := n.tallies.add(n.conns, values, known)
		all.of("connections", "Connections that are up", "", Gauge, "source").add(float64(up), name)
	}
	for i := range sourceMetrics {
		if d := &sourceMetrics[i]; known[i] {
			all.of(d.name, d.help, d.unit, d.kind, "source").add(float64(values[i]), name)
		}
	}
}

// add adds the counts of connections to values.
func (t *tallies) add(list func() []conn, values []uint64, known []bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sum == nil {
		t.sum = make([]uint64, len(sourceMetrics))
	}
	conns := list() // with the lock: an older list has connections that are counted already
	now := make(map[any][]uint64, len(conns))
	for _, c := range conns {
		v := now[c.id] // of a further connection with this address
		if v == nil {
			v = make([]uint64, len(sourceMetrics))
			now[c.id] = v
		}
		addStats(v, known, c.stats())
	}
	for addr, v := range now {
		last := t.last[addr]
		for i, d := range sourceMetrics {
			switch {
			case d.kind == Gauge:
				values[i] += v[i]
			case last == nil || v[i] < last[i]: // another connection from the same address
				t.sum[i] += v[i]
			default:
				t.sum[i] += v[i] - last[i]
			}
		}
	}
	for i, d := range sourceMetrics {
		if d.kind != Gauge {
			values[i] += t.sum[i]
			known[i] = known[i] || t.sum[i] > 0
		}
	}
	t.last = now
	return len(conns)
}

// addStats adds the fields of a Stats to values, and marks those that it has.
func addStats(values []uint64, known []bool, stats any) {
	v := reflect.ValueOf(stats)
	for i, index := range shapeOf(v.Type()).metrics {
		if index != nil {
			values[i] += number(v.FieldByIndex(index))
			known[i] = true
		}
	}
}
