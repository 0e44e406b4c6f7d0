package use4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// treeSize is the size of a tree in bytes, and listed the number of names in a large directory.
const (
	treeSize = 4 << 20
	listed   = 2000
)

// elements returns the elements of a name.
func elements(name string) (out []string) {
	for e := range strings.SplitSeq(name, "/") {
		if e != "" && e != "." {
			out = append(out, e)
		}
	}
	return out
}

// Files copies a tree to the server and back, lists a large directory, keeps several READs in
// flight, and uses extended attributes. It returns what it has done.
func Files(ctx context.Context, s *Server, minor uint32) (text string, err error) {
	remove, err := s.work(ctx, "files")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	c, err := s.Client(ctx, &client4.Config{Depth: 16, Session: &nfs4.Config{Minor: minor, Cred: user()}})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := s.trees(ctx, c); err != nil {
		return "", err
	}
	if err := s.listing(ctx, c); err != nil {
		return "", err
	}
	if err := s.inFlight(ctx, c); err != nil {
		return "", err
	}
	text = fmt.Sprintf("%d MiB each way, %d names", treeSize>>20, listed)
	if minor == 1 {
		return text, nil
	}
	x, err := s.attributes(ctx, c)
	return text + ", " + x, err
}

// trees copies a tree to the server and back. Three digests must be equal.
func (s *Server) trees(ctx context.Context, c *client4.Client) error {
	from, to := filepath.Join(s.Local, "from"), filepath.Join(s.Local, "to")
	defer os.RemoveAll(from)
	defer os.RemoveAll(to)
	if _, err := s.tester(ctx, "fill", "-size", fmt.Sprint(treeSize), from); err != nil {
		return err
	}
	want, err := s.tester(ctx, "sum", from)
	if err != nil {
		return err
	}
	if err := put(ctx, c, from, s.name("files", "tree")); err != nil {
		return err
	}
	there, err := s.Shell(ctx, "mounttest sum "+s.path("files", "tree"))
	if err != nil {
		return err
	}
	if err := get(ctx, c, s.name("files", "tree"), to); err != nil {
		return err
	}
	back, err := s.tester(ctx, "sum", to)
	if err == nil && (strings.TrimSpace(there) != want || back != want) {
		err = fmt.Errorf("the tree has the digest %s, the one of the server %s, and the one that came back %s", want, there, back)
	}
	return err
}

// tester runs mounttest on this machine.
func (s *Server) tester(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, s.Tester, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("mounttest %s: %w: %s", args, err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// put copies a tree of this machine to the server.
func put(ctx context.Context, c *client4.Client, from, to string) error {
	var files group
	err := filepath.WalkDir(from, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, at)
		name = path.Join(to, filepath.ToSlash(name))
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return c.Mkdir(ctx, name, 0o755)
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			return errors.Join(err, c.Symlink(ctx, target, name))
		}
		files.Go(func() error { return putFile(ctx, c, at, name) })
		return nil
	})
	return errors.Join(err, files.Wait())
}

func putFile(ctx context.Context, c *client4.Client, from, to string) (err error) {
	local, err := os.Open(from)
	if err != nil {
		return err
	}
	defer local.Close()
	info, err := local.Stat()
	if err != nil {
		return err
	}
	f, err := c.OpenFile(ctx, to, os.O_RDWR|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	return errors.Join(f.CopyFrom(local, 0, info.Size(), nil), f.Close())
}

// get copies a tree of the server to this machine.
func get(ctx context.Context, c *client4.Client, from, to string) error {
	var files group
	tree := c.FS(ctx, from)
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		at := filepath.Join(to, name)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.Mkdir(at, 0o755)
		case e.Type() == fs.ModeSymlink:
			target, err := fs.ReadLink(tree, name)
			return errors.Join(err, os.Symlink(target, at))
		}
		files.Go(func() error { return getFile(ctx, c, path.Join(from, name), at) })
		return nil
	})
	return errors.Join(err, files.Wait())
}

func getFile(ctx context.Context, c *client4.Client, from, to string) error {
	f, err := c.Open(ctx, from)
	if err != nil {
		return err
	}
	local, err := os.Create(to)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.CopyTo(local, 0, info.Size())
	}
	return errors.Join(err, local.Close(), f.Close())
}

// listing lists a directory with thousands of names.
func (s *Server) listing(ctx context.Context, c *client4.Client) error {
	dir := s.path("files", "many")
	if _, err := s.Shell(ctx, fmt.Sprintf("mkdir %s && cd %[1]s && seq -w 1 %d | sed 's,^,entry-,' | xargs touch", dir, listed)); err != nil {
		return err
	}
	var got []string
	for info, err := range c.ReadDir(ctx, s.name("files", "many")) {
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: found mode %v, expected a file", info.Name(), info.Mode())
		}
		got = append(got, info.Name())
	}
	var want []string
	for i := range listed {
		want = append(want, fmt.Sprintf("entry-%04d", i+1))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		return fmt.Errorf("found %d names, expected the %d that are there", len(got), len(want))
	}
	return nil
}

// inFlight reads a file with 16 READs in flight, and with 64 READs of a page each.
func (s *Server) inFlight(ctx context.Context, c *client4.Client) (err error) {
	data := random(1, 4<<20)
	f, err := c.Create(ctx, s.name("files", "data"), 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	got := make([]byte, len(data))
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
		return fmt.Errorf("READ of %d bytes: %v, or other bytes", len(data), err)
	}
	var reads group
	for i := range 64 {
		reads.Go(func() error {
			page := make([]byte, 4096)
			at := int64(i) * 50_001
			if _, err := f.ReadAt(page, at); err != nil || !bytes.Equal(page, data[at:at+4096]) {
				return fmt.Errorf("READ of a page at %d: %v, or other bytes", at, err)
			}
			return nil
		})
	}
	return reads.Wait()
}

// attributes uses the extended attributes of a file, if the server's file system has them.
func (s *Server) attributes(ctx context.Context, c *client4.Client) (string, error) {
	name := s.name("files", "data")
	want := map[string][]byte{"small": []byte("x"), "empty": {}, "large": random(2, 3000)}
	for key, value := range want {
		err := c.SetXattr(ctx, name, key, value)
		if errors.Is(err, errors.ErrUnsupported) {
			return "no extended attributes", nil
		}
		if err != nil {
			return "", err
		}
	}
	keys, err := c.ListXattrs(ctx, name)
	if err != nil {
		return "", err
	}
	if slices.Sort(keys); !slices.Equal(keys, []string{"empty", "large", "small"}) {
		return "", fmt.Errorf("LISTXATTRS: found %q", keys)
	}
	for key, value := range want {
		if got, err := c.GetXattr(ctx, name, key); err != nil || !bytes.Equal(got, value) {
			return "", fmt.Errorf("GETXATTR %s: %v, or another value", key, err)
		}
	}
	if err := c.RemoveXattr(ctx, name, "small"); err != nil {
		return "", err
	}
	if _, err := c.GetXattr(ctx, name, "small"); err == nil {
		return "", errors.New("GETXATTR of one that was removed: it is still there")
	}
	return "3 extended attributes", nil
}
