package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// blocks returns the commands of docs/why-slow.md that begin with a word, and what they print.
func blocks(t *testing.T, begin string) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/why-slow.md")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for i, block := range strings.Split(string(page), "```\n") {
		if command, out, _ := strings.Cut(block, "\n"); i%2 == 1 && strings.HasPrefix(command, "$ "+begin) {
			all[strings.TrimPrefix(command, "$ "+begin)] = out
		}
	}
	return all
}

var (
	duration = regexp.MustCompile(`\b[0-9.]+(s|ms|µs|ns)`)
	number   = regexp.MustCompile(`(most|}) [0-9.e-]+`)
	address  = regexp.MustCompile(`127.0.0.1:\d+`)
)

// form returns an output without its numbers.
func form(out string) string {
	return address.ReplaceAllString(number.ReplaceAllString(duration.ReplaceAllString(out, "T"), "$1 N"), "HOST")
}

// times returns the times that are printed, by their names.
func times(t *testing.T, out string) map[string]time.Duration {
	t.Helper()
	of := make(map[string]time.Duration)
	for _, m := range regexp.MustCompile(`(\w+) ([0-9.]+(?:s|ms|µs|ns))`).FindAllStringSubmatch(out, -1) {
		d, err := time.ParseDuration(m[2])
		if err != nil {
			t.Fatal(err)
		}
		of[m[1]] = d
	}
	return of
}

// Every command of the page prints what the page shows, and the cause is where the page says: there
// is the largest part of the time, on the page and now.
func TestEachCauseIsInItsPart(t *testing.T) {
	page := blocks(t, "go run ./examples/slow ")
	for _, tt := range []struct{ cause, part, server string }{
		{"nothing", "", ""},
		{"credits", "waited", ""},
		{"registration", "sent", ""},
		{"arguments", "sent", ""},
		{"network", "served", ""},
		{"queue", "served", ""},
		{"handler", "served", "handler"},
		{"reply", "served", "sending"},
	} {
		t.Run(tt.cause, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			var out bytes.Buffer
			if err := run(ctx, &out, []string{tt.cause}); err != nil {
				t.Fatal(err)
			}
			if form(out.String()) != form(page[tt.cause]) {
				t.Errorf("printed\n%son the page\n%s", &out, page[tt.cause])
			}
			for _, shown := range []string{page[tt.cause], out.String()} {
				of := times(t, shown)
				client := of["waited"] + of["sent"] + of["served"] + of["received"]
				if tt.part != "" && of[tt.part] < client/2 {
					t.Errorf("%s is not half of\n%s", tt.part, shown)
				}
				if tt.server != "" && of[tt.server] < of["served"]/2 {
					t.Errorf("%s is not half of served:\n%s", tt.server, shown)
				}
				if (tt.cause == "network" || tt.cause == "queue") && of["handler"]+of["sending"] > of["served"]/2 {
					t.Errorf("the server is slow:\n%s", shown)
				}
				if waited := !strings.Contains(shown, "most 0 "); waited != (tt.cause == "queue") {
					t.Errorf("calls waited for a handler: %t\n%s", waited, shown)
				}
			}
		})
	}
	if n := len(page); n != len(causes)+1 {
		t.Errorf("the page has %d commands", n)
	}
}

// lockedBuffer takes output while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// With -http the calls go on, and the page and the metrics show their parts.
func TestPartsAreServedOverHTTP(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out lockedBuffer
	over := make(chan error, 1)
	go func() { over <- run(ctx, &out, []string{"-http", "localhost:0", "credits"}) }()
	for strings.Count(out.String(), "\n") < 2 {
		select {
		case err := <-over:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	if want := blocks(t, "go run ./examples/slow ")["-http localhost:6060 credits"]; form(out.String()) != form(want) {
		t.Errorf("printed\n%son the page\n%s", &out, want)
	}
	_, url, _ := strings.Cut(out.String(), "metrics ")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	word, want := "part_duration_seconds_sum", ""
	for command, lines := range blocks(t, "curl -s localhost:6060/metrics | grep ") {
		word, want = command, lines
	}
	var found string
	for range 2000 { // until a call is counted
		r, err := client.Get(strings.TrimSpace(url))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		found = ""
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, word) && !strings.HasPrefix(line, "#") {
				found += line
			}
		}
		if found != "" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if form(found) != form(want) || want == "" {
		t.Errorf("found\n%son the page\n%s", found, want)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// Wrong arguments are refused, and the error names the causes.
func TestUnknownCauseIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"weather"}, {"credits", "reply"}, {"-x"}} {
		if err := run(t.Context(), io.Discard, args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
