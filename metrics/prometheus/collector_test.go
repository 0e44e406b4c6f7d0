package prometheus_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rpcrdma/rpcrdma/metrics/prometheus"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// program is the one that the tests call.
var program = oncrpc.Program{Number: 400, Version: 2, Name: "STORE2", Procedures: map[uint32]string{1: "GET"}}

func service(r *oncrpc.Request) {
	xid, _, _ := oncrpc.Peek(r.Message)
	reply, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	r.Reply(oncrpc.Message{Inline: reply}, nil)
}

// working returns a Monitor of servers and clients over RDMA and TCP, with calls.
func working(t *testing.T, calls int) *monitor.Monitor {
	t.Helper()
	m := monitor.New(&monitor.Config{Keep: -1, Programs: []oncrpc.Program{program}})
	h := m.Handler(oncrpc.HandlerFunc(service))
	d, err := mem.New(nil).Open("device", nil)
	if err != nil {
		t.Fatal(err)
	}
	overRDMA, err := rdmaio.Listen(t.Context(), d, "here", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	dialed, err := rdmaio.Dial(t.Context(), d, overRDMA.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	overTCP, err := tcp.Listen(t.Context(), "127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tcp.Dial(t.Context(), overTCP.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{dialed, conn, overRDMA, overTCP, d} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	m.Watch("rdma", monitor.Server(overRDMA))
	m.Watch("tcp", monitor.Server(overTCP))
	m.Watch("client", monitor.Conns(func() []*rdmaio.Conn { return []*rdmaio.Conn{dialed} }))
	for _, c := range []oncrpc.Carrier{dialed, conn} {
		made := rpc.NewClient(m.Carrier(c), program, nil)
		for range calls {
			if err := made.Call(context.Background(), 1, new(oncrpc.Void), new(oncrpc.Void), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

// lint checks a text by the conventions of Prometheus.
func lint(t *testing.T, text []byte) {
	t.Helper()
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// parse reads a text with the parser of Prometheus.
func parse(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for name, f := range families {
		for _, p := range f.Metric {
			var labels []string
			for _, l := range p.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			values[strings.Join(append([]string{name}, labels...), " ")] = p.GetCounter().GetValue() + p.GetGauge().GetValue() + float64(p.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// gathered returns what a registry gathers, as text.
func gathered(t *testing.T, r *client.Registry) []byte {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A registry gathers what the servers and clients have done, and the text of the monitor says the
// same.
func TestScrapeSeesAllCarriers(t *testing.T) {
	m := working(t, 5)
	r := client.NewPedanticRegistry()
	r.MustRegister(prometheus.NewCollector(m, nil))
	got := parse(t, gathered(t, r))
	for name, want := range map[string]float64{
		"rpcrdma_server_calls_total procedure=STORE2 GET status=SUCCESS":             10,
		"rpcrdma_client_calls_total procedure=STORE2 GET status=SUCCESS":             10,
		"rpcrdma_client_call_duration_seconds procedure=STORE2 GET":                  10,
		"rpcrdma_client_call_part_duration_seconds part=waited procedure=STORE2 GET": 10,
		"rpcrdma_client_call_part_duration_seconds part=served procedure=STORE2 GET": 10,
		"rpcrdma_server_handler_duration_seconds procedure=STORE2 GET":               10,
		"rpcrdma_server_received_bytes_total procedure=STORE2 GET":                   400,
		"rpcrdma_connections source=rdma":                                            1,
		"rpcrdma_connections_accepted_total source=tcp":                              1,
		"rpcrdma_calls_forward_total source=rdma":                                    5,
		"rpcrdma_calls_in_progress side=server":                                      0,
		"rpcrdma_server_peer_calls_total peer=127.0.0.1":                             5,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if got["rpcrdma_credits_granted source=client"] < 1 {
		t.Error("no credits")
	}
	w := httptest.NewRecorder()
	m.ServeMetrics(w, httptest.NewRequest("GET", "/metrics", nil))
	lint(t, w.Body.Bytes())
	if diff := cmp.Diff(got, parse(t, w.Body.Bytes())); diff != "" {
		t.Errorf("the text of the monitor differs (-registry +text):\n%s", diff)
	}
}

// 10,000 peers with hostile names, and procedures without end, make few series, and no scrape
// fails.
func TestHostileNames(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1, Programs: []oncrpc.Program{program}})
	h := m.Handler(oncrpc.HandlerFunc(service))
	for i := range 10_000 {
		call, _ := oncrpc.NewCall(1, uint32(i), 2, uint32(i), oncrpc.None()).AppendBinary(nil)
		name := []string{"\xff\xfe", "a\nb", `"} 1`, `\`, "\u202e", "others", ""}[i%7]
		if i > 5000 {
			name = fmt.Sprint(name, i)
		}
		h.ServeRPC(&oncrpc.Request{Message: call, Responder: responder{name: name}})
	}
	r := client.NewPedanticRegistry()
	r.MustRegister(prometheus.NewCollector(m, &prometheus.Config{Labels: map[string]string{"program": "a"}}))
	r.MustRegister(prometheus.NewCollector(m, &prometheus.Config{Labels: map[string]string{"program": "b"}}))
	if got := parse(t, gathered(t, r)); len(got) > 2*(6*257+5*257+100) {
		t.Errorf("%d series", len(got))
	}
}

// responder answers for a peer with a name.
type responder struct {
	oncrpc.Responder
	name string
}

type peer struct {
	oncrpc.Conn
	name string
}

func (p peer) RemoteAddr() string                          { return p.name }
func (r responder) Conn() oncrpc.Conn                      { return peer{name: r.name} }
func (responder) Reply(_ oncrpc.Message, done func(error)) { done(nil) }

// Scrapes and calls at once do not race; a scrape after Close has the last counts.
func TestScrapesAtOnce(t *testing.T) {
	var m *monitor.Monitor
	r := client.NewPedanticRegistry()
	t.Run("working", func(t *testing.T) {
		m = working(t, 1)
		r.MustRegister(prometheus.NewCollector(m, nil))
		h := m.Handler(oncrpc.HandlerFunc(service))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 5 {
					call, _ := oncrpc.NewCall(1, 400, 2, uint32(i), oncrpc.None()).AppendBinary(nil)
					h.ServeRPC(&oncrpc.Request{Message: call, Responder: responder{name: "x"}})
					gathered(t, r)
				}
			})
		}
		wg.Wait()
	})
	got := parse(t, gathered(t, r)) // the servers are closed
	if got["rpcrdma_calls_forward_total source=rdma"] != 1 || got["rpcrdma_connections source=rdma"] != 0 {
		t.Errorf("after the servers were closed: %v", got)
	}
}

// A faulty label in Config fails the scrape, with the reason.
func TestFaultyLabel(t *testing.T) {
	r := client.NewRegistry()
	r.MustRegister(prometheus.NewCollector(monitor.New(nil), &prometheus.Config{Labels: map[string]string{"side": "x"}}))
	if _, err := r.Gather(); err == nil || !strings.Contains(err.Error(), "duplicate label") {
		t.Errorf("%v", err)
	}
}
