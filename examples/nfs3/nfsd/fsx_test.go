package nfsd_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/nfs3/nfsd"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// model has the files as they must be: contents by name, in two directories.
type model struct {
	t       *testing.T
	e       *export
	c       *client
	rnd     *rand.Rand
	dirs    [2]nfs3.Handle
	files   map[string][]byte // "0/name"
	handles map[string]nfs3.Handle
}

const fsxMost = 300_000 // bytes of a file

// Random reads, writes, truncations, renames, removals and lookups leave the files as a model of
// them, over each carrier.
func TestRandomOperations(t *testing.T) {
	steps := 1500
	if testing.Short() {
		steps = 200
	}
	overAll(t, nfsd.Config{Async: true}, func(t *testing.T, e *export, c *client) {
		const seed = 74
		m := &model{t: t, e: e, c: c, rnd: rand.New(rand.NewSource(seed)), files: map[string][]byte{}, handles: map[string]nfs3.Handle{}}
		for i := range m.dirs {
			m.dirs[i], _ = c.mkdir(t, c.root, fmt.Sprint(i))
		}
		for i := 0; i < steps && !t.Failed(); i++ {
			m.step()
		}
		m.compare()
	})
}

// name returns a random name, that of a file if there is one and exists is true.
func (m *model) name(exists bool) string {
	if names := slices.Sorted(maps.Keys(m.files)); exists && len(names) > 0 {
		return names[m.rnd.Intn(len(names))]
	}
	return fmt.Sprintf("%d/%c", m.rnd.Intn(2), 'a'+rune(m.rnd.Intn(6)))
}

func (m *model) dir(name string) nfs3.Handle { return m.dirs[name[0]-'0'] }

func (m *model) step() {
	name := m.name(true)
	file, ok := m.files[name]
	h := m.handles[name]
	switch op := m.rnd.Intn(100); {
	case !ok || op < 5:
		name = m.name(false)
		h, code := m.c.create(m.t, m.dir(name), name[2:])
		if _, exists := m.files[name]; exists {
			want(m.t, "CREATE", code, nfs3.StatusExist)
			return
		}
		want(m.t, "CREATE", code, nfs3.StatusOK)
		m.files[name], m.handles[name] = nil, h
	case op < 40:
		offset, data := m.rnd.Intn(fsxMost/2), pattern(byte(m.rnd.Int()), m.rnd.Intn(fsxMost/2))
		res := m.c.write(m.t, h, uint64(offset), data, nfs3.StableHow(m.rnd.Intn(3)))
		if want(m.t, "WRITE", res.Status, nfs3.StatusOK); int(res.OK.Count) != len(data) {
			m.t.Errorf("wrote %d of %d", res.OK.Count, len(data))
		}
		if len(data) > 0 {
			file = append(file, make([]byte, max(offset+len(data)-len(file), 0))...)
			copy(file[offset:], data)
		}
		m.files[name] = file
	case op < 75:
		offset, count := m.rnd.Intn(fsxMost), m.rnd.Intn(fsxMost)
		got := m.c.read(m.t, h, uint64(offset), uint32(count))
		from := min(offset, len(file))
		to := min(from+count, len(file))
		if want(m.t, "READ", got.Status, nfs3.StatusOK); !bytes.Equal(got.OK.Data, file[from:to]) || got.OK.EOF != (to == len(file)) {
			m.t.Errorf("READ of %s at %d: %d bytes, %v", name, offset, len(got.OK.Data), got.OK.EOF)
		}
	case op < 85:
		size := m.rnd.Intn(fsxMost)
		want(m.t, "SETATTR", m.c.setattr(m.t, h, nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: nfs3.Size(size)}}), nfs3.StatusOK)
		if size < len(file) {
			file = bytes.Clone(file[:size])
		}
		m.files[name] = append(file, make([]byte, size-len(file))...)
	case op < 93:
		to := m.name(false)
		want(m.t, "RENAME", m.c.rename(m.t, m.dir(name), name[2:], m.dir(to), to[2:]), nfs3.StatusOK)
		if to != name {
			m.files[to], m.handles[to] = file, h
			delete(m.files, name)
			delete(m.handles, name)
		}
	case op < 96:
		want(m.t, "REMOVE", m.c.remove(m.t, m.dir(name), name[2:]), nfs3.StatusOK)
		_, code := m.c.attr(m.t, h)
		want(m.t, "GETATTR of a removed file", code, nfs3.StatusStale)
		delete(m.files, name)
		delete(m.handles, name)
	default:
		m.compare()
	}
}

// compare compares all files and both directories with the model.
func (m *model) compare() {
	for i, dir := range m.dirs {
		var names []string
		for _, name := range m.c.list(m.t, dir, m.rnd.Intn(2) == 0, 4096, nil) {
			if name != "." && name != ".." {
				names = append(names, fmt.Sprintf("%d/%s", i, name))
			}
		}
		slices.Sort(names)
		expected := slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(name string) bool { return name[0]-'0' != byte(i) })
		if !slices.Equal(names, expected) {
			m.t.Errorf("directory %d has %q, expected %q", i, names, expected)
		}
	}
	for name, file := range m.files {
		h, code := m.c.lookup(m.t, m.dir(name), name[2:])
		if want(m.t, "LOOKUP", code, nfs3.StatusOK); !bytes.Equal(h.Data, m.handles[name].Data) {
			m.t.Errorf("%s has another handle", name)
		}
		if got := m.c.read(m.t, h, 0, 1<<20); !bytes.Equal(got.OK.Data, file) {
			m.t.Errorf("%s has %d bytes, expected %d, or they differ", name, len(got.OK.Data), len(file))
		}
	}
}
