package otel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rpcrdma/rpcrdma/metrics/otel"
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

// collect returns the metrics of a reader by their names.
func collect(t *testing.T, r *metric.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Error(err)
	}
	byName := make(map[string]metricdata.Metrics)
	for _, s := range all.ScopeMetrics {
		if s.Scope.Name != otel.Scope {
			t.Errorf("scope %q", s.Scope.Name)
		}
		for _, m := range s.Metrics {
			if _, twice := byName[m.Name]; twice || m.Description == "" || m.Unit == "" {
				t.Errorf("%+v", m)
			}
			byName[m.Name] = m
		}
	}
	return byName
}

// sum returns the value of a Sum with some attributes.
func sum(m metricdata.Metrics, labels ...attribute.KeyValue) float64 {
	data, _ := m.Data.(metricdata.Sum[float64])
	if !data.IsMonotonic || data.Temporality != metricdata.CumulativeTemporality {
		return -1
	}
	want := attribute.NewSet(labels...)
	for _, p := range data.DataPoints {
		if p.Attributes.Equals(&want) && p.StartTime.Before(p.Time) {
			return p.Value
		}
	}
	return -2
}

// A reader of the SDK collects what a server and a client have done.
func TestReaderCollectsCalls(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1, Programs: []oncrpc.Program{program}})
	s, err := tcp.Listen(t.Context(), "127.0.0.1:0", m.Handler(oncrpc.HandlerFunc(service)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.Watch("files", monitor.Server(s))
	c, err := tcp.Dial(t.Context(), s.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reader := metric.NewManualReader(metric.WithProducer(otel.NewProducer(m, nil)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	for range 3 {
		if err := rpc.NewClient(m.Carrier(c), program, nil).Call(t.Context(), 1, new(oncrpc.Void), new(oncrpc.Void), nil); err != nil {
			t.Fatal(err)
		}
	}
	got := collect(t, reader)
	procedure := attribute.String("procedure", "STORE2 GET")
	if n := sum(got["rpcrdma.server.calls"], procedure, attribute.String("status", "SUCCESS")); n != 3 {
		t.Errorf("%v calls: %+v", n, got["rpcrdma.server.calls"])
	}
	if n := sum(got["rpcrdma.client.sent"], procedure); n != 120 || got["rpcrdma.client.sent"].Unit != "By" {
		t.Errorf("%v bytes sent", n)
	}
	h, _ := got["rpcrdma.client.call.part.duration"].Data.(metricdata.Histogram[float64])
	if len(h.DataPoints) != 4 || h.DataPoints[0].Count != 3 || len(h.DataPoints[0].BucketCounts) != len(h.DataPoints[0].Bounds)+1 {
		t.Errorf("%+v", h)
	}
	g, _ := got["rpcrdma.connections"].Data.(metricdata.Gauge[float64])
	if len(g.DataPoints) != 1 || g.DataPoints[0].Value != 1 {
		t.Errorf("%+v", g)
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := reader.Collect(t.Context(), new(metricdata.ResourceMetrics)); !errors.Is(err, metric.ErrReaderShutdown) {
		t.Errorf("after Shutdown: %v", err)
	}
}

// A collection that was given up returns the reason.
func TestCollectionGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := otel.NewProducer(monitor.New(nil), &otel.Config{Keep: 1}).Produce(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// 10,000 peers with hostile names make few points of valid text, while several readers collect.
func TestHostileNames(t *testing.T) {
	m := monitor.New(&monitor.Config{Keep: -1, Programs: []oncrpc.Program{program}})
	reader := metric.NewManualReader(metric.WithProducer(otel.NewProducer(m, nil)))
	metric.NewMeterProvider(metric.WithReader(reader))
	h := m.Handler(oncrpc.HandlerFunc(service))
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := k; i < 10_000; i += 4 {
				call, _ := oncrpc.NewCall(1, uint32(i), 2, 9, oncrpc.None()).AppendBinary(nil)
				h.ServeRPC(&oncrpc.Request{Message: call, Responder: responder{name: fmt.Sprintf("\xff\n\u202e%d", i)}})
				if i%1000 == k {
					collect(t, reader)
				}
			}
		})
	}
	wg.Wait()
	data, _ := collect(t, reader)["rpcrdma.server.peer.calls"].Data.(metricdata.Sum[float64])
	if n := len(data.DataPoints); n > 257 {
		t.Errorf("%d peers", n)
	}
	for _, p := range data.DataPoints {
		if v, _ := p.Attributes.Value("peer"); !utf8.ValidString(v.AsString()) {
			t.Errorf("peer %q", v.AsString())
		}
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
