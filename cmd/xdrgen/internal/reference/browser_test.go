package reference_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// asked serves files, and records the requests.
type asked struct {
	files map[string]string

	mu   sync.Mutex
	urls []string
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.urls = append(a.urls, r.URL.Path)
	text, ok := a.files[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte(text))
}

// browse opens an address in a browser without a window, and returns what it printed. The console
// must stay empty.
func browse(t *testing.T, url string, args ...string) string {
	t.Helper()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(), "--enable-logging=stderr", "--v=0", "--virtual-time-budget=20000",
	}, append(args, url)...)
	cmd := exec.CommandContext(t.Context(), witness.Program(t, "chromium"), args...)
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

// TestPagesInABrowser looks at pages in a frame of 600 pixels: light, dark and as printed. No text
// is over another or leaves its box, the page is not wider than its frame, every link leads
// somewhere, and the browser asks for the pages alone. Set DOC_PICTURES to a folder for
// screenshots.
func TestPagesInABrowser(t *testing.T) {
	witness.Program(t, "chromium")
	look, err := os.ReadFile("testdata/look.html")
	if err != nil {
		t.Fatal(err)
	}
	hostile := page(t, "testdata/hostile.x")
	printed := strings.NewReplacer("@media print{", "@media all{", "@media not print{", "@media not all{",
		`http-equiv="Content-Security-Policy"`, `name="without-policy"`).Replace(hostile)
	web := &asked{files: map[string]string{
		"look": string(look), "hostile": hostile, "printed": printed,
		"shapes": page(t, "../../../internal/packet/testdata/shapes.x"),
		"nfs":    page(t, "../../../../spec/x/nfs42/nfs42.x"),
	}}
	server := httptest.NewServer(web)
	defer server.Close()
	result := regexp.MustCompile(`(?s)<pre id="out">(.*?)</pre>`)
	for _, mode := range []struct {
		pages string
		args  []string
		want  string
	}{
		{"hostile,shapes,nfs", nil, "hostile true true true light\nshapes true true true light\nnfs true true true light\nEND"},
		{"hostile,printed", []string{"--blink-settings=preferredColorScheme=0"}, "hostile true true true dark\nprinted true true true light\nEND"},
	} {
		dom := browse(t, server.URL+"/look?pages="+mode.pages, append(mode.args, "--dump-dom")...)
		got := result.FindStringSubmatch(dom)
		if got == nil || html.UnescapeString(got[1]) != mode.want {
			t.Errorf("%s: %v\nwant %s", mode.pages, got, mode.want)
		}
	}
	web.mu.Lock()
	for _, u := range web.urls {
		if name := strings.TrimPrefix(u, "/"); web.files[name] == "" && name != "favicon.ico" {
			t.Errorf("the browser asked for %s: %v", u, slices.Compact(web.urls))
		}
	}
	web.mu.Unlock()
	if folder := os.Getenv("DOC_PICTURES"); folder != "" {
		browse(t, server.URL+"/hostile", "--window-size=900,2600", "--hide-scrollbars", "--screenshot="+filepath.Join(folder, "light.png"))
		browse(t, server.URL+"/hostile", "--window-size=600,2600", "--hide-scrollbars", "--blink-settings=preferredColorScheme=0", "--screenshot="+filepath.Join(folder, "dark.png"))
		browse(t, server.URL+"/hostile", "--print-to-pdf="+filepath.Join(folder, "printed.pdf"))
	}
}
