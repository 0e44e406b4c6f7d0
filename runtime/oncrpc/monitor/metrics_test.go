package monitor_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// get serves a Call of a procedure for a peer.
func get(m *monitor.Monitor, addr string, prog, proc uint32) {
	serve(m, &responder{addr: addr}, callOf(7, prog, 2, proc), func(r *oncrpc.Request) { r.Reply(replyOf(7, oncrpc.Success), nil) })
}

// metric returns the Metric with a name.
func metric(list []monitor.Metric, name string) monitor.Metric {
	for _, d := range list {
		if d.Name == name {
			return d
		}
	}
	return monitor.Metric{}
}

// value returns a number of a Metric, or -1 if there is no such Point.
func value(list []monitor.Metric, name string, values ...string) float64 {
	for _, p := range metric(list, name).Points {
		if slices.Equal(p.Values, values) {
			return p.Value + float64(p.Count)
		}
	}
	return -1
}

// A look of a collector keeps the recording for its own time, and one at the page does not shorten
// it. The counts go on with the next recording.
func TestMetricsKeepTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}})
		calls := func() float64 { return value(m.Metrics(time.Minute), "server.calls", "STORE2 GET", "SUCCESS") }
		get(m, "192.0.2.1:9", 400, 1) // before the first look
		if n := calls(); n != -1 {
			t.Errorf("%v calls before the first look", n)
		}
		time.Sleep(50 * time.Second)
		m.Look(monitor.Query{})
		get(m, "192.0.2.1:9", 400, 1)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		get(m, "192.0.2.1:9", 400, 1) // the recording is over
		if n := calls(); n != 1 {
			t.Errorf("%v calls, want the one of the first recording", n)
		}
		m.Look(monitor.Query{})
		time.Sleep(59 * time.Second)
		get(m, "192.0.2.1:9", 400, 1)
		list := m.Metrics(0)
		if n := value(list, "server.calls", "STORE2 GET", "SUCCESS"); n != 2 {
			t.Errorf("%v calls, want the two of both recordings", n)
		}
		if n := value(list, "recording.start.timestamp"); n != float64(time.Now().Add(-59*time.Second).Unix()) {
			t.Errorf("the recording began at %v", n)
		}
		time.Sleep(monitor.DefaultMetricsKeep - 1)
		get(m, "192.0.2.1:9", 400, 1)
		if n := calls(); n != 3 {
			t.Errorf("%v calls after a pause that is shorter than the default", n)
		}
		time.Sleep(time.Hour)
	})
}

