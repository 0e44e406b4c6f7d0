package client_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"path"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// ganeshaTree copies a tree to the server and back. Files get their sizes first: else one was
// short now and then, by the last of the WRITEs that had made it longer at the same time.
func ganeshaTree(t *testing.T, c *client.Client) {
	ctx := t.Context()
	tree := map[string][]byte{} // nil for a directory
	for i, dir := range []string{"tree", "tree/a", "tree/a/b", "tree/empty"} {
		check(t, c.Mkdir(ctx, dir, 0o755))
		tree[dir] = nil
		for j := range 3 {
			if dir == "tree/empty" {
				continue
			}
			name, data := fmt.Sprintf("%s/file%d", dir, j), random(int64(10*i+j), j*700_001)
			f, err := c.Create(ctx, name, 0o644)
			check(t, err)
			check(t, f.Truncate(int64(len(data))))
			check(t, f.CopyFrom(bytes.NewReader(data), 0, int64(len(data)), nil))
			check(t, f.Close())
			tree[name] = append([]byte{}, data...)
		}
	}
	var walk func(dir string)
	walk = func(dir string) {
		for e, err := range c.ReadDir(ctx, dir) {
			check(t, err)
			name := path.Join(dir, e.Name())
			want, made := tree[name]
			switch delete(tree, name); {
			case !made || e.IsDir() != (want == nil):
				t.Errorf("%s: %v, which was not made", name, e.Mode())
			case e.IsDir():
				walk(name)
			default:
				f, err := c.Open(ctx, name)
				check(t, err)
				var got bytes.Buffer
				_, err = f.CopyTo(&got, 0, e.Size())
				check(t, err)
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%s: %d bytes, which differ from the %d written", name, got.Len(), len(want))
				}
			}
		}
	}
	delete(tree, "tree")
	walk("tree")
	if len(tree) != 0 {
		t.Errorf("%d files are not listed", len(tree))
	}
}

// ganeshaCut writes and reads a file over connections that are cut after 800,000 bytes.
func ganeshaCut(t *testing.T, cfg client.Config) {
	ctx := t.Context()
	r := newRelay(t, "127.0.0.1:12049", 800_000)
	cfg.Port, cfg.MaxIO, cfg.Window = port(t, r.Addr().String()), 64<<10, 500_000
	c, _ := dial(t, "127.0.0.1:/export", &cfg)
	data := random(4, 2<<20)
	f, err := c.Create(ctx, "cut", 0o644)
	check(t, err)
	check(t, f.Truncate(int64(len(data))))
	check(t, f.CopyFrom(bytes.NewReader(data), 0, int64(len(data)), nil))
	var got bytes.Buffer
	_, err = f.CopyTo(&got, 0, int64(len(data)))
	if check(t, err); !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes, which differ from the %d written", got.Len(), len(data))
	}
	if n := r.connections(); n < 3 {
		t.Errorf("%d connections, expected more: none was cut", n)
	}
}

// relay passes connections on to a server, and cuts each after a number of bytes from either side.
type relay struct {
	net.Listener
	mu sync.Mutex
	n  int
}

func newRelay(t *testing.T, server string, most int64) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	r := &relay{Listener: l}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = from.Close()
				continue
			}
			r.mu.Lock()
			r.n++
			r.mu.Unlock()
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				wg.Go(func() {
					_, _ = io.CopyN(way[0], way[1], most) // ends by the cut, of either way
					_ = from.Close()
					_ = to.Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		check(t, l.Close())
		wg.Wait()
	})
	return r
}

func (r *relay) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}
