package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// pageOf waits for the line of the live page, and returns its address.
func pageOf(t *testing.T, errs *buffer) string {
	t.Helper()
	for range 5000 {
		for line := range strings.Lines(errs.String()) {
			if url, ok := strings.CutPrefix(strings.TrimSpace(line), "page "); ok {
				return url
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("no page: %s", errs.String())
	return ""
}

// looked is a part of what a page shows.
type looked struct {
	Sources []struct {
		Name  string
		Total int
	}
	Procedures []struct {
		Side, Name string
		Outcomes   map[string]uint64
	}
	Records []struct{ Text string }
}

// look asks a page for what it shows.
func look(t *testing.T, url string) (s looked) {
	t.Helper()
	r, err := http.Get(url + "?json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", r.Status, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return s
}

// metricsAt returns the metrics of the page at url.
func metricsAt(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(strings.TrimSuffix(url, webPath) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%s: %v", r.Status, err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(text)
}

// A server shows its connections and calls on a page, on every carrier, and its warnings although
// they are not printed.
func TestServePage(t *testing.T) {
	for _, carrier := range []string{"rdma", "tcp"} {
		ctx, cancel := context.WithCancel(t.Context())
		var out, errs buffer
		done := make(chan int)
		go func() {
			done <- run(ctx, []string{"serve", "-q", "-carrier", carrier, "-http", "0", "127.0.0.1:0"}, environment{stdout: &out, stderr: &errs})
		}()
		url := pageOf(t, &errs)
		if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, webPath) {
			t.Errorf("%s: page at %q", carrier, url)
		}
		for !strings.Contains(errs.String(), "ready ") {
			time.Sleep(time.Millisecond)
		}
		_, addr, _ := strings.Cut(errs.String(), "ready ")
		addr = strings.TrimSpace(addr)
		look(t, url) // from now on calls are recorded
		if code, stdout, stderr := try(t.Context(), "call", "-carrier", carrier, "testdata/page.x", addr, "PAGE.PAGE_V1.PAGE_NULL"); code != exitDone {
			t.Fatalf("%s: call: exit %d: %s%s", carrier, code, stdout, stderr)
		}
		s := look(t, url)
		if len(s.Sources) != 1 || s.Sources[0].Name != "server" {
			t.Errorf("%s: sources %+v", carrier, s.Sources)
		}
		if len(s.Procedures) != 1 || s.Procedures[0].Name != "536873000 v1 procedure 0" || s.Procedures[0].Side != "server" || s.Procedures[0].Outcomes["SUCCESS"] != 1 {
			t.Errorf("%s: procedures %+v", carrier, s.Procedures)
		}
		if text := metricsAt(t, url); !strings.Contains(text, `rpcrdma_server_calls_total{procedure="536873000 v1 procedure 0",status="SUCCESS"} 1`) {
			t.Errorf("%s: metrics %s", carrier, text)
		}
		cancel()
		if code := <-done; code != exitDone {
			t.Errorf("%s: exit %d: %s", carrier, code, errs.String())
		}
		if _, err := http.Get(url); err == nil {
			t.Errorf("%s: the page has outlived the server", carrier)
		}
	}
}

// A measurement shows both ends on a page.
func TestPerfPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"perf", "-q", "-t", "1h", "-P", "2", "-depth", "4", "-http", "127.0.0.1:0"}, environment{stdout: &out, stderr: &errs})
	}()
	url := pageOf(t, &errs)
	var s looked
	for range 5000 { // until both ends count a call
		if s = look(t, url); len(s.Procedures) == 2 && len(s.Sources) == 2 && s.Sources[0].Total > 0 && s.Sources[1].Total > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	names := map[string]string{}
	for _, p := range s.Procedures {
		names[p.Side] = p.Name
	}
	if len(s.Procedures) != 2 || names["client"] != "PERF1 WRITE" || names["server"] != "PERF1 WRITE" || len(s.Sources) != 2 {
		t.Errorf("%+v", s)
	}
	cancel()
	<-done
}

// An address that cannot be used is an error before anything else begins.
func TestPageAddressIsRefused(t *testing.T) {
	for _, tt := range []struct {
		at   string
		code int
	}{{"127.0.0.1:99999", exitUsage}, {"192.0.2.1:0", exitFailed}} {
		for _, cmd := range []string{"serve", "perf"} {
			code, stdout, stderr := try(t.Context(), cmd, "-http", tt.at)
			if code != tt.code || !strings.Contains(stderr, "-http: ") || stdout != "" {
				t.Errorf("%s -http %q: exit %d, %q", cmd, tt.at, code, stderr)
			}
		}
	}
}

// A page from elsewhere cannot read this one by a name that it makes resolve to this machine.
func TestPageIsRefusedByForeignNames(t *testing.T) {
	h := local("server.example.net", http.NotFoundHandler())
	for host, want := range map[string]int{
		"127.0.0.1:6060": 404, "[::1]:6060": 404, "[::1]": 404, "localhost": 404, "server.example.net:1": 404,
		"evil.example": 403, "evil.example:6060": 403, "localhost.evil.example": 403, "": 403,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}