// Peers and procedures without end, with hostile names, make few labels of valid text. The
// procedures of the program stay apart, however late their first calls are.
func TestPeersMakeUpFewLabels(t *testing.T) {
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}, Keep: -1, MaxProcedures: 20, MaxPeers: 30})
	names := []string{"\xff\xfe", "a\nb", `"} 1`, `\`, "\u202e", "é\xc3", strings.Repeat("é", 500), "others", "\x00"}
	for i := range 10_000 {
		get(m, names[i%len(names)]+fmt.Sprint(i), uint32(i), uint32(i)*7)
	}
	get(m, "late", 400, 1)
	get(m, "late", 400, 2)
	list := m.Metrics(0)
	for _, d := range list {
		if n := len(d.Points); n > 31 {
			t.Errorf("%s has %d points", d.Name, n)
		}
		for _, p := range d.Points {
			for _, v := range p.Values {
				if !utf8.ValidString(v) || len(v) > 128 || strings.ContainsAny(v, "\n\x00\u202e") {
					t.Errorf("%s has the label %q", d.Name, v)
				}
			}
		}
	}
	if n := value(list, "server.calls", "STORE2 GET", "SUCCESS"); n != 1 {
		t.Errorf("%v calls of a known procedure", n)
	}
	sum := 0.0
	for _, p := range metric(list, "server.peer.calls").Points {
		sum += p.Value
	}
	if n := value(list, "server.peer.calls", "others"); sum != 10_002 || n < 8_800 {
		t.Errorf("%v of %v calls are of others", n, sum)
	}
}

// Known procedures are limited, too.
func TestKnownProceduresAreLimited(t *testing.T) {
	many := program
	many.Procedures = map[uint32]string{0: "A", 1: "B", 2: "C", 3: "D", 4: "E", 5: "F"}
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{many}, Keep: -1, MaxProcedures: 4})
	for proc := range uint32(6) {
		get(m, "a", 400, proc)
	}
	if n := value(m.Metrics(0), "server.calls", "others", "SUCCESS"); n != 2 {
		t.Errorf("%v calls of others, want 2", n)
	}
}

// Names that differ only in what labels cannot have become one.
func TestEqualLabelsAreOnePoint(t *testing.T) {
	twin := program
	twin.Number = 401
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program, twin}, Keep: -1, ByPeer: true})
	for i, addr := range []string{"a\xff", "a\xfe", "a\x01"} {
		get(m, addr, 400+uint32(i%2), 1)
	}
	list := m.Metrics(0)
	if n := value(list, "server.handler.duration", "STORE2 GET"); n != 3 || len(metric(list, "server.handler.duration").Points) != 1 {
		t.Errorf("%+v", metric(list, "server.handler.duration"))
	}
	if n := value(list, "server.peer.calls", "a\ufffd"); n != 3 {
		t.Errorf("%+v", metric(list, "server.peer.calls"))
	}
}

// Counts of connections never fall: a connection that has gone leaves what it had at the last look,
// and a new one from its address begins at zero. States are the present ones.
func TestCountsOfConnectionsNeverFall(t *testing.T) {
	m, s := monitor.New(nil), &sums{}
	m.Watch("files", monitor.Server(s))
	m.Watch("more", monitor.Client(ofServer{}))
	for i, step := range []struct {
		conns          []sumConn
		sent, inFlight float64
	}{
		{[]sumConn{{"a", 5, 1}, {"b", 7, 2}}, 12, 3},
		{[]sumConn{{"a", 6, 0}, {"b", 7, 2}}, 13, 2},
		{[]sumConn{{"b", 8, 1}}, 14, 1},
		{nil, 14, 0},
		{[]sumConn{{"a", 2, 1}, {"a", 3, 1}}, 19, 2}, // two from one address
		{[]sumConn{{"a", 1, 0}}, 20, 0},
	} {
		s.conns = step.conns
		list := m.Metrics(0)
		if sent, inFlight := value(list, "messages.sent", "files"), value(list, "calls.in_flight", "files"); sent != step.sent || len(step.conns) > 0 && inFlight != step.inFlight {
			t.Errorf("step %d: %v sent and %v in flight, want %v and %v", i, sent, inFlight, step.sent, step.inFlight)
		}
		if n := value(list, "connections", "files"); n != float64(len(step.conns)) {
			t.Errorf("step %d: %v connections", i, n)
		}
	}
	if n := value(m.Metrics(0), "connections.accepted", "more"); n != 9 {
		t.Errorf("%v accepted", n)
	}
	if n := value(m.Metrics(0), "connections.accepted", "files"); n != 9 {
		t.Errorf("%v accepted", n)
	}
}

// Connections with one address, such as a process has over local sockets, are counted apart.
func TestConnectionsOfOneAddressAreCountedApart(t *testing.T) {
	m, s := monitor.New(nil), &pointers{conns: []*sumConn{{"unix:uid=0,pid=7", 1000, 0}, {"unix:uid=0,pid=7", 10, 0}}}
	m.Watch("files", monitor.Server(s))
	m.Metrics(0)
	s.conns = s.conns[:1]
	if n := value(m.Metrics(0), "messages.sent", "files"); n != 1010 {
		t.Errorf("%v sent, want 1010", n)
	}
}

// pointers is a server whose connections are pointers, as the carriers have them.
type pointers struct {
	ofServer
	conns []*sumConn
}

func (s *pointers) Conns() []*sumConn { return s.conns }

type ofServer struct{}

type serverCounts struct{ Accepted uint64 }

func (ofServer) Stats() serverCounts { return serverCounts{9} }

// sums is a server whose connections count.
type sums struct {
	ofServer
	conns []sumConn
}

type sumConn struct {
	addr string
	sent uint64
	busy int
}

func (s *sums) Conns() []sumConn       { return s.conns }
func (c sumConn) RemoteAddr() string   { return c.addr }
func (c sumConn) Stats() (n sumCounts) { n.Sent, n.InFlight = c.sent, c.busy; return n }

type sumCounts struct {
	Sent     uint64
	InFlight int
}

// The buckets of a Histogram are below their bounds.
func TestBucketsOfHistograms(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	all := []time.Duration{0, 1023, 8191, 8192, 8193, 1 << 20, 3 << 20, time.Second, 1<<36 - 1, 1 << 36, 10 * time.Minute}
	for _, d := range all {
		monitor.AddTime(m, d)
	}
	h := metric(m.Metrics(0), "server.handler.duration")
	p := h.Points[0]
	if p.Count != uint64(len(all)) || len(p.Buckets) != len(h.Bounds)+1 {
		t.Fatalf("%+v", h)
	}
	below := uint64(0)
	for i, bound := range h.Bounds {
		want := uint64(0)
		for _, d := range all {
			if d.Seconds() < bound {
				want++
			}
		}
		if below += p.Buckets[i]; below != want {
			t.Errorf("%d below %v s, want %d", below, bound, want)
		}
	}
}

// Looks and calls of many goroutines do not race, and no call is lost.
func TestMetricsAtOnce(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1})
	m.Watch("files", monitor.Server(&sums{conns: []sumConn{{"a", 1, 1}}}))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				get(m, fmt.Sprint("peer", i), 400, uint32(i))
				m.Metrics(0)
			}
		})
	}
	wg.Wait()
	sum := 0.0
	for _, p := range metric(m.Metrics(0), "server.calls").Points {
		sum += p.Value
	}
	if sum != 400 {
		t.Errorf("%v calls", sum)
	}
}

// The text is in the format of Prometheus, with what peers choose escaped.
func TestMetricsAsText(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1, Programs: []oncrpc.Program{program}})
	get(m, `a"\`, 400, 1)
	w := httptest.NewRecorder()
	m.ServeMetrics(w, httptest.NewRequest("GET", "/metrics", nil))
	body, _ := io.ReadAll(w.Body)
	for _, line := range []string{
		"# TYPE rpcrdma_server_calls_total counter",
		`rpcrdma_server_calls_total{procedure="STORE2 GET",status="SUCCESS"} 1`,
		`rpcrdma_server_peer_calls_total{peer="a\"\\"} 1`,
		"# TYPE rpcrdma_server_handler_duration_seconds histogram",
		`rpcrdma_server_handler_duration_seconds_bucket{procedure="STORE2 GET",le="+Inf"} 1`,
		`rpcrdma_server_handler_duration_seconds_bucket{procedure="STORE2 GET",le="1.073741824"} 1`,
		`rpcrdma_server_handler_duration_seconds_count{procedure="STORE2 GET"} 1`,
		`rpcrdma_calls_in_progress{side="client"} 0`,
		"rpcrdma_warnings_total 0",
	} {
		if !strings.Contains(string(body), "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if ct := w.Header().Get("Content-Type"); ct != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("type %q", ct)
	}
	w = httptest.NewRecorder()
	if m.ServeMetrics(w, httptest.NewRequest("POST", "/metrics", nil)); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
}
