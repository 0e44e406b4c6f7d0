package iofs_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/nfs/iofs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs/vfstest"
)

// zipped returns the sample as a zip file.
func zipped(t *testing.T) fs.FS {
	t.Helper()
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	sample := vfstest.Sample()
	for _, name := range slices.Sorted(maps.Keys(sample)) {
		file := sample[name]
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: file.ModTime}
		h.SetMode(file.Mode)
		if file.Mode.IsDir() {
			h.Name, h.Method = name+"/", zip.Store
		}
		part, err := w.CreateHeader(h)
		check(t, err)
		_, err = part.Write(file.Data)
		check(t, err)
	}
	check(t, w.Close())
	r, err := zip.NewReader(bytes.NewReader(text.Bytes()), int64(text.Len()))
	check(t, err)
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The same files are served from memory, from a zip file, and from one whose largest file is not
// kept in memory.
func TestFilesOfAnFS(t *testing.T) {
	for name, test := range map[string]struct {
		files fs.FS
		cfg   iofs.Config
	}{
		"readers at": {vfstest.Sample(), iofs.Config{}},
		"zip":        {zipped(t), iofs.Config{}},
		"small":      {zipped(t), iofs.Config{Cache: 1 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			open := func(t *testing.T) vfs.FS {
				f, err := iofs.New(test.files, test.cfg)
				check(t, err)
				return f
			}
			vfstest.Test(t, vfstest.Config{New: open, Reopen: func(t *testing.T, _ vfs.FS) vfs.FS { return open(t) }})
		})
	}
}

// A name that NFS cannot have is left out, with all below it.
func TestLongNamesAreLeftOut(t *testing.T) {
	files := vfstest.Sample()
	long := strings.Repeat("n", vfs.MaxName+1)
	files[long], files["dir/"+long+"/file"] = files["hello"], files["hello"]
	f, err := iofs.New(files, iofs.Config{})
	check(t, err)
	space, err := f.Space()
	check(t, err)
	if want := uint64(len(vfstest.Sample()) + 1); space.Files != want {
		t.Errorf("found %d files, expected %d", space.Files, want)
	}
}

// bare hides all but Read, Stat and Close of its files, and counts opens.
type bare struct {
	fs.FS
	opens *int
}

func (b bare) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	if info, _ := fs.Stat(b.FS, name); err != nil || info.IsDir() {
		return f, err
	}
	*b.opens++
	return struct{ fs.File }{f}, err
}

// Files that can only be read from the beginning are kept in memory, the latest ones, up to a
// limit. Open and ReadAt each open such a file.
func TestKeptFilesHaveALimit(t *testing.T) {
	opens := 0
	files := fstest.MapFS{}
	for _, name := range []string{"a", "b", "c"} {
		files[name] = &fstest.MapFile{Data: make([]byte, 400), Mode: 0o444}
	}
	f, err := iofs.New(bare{files, &opens}, iofs.Config{Cache: 1000})
	check(t, err)
	root, _, err := f.Root()
	check(t, err)
	for i, step := range []struct {
		name  string
		opens int
	}{{"a", 2}, {"a", 2}, {"b", 4}, {"a", 4}, {"c", 6}, {"b", 6}, {"c", 6}, {"a", 8}} {
		n, _, err := root.Lookup(step.name)
		check(t, err)
		file, err := n.Open(vfs.Read)
		check(t, err)
		_, err = file.ReadAt(make([]byte, 400), 0)
		check(t, err)
		check(t, file.Close())
		if opens != step.opens {
			t.Errorf("after step %d, of %s, files were opened %d times, expected %d", i, step.name, opens, step.opens)
		}
	}
}
