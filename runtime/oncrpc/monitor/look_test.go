package monitor_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// The shapes of counts that carriers have.
type (
	Flow  struct{ Calls, InFlight int }
	Terms struct{ Version int }

	counts struct {
		Flow
		Reverse Flow
		Waiting int
		Took    time.Duration
		Terms
		hidden int
	}
)

// fakeConn is a connection with counts.
type fakeConn struct {
	addr string
	counts
}

func (c *fakeConn) RemoteAddr() string { return c.addr }
func (c *fakeConn) Stats() counts      { return c.counts }

// fakeServer is a server with connections.
type fakeServer struct{ conns []*fakeConn }

func (s *fakeServer) Conns() []*fakeConn { return s.conns }
func (s *fakeServer) Stats() Flow        { return Flow{Calls: len(s.conns)} }

// All counts that are not zero are shown by the names of their fields.
func TestCountsOfSources(t *testing.T) {
	m := monitor.New(nil)
	one := &fakeConn{"192.0.2.1:5", counts{Flow{3, 1}, Flow{InFlight: 2}, 0, time.Second, Terms{2}, 9}}
	stop := m.Watch("files", monitor.Server(&fakeServer{[]*fakeConn{one}}))
	m.Watch("client", monitor.Client(one))
	m.Watch("conns", monitor.Conns(func() []*fakeConn { return nil }))
	fields := []monitor.Field{{"Calls", "3"}, {"InFlight", "1"}, {"Reverse.InFlight", "2"}, {"Took", "1s"}, {"Version", "2"}}
	want := []monitor.SourceState{
		{Name: "files", Stats: []monitor.Field{{"Calls", "1"}}, Conns: []monitor.ConnState{{"192.0.2.1:5", fields}}, Total: 1, Found: 1},
		{Name: "client", Stats: fields},
		{Name: "conns"},
	}
	if diff := gocmp.Diff(want, m.Look(monitor.Query{}).Sources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	stop()
	if s := m.Look(monitor.Query{}); len(s.Sources) != 2 || s.Sources[0].Name != "client" {
		t.Errorf("after stop: %+v", s.Sources)
	}
}

// Of many connections a look shows a part: those that wait first, then those with most Calls.
func TestManyConnections(t *testing.T) {
	m, s := monitor.New(nil), &fakeServer{}
	for i := range 10_000 {
		s.conns = append(s.conns, &fakeConn{addr: fmt.Sprintf("192.0.2.%d:%d", i%250, i), counts: counts{Flow: Flow{Calls: i}}})
	}
	s.conns[77].Waiting, s.conns[78].InFlight = 1, 5
	m.Watch("files", monitor.Server(s))
	order := func(q monitor.Query) (addrs []string, found int) {
		of := m.Look(q).Sources[0]
		if of.Total != 10_000 {
			t.Errorf("total %d", of.Total)
		}
		for _, c := range of.Conns {
			addrs = append(addrs, c.Addr)
		}
		return addrs, of.Found
	}
	if got, n := order(monitor.Query{}); n != 10_000 || len(got) != 100 || !slices.Equal(got[:3], []string{"192.0.2.77:77", "192.0.2.78:78", "192.0.2.249:9999"}) {
		t.Errorf("%d of %d: %v", len(got), n, got[:3])
	}
	if got, n := order(monitor.Query{From: 9_999, Most: 5_000}); n != 10_000 || !slices.Equal(got, []string{"192.0.2.0:0"}) {
		t.Errorf("the last: %v", got)
	}
	if got, _ := order(monitor.Query{Most: 5_000}); len(got) != 1000 {
		t.Errorf("%d are shown", len(got))
	}
	if got, n := order(monitor.Query{From: 1 << 30, Find: ".249:"}); n != 40 || len(got) != 0 {
		t.Errorf("beyond the end: %v of %d", got, n)
	}
	if got, n := order(monitor.Query{From: -1, Find: ":12", Most: 2}); n != 111 || len(got) != 2 {
		t.Errorf("found: %v of %d", got, n)
	}
}

// Log keeps the last warnings, with their attributes as text, and passes all on.
func TestLastRecords(t *testing.T) {
	m := monitor.New(&monitor.Config{MaxErrors: 3})
	var out bytes.Buffer
	log := slog.New(m.Log(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})))
	log.Info("not kept")
	for i := range 5 {
		log.With("peer", "a b").WithGroup("g").WithGroup("").With("n", i).Warn("late", "x", slog.GroupValue(slog.Int("y", 1), slog.Attr{}), "", slog.GroupValue(slog.Int("z", 2)))
	}
	log.Error("long", "text", strings.Repeat("\u00e9", 5000))
	s := m.Look(monitor.Query{})
	if len(s.Records) != 3 || s.Earlier != 3 || s.Records[1].Text != "late peer=a b g.n=4 g.x.y=1 g.z=2" || s.Records[1].Level != "WARN" || s.Records[0].Time.IsZero() {
		t.Errorf("%d before %+v", s.Earlier, s.Records[1:])
	}
	if text := s.Records[0].Text; len(text) > 2100 || !strings.HasSuffix(text, "\u00e9...") {
		t.Errorf("a long text has %d bytes, and ends in %q", len(text), text[max(0, len(text)-10):])
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "msg=long") {
		t.Errorf("passed on: %q", got)
	}
	slog.New(m.Log(nil)).Warn("without a next one")
	if s := m.Look(monitor.Query{}); s.Records[0].Text != "without a next one" {
		t.Errorf("%+v", s.Records[0])
	}
}

// The page is read only, may run its own script alone, and has its data as JSON.
func TestPageIsReadOnly(t *testing.T) {
	m := monitor.New(nil)
	m.Watch("<b>", monitor.Server(&fakeServer{[]*fakeConn{{addr: "192.0.2.1:5"}, {addr: "192.0.2.2:5"}}}))
	get := func(method, url string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(method, url, nil))
		return w
	}
	w := get("GET", "/debug/rpcrdma")
	if w.Code != 200 || w.Body.String() != monitor.Page || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if p := w.Header().Get("Content-Security-Policy"); p != monitor.Policy || !strings.HasPrefix(p, "default-src 'none';") || strings.Contains(p, "unsafe") {
		t.Errorf("policy %q", p)
	}
	if w := get("POST", "/"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
	for _, part := range []string{"http:", "https:", "src=", "innerHTML", "document.write", "eval("} {
		if i := strings.Index(strings.ReplaceAll(monitor.Page, "http://www.w3.org/2000/svg", ""), part); i >= 0 {
			t.Errorf("the page contains %q", part)
		}
	}
	w = get("GET", "/x?json&find=0.2.2&most=-1&from=a")
	var got struct {
		V       int
		Sources []struct {
			Name  string
			Conns []struct{ Addr string }
			Total int
		}
		Records []any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.V != 1 || len(got.Sources) != 1 || got.Records == nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if s := got.Sources[0]; s.Name != "<b>" || len(s.Conns) != 1 || s.Conns[0].Addr != "192.0.2.2:5" || s.Total != 2 {
		t.Errorf("%+v", s)
	}
	if n := cmp.Compare(strings.Count(w.Body.String(), "\n"), 1); n != 0 {
		t.Errorf("not one line: %s", w.Body)
	}
}
