package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// of returns a run that builds some commands of the tree in a folder.
func of(t *testing.T, root string, names ...string) *release {
	t.Helper()
	return &release{
		root: root, out: filepath.Join(t.TempDir(), "dist"), version: "v1.2.3-rc.1", time: time.Unix(1_700_000_000, 0).UTC(), stdout: io.Discard,
		commands: slices.DeleteFunc(commands(), func(c command) bool { return !slices.Contains(names, c.name) }),
	}
}

// root is the folder of the tree.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Two builds of one version have the same bytes, from folders with different names. The programs
// print the version.
func TestTwoBuildsAreEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("to build and link a command for each of two archives takes seconds")
	}
	link := filepath.Join(t.TempDir(), "tree")
	if err := os.Symlink(root(t), link); err != nil {
		t.Fatal(err)
	}
	dist := [2]map[string][]byte{first(t), build(t, link)}
	if len(dist[0]) < 2 || dist[0]["SHA256SUMS"] == nil {
		t.Errorf("%d files", len(dist[0]))
	}
	for name, b := range dist[0] {
		if !bytes.Equal(b, dist[1][name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// built has the files of the first build, which tests share.
var built map[string][]byte

// first returns the files of a build in the folder of the tree.
func first(t *testing.T) map[string][]byte {
	t.Helper()
	if built == nil {
		built = build(t, root(t))
	}
	return built
}

// build builds two commands for this system, in a folder.
func build(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	r := of(t, dir, "xdrgen", "nfsserve")
	if err := r.build(slices.DeleteFunc(targets(), func(x target) bool { return x != hostTarget() })); err != nil {
		t.Fatal(err)
	}
	return read(t, r.out)
}

// read returns the files of a folder.
func read(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = b
	}
	return files
}

// An archive has its files and folders in order, each with the time and mode that it is given, and
// nothing of the clock or the user.
func TestArchivesHaveOneTime(t *testing.T) {
	files := tree{{"share/b", 0o644, []byte("b")}, {"bin/a", 0o755, []byte("a")}}.under("x")
	at := time.Unix(1_700_000_000, 0)
	for name, pack := range map[string]func(time.Time) ([]byte, error){"tar": files.tarGz, "zip": files.zip} {
		first, err := pack(at)
		if err != nil {
			t.Fatal(err)
		}
		second, err := pack(at.UTC())
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: two archives differ, %v", name, err)
		}
	}
	if got, want := strings.Join(files.folders(), " "), "x/ x/bin/ x/share/"; got != want {
		t.Errorf("folders %s, expected %s", got, want)
	}
	packed, err := files.tarGz(at)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if h, err := tar.NewReader(plain).Next(); err != nil || h.Name != "x/" || !h.ModTime.Equal(at) || h.Uid != 0 {
		t.Errorf("tar: %v, %+v", err, h)
	}
	packed, err = files.zip(at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(z.File) != 2 || z.File[0].Name != "x/bin/a" || !z.File[0].Modified.Equal(at) {
		t.Errorf("zip: %v, %+v", err, z)
	}
}

// Versions in another form are refused. A candidate is older than the release for Debian, too.
func TestVersionsHaveOneForm(t *testing.T) {
	for _, v := range []string{"", "0.1.0", "v0.1", "v0.1.0 -X a=b", "v0.1.0/..", "v0.1.0'"} {
		if checkVersion(v) == nil {
			t.Errorf("%q is taken", v)
		}
	}
	for v, want := range map[string]string{
		"v0.1.0": "0.1.0", "v0.2.0-rc.1": "0.2.0~rc.1", "v0.0.0-20261128112233-0123456789ab+dirty": "0.0.0~20261128112233.0123456789ab+dirty",
	} {
		if err := checkVersion(v); err != nil || debVersion(v) != want {
			t.Errorf("%s: %v, for Debian %s, expected %s", v, err, debVersion(v), want)
		}
	}
}

// A folder with files is refused: its old files would look like the release's.
func TestFolderWithFilesIsRefused(t *testing.T) {
	r := of(t, root(t), "xdrgen")
	r.out = t.TempDir()
	if err := os.WriteFile(filepath.Join(r.out, "old"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := r.build(targets()); err == nil || !strings.Contains(err.Error(), "has files") {
		t.Error(err)
	}
	if err := run([]string{"-only", "plan9_amd64"}, io.Discard); err == nil || !strings.Contains(err.Error(), "unknown target") {
		t.Error(err)
	}
}
