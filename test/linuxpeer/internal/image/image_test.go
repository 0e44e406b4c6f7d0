package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Recipes that differ in anything have different keys, and equal ones the same.
func TestKey(t *testing.T) {
	recipe := func(edit func(*Recipe)) string {
		r, err := NewRecipe(Kernels()[0])
		if err != nil {
			t.Fatal(err)
		}
		edit(&r)
		return r.Key()
	}
	first := recipe(func(*Recipe) {})
	if again := recipe(func(*Recipe) {}); again != first {
		t.Errorf("one recipe has the keys %s and %s", first, again)
	}
	keys := map[string]string{first: "the recipe"}
	for name, edit := range map[string]func(*Recipe){
		"suite":    func(r *Recipe) { r.Suite = "trixie" },
		"kernel":   func(r *Recipe) { r.Meta = "linux-image-6.12-amd64" },
		"packages": func(r *Recipe) { r.Packages = r.Packages[1:] },
		"files":    func(r *Recipe) { r.Files[0] += "x" },
		"order":    func(r *Recipe) { r.Modules[0], r.Modules[1] = r.Modules[1], r.Modules[0] },
		"applets":  func(r *Recipe) { r.Applets = append(r.Applets, "ed") },
		"later":    func(r *Recipe) { r.Later = tlsPrograms() },
		"layout":   func(r *Recipe) { r.Layout++ },
		"script":   func(r *Recipe) { r.Script += "\n" },
	} {
		key := recipe(edit)
		if other, ok := keys[key]; ok {
			t.Errorf("another %s has the key of %s", name, other)
		}
		keys[key] = "another " + name
	}
	if _, err := NewRecipe("5.10"); err == nil || !strings.Contains(err.Error(), "stock") {
		t.Errorf("an unknown kernel: %v, want an error with the known ones", err)
	}
}

func TestParseMirror(t *testing.T) {
	for _, tt := range []struct{ out, want string }{
		{"", ""},
		{"http://mirror.example/debian-security/\nhttps://other.example/node\n", ""},
		{"http://mirror.example/debian-security/\nhttp://mirror.example/debian/\nhttp://second.example/debian\n", "http://mirror.example/debian"},
		{"file:/srv/debian\n", ""}, // apt-get runs elsewhere
		{"https://user:word@mirror.example:8080/pub/debian", "https://user:word@mirror.example:8080/pub/debian"},
	} {
		if got := parseMirror(tt.out); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.out, got, tt.want)
		}
	}
}

func TestParseURIs(t *testing.T) {
	const sum = "861ee94f3b1309863d56d67098f49da3861ee94f3b1309863d56d67098f49da3"
	const good = "'http://mirror.example/a/perftest_4.5%2b0.17-1_amd64.deb' perftest_4.5+0.17-1_amd64.deb 266940 SHA256:" + sum + "\n"
	got, err := parseURIs("Reading package lists...\n" + good)
	want := []deb{{name: "perftest_4.5+0.17-1_amd64.deb", size: 266940, sum: sum}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(deb{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{
		"", "Reading package lists...\n", // nothing
		strings.Replace(good, " SHA256:"+sum, "", 1), strings.Replace(good, "SHA256", "MD5Sum", 1),
		strings.Replace(good, sum, sum[1:], 1), strings.Replace(good, "266940", "99999999999999999999", 1),
	} {
		if _, err := parseURIs(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	name, version := deb{name: "zlib1g_1%3a1.2.13.dfsg-1_amd64.deb"}.pkg()
	if name != "zlib1g" || version != "1:1.2.13.dfsg-1" {
		t.Errorf("package %q, version %q", name, version)
	}
}

// A downloaded file counts only with its size and checksum.
func TestComplete(t *testing.T) {
	dir := t.TempDir()
	// sha256sum of "hello"
	const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	for _, tt := range []struct {
		name, data string
		want       bool
	}{
		{"whole", "hello", true}, {"cut", "hell", false}, {"damaged", "hellO", false}, {"long", "hello!", false},
	} {
		if err := os.WriteFile(filepath.Join(dir, tt.name), []byte(tt.data), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := (deb{name: tt.name, size: 5, sum: hello}).complete(dir); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if (deb{name: "none", size: 5, sum: hello}).complete(dir) {
		t.Error("a file that does not exist is complete")
	}
}

// A second process waits for the lock, and a cancelled one gives up.
func TestLock(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("guests are built on Unix only")
	}
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lock(t.Context(), path, func() { t.Error("the first one waits") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, path, cancel); err == nil {
		t.Error("two hold the lock")
	}
	second, err := lock(t.Context(), path, func() { first.Close() })
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// Only images that were not used for long are removed.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"image-old": 2 * unused, "image-new": unused / 2, "apt": 2 * unused} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(dir, now.Add(-unused)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "apt"), filepath.Join(dir, "image-new")}, left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The archive has the bytes of the form that the kernel reads.
func TestArchive(t *testing.T) {
	var b bytes.Buffer
	a := newArchive(&b)
	a.File("d/f", 0o755, []byte("hello"))
	a.Link("l", "d/f")
	a.Dir("d", 0o700) // is there
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	entry := func(ino, mode int, name, data string) string {
		s := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x", ino, mode, 0, 0, 1, 0, len(data)) +
			strings.Repeat("0", 32) + fmt.Sprintf("%08x%08x", len(name)+1, 0) + name + "\x00"
		s += strings.Repeat("\x00", -len(s)&3)
		return s + data + strings.Repeat("\x00", -len(data)&3)
	}
	want := entry(1, 0o40755, "d", "") + entry(2, 0o100755, "d/f", "hello") + entry(3, 0o120777, "l", "d/f") +
		entry(4, 0, "TRAILER!!!", "")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
