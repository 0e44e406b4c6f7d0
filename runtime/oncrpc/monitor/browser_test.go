package monitor_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// browse opens a page in a browser without a window, and returns what it printed.
func browse(t *testing.T, url string, args ...string) string {
	t.Helper()
	chromium := witness.Program(t, "chromium")
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(), "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000",
	}, append(args, url)...)
	cmd := exec.CommandContext(t.Context(), chromium, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if lines := regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindAllString(stderr.String(), -1); len(lines) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(lines, "\n"))
	}
	return string(out)
}

// In a browser the page shows all that a look has, puts text of peers into the document as text,
// and is not held up by 10,000 connections. Set MONITOR_PICTURES to a folder for screenshots.
func TestPageInABrowser(t *testing.T) {
	witness.Program(t, "chromium")
	hostile := oncrpc.Program{Number: 666, Version: 1, Name: `<img src=x onerror="document.title='owned'">`, Procedures: map[uint32]string{1: "A\u202eB"}}
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program, hostile}, Keep: -1})
	s := &fakeServer{}
	for i := range 10_000 {
		s.conns = append(s.conns, &fakeConn{addr: fmt.Sprintf("192.0.2.%d:%d", i%250, i), counts: counts{Flow: Flow{Calls: i}}})
	}
	s.conns[77].Waiting = 3
	m.Watch("<script>document.title='owned'</script>", monitor.Server(s))
	for i := range 40 {
		serve(m, &responder{addr: "192.0.2.9:1"}, callOf(7, 400, 2, 1), func(r *oncrpc.Request) {
			time.Sleep(time.Duration(i) * 50 * time.Microsecond)
			r.Reply(replyOf(7, oncrpc.Success), nil)
		})
	}
	serve(m, &responder{addr: "192.0.2.9:1"}, callOf(8, 666, 1, 1), func(*oncrpc.Request) {})
	slog.New(m.Log(nil)).Error("refused", "peer", "</td><script>document.title='owned'</script>")
	web := httptest.NewServer(m)
	defer web.Close()
	dom := browse(t, web.URL+"/debug/rpcrdma", "--dump-dom")
	for _, want := range []string{
		"192.0.2.77:77", "a credit of the peer", "from 1 to 100 of 10000", "STORE2 GET", "SUCCESS 40",
		"&lt;img src=x onerror=", `A\u202eB`, "&lt;script&gt;document.title='owned'&lt;/script&gt;", "&lt;/td&gt;&lt;script&gt;", "<title>RPC monitor</title>",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the document has no %q", want)
		}
	}
	if strings.Contains(dom, `class="bad">no answer`) || strings.Contains(dom, "<img") {
		t.Errorf("the document:\n%.2000s", dom)
	}
	looks := regexp.MustCompile(`data-ready="(\d+)"`).FindStringSubmatch(dom)
	if looks == nil || looks[1] == "1" {
		t.Errorf("the page has looked %v times in 4 s", looks)
	}
	if folder := os.Getenv("MONITOR_PICTURES"); folder != "" {
		browse(t, web.URL, "--window-size=1200,1000", "--screenshot="+filepath.Join(folder, "wide.png"))
		browse(t, web.URL, "--window-size=500,1400", "--screenshot="+filepath.Join(folder, "narrow.png"))
		browse(t, web.URL, "--window-size=1200,1000", "--force-dark-mode", "--blink-settings=preferredColorScheme=0", "--screenshot="+filepath.Join(folder, "dark.png"))
	}
}
