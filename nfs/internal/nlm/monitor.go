package nlm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/internal/locks"
)

// fileName is the name of the client file, whose first line is fileHead and the number of the
// server's start. Each other line is a client: the host and the name, quoted.
const fileName, fileHead = "lockers", "lockers of start"

// manyClients is the number of clients in a file that is written again, without those that have no
// locks.
const manyClients = 8192

// monitor has the clients that are called after a restart.
type monitor struct {
	start  int32          // odd, and another one than before
	former []locks.Client // of the former life
	path   string         // empty without a file

	mu    sync.RWMutex
	noted map[locks.Client]bool
	file  *os.File // to append to
}

// openMonitor reads the file of clients, and writes it with a new number.
func openMonitor(dir string) (*monitor, error) {
	m := &monitor{start: 1, noted: map[locks.Client]bool{}}
	if dir == "" {
		return m, nil
	}
	m.path = filepath.Join(dir, fileName)
	text, err := os.ReadFile(m.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		if err := m.parse(text); err != nil {
			return nil, fmt.Errorf("nlm: %s: %w: delete it, and clients lose the locks that they had", m.path, err)
		}
	}
	for _, c := range m.former {
		m.noted[c] = true
	}
	return m, m.write()
}

// parse reads the file. A last line without its end was not written completely, and no lock was
// granted to its client.
func (m *monitor) parse(text []byte) error {
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if i == 0 {
			if _, err := fmt.Sscanf(line, fileHead+" %d", &m.start); err != nil {
				return fmt.Errorf("line 1: found %.64q, expected %q and a number", line, fileHead)
			}
			if m.start = m.start | 1; m.start < 0 || m.start > 1<<30 {
				m.start = -1
			}
			m.start += 2
			continue
		}
		var c locks.Client
		if _, err := fmt.Sscanf(line, "%q %q", &c.Host, &c.Name); err != nil {
			return fmt.Errorf("line %d: found %.64q, expected a host and a name", i+1, line)
		}
		m.former = append(m.former, c)
	}
	return nil
}

func line(c locks.Client) string { return fmt.Sprintf("%q %q\n", c.Host, c.Name) }

// write writes the file again. The caller holds mu, or is the only user.
func (m *monitor) write() error {
	if m.path == "" {
		return nil
	}
	if m.file != nil {
		_ = m.file.Close() // synced, line by line
		m.file = nil
	}
	f, err := os.OpenFile(m.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, "%s %d\n", fileHead, m.start)
	for c := range m.noted {
		_, _ = w.WriteString(line(c))
	}
	if err = errors.Join(w.Flush(), f.Sync()); err == nil {
		err = os.Rename(m.path+".new", m.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	m.file = f
	return syncDir(filepath.Dir(m.path))
}

// syncDir stores the names of a directory.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// has reports whether a client is noted: it has locks, or had some before the restart.
func (m *monitor) has(c locks.Client) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.noted[c]
}

// add notes a client before it has a lock. If the file has many clients, those without locks are
// removed first: have returns the others.
func (m *monitor) add(c locks.Client, have func() []locks.Client) error {
	if m.path == "" || m.has(c) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noted[c] {
		return nil
	}
	if len(m.noted) >= manyClients || m.file == nil {
		keep := map[locks.Client]bool{}
		for _, c := range m.former { // may still reclaim
			keep[c] = true
		}
		for _, c := range have() {
			keep[c] = true
		}
		m.noted = keep
		if err := m.write(); err != nil {
			return err
		}
	}
	if _, err := m.file.WriteString(line(c)); err != nil {
		return m.broken(err)
	}
	if err := m.file.Sync(); err != nil {
		return m.broken(err)
	}
	m.noted[c] = true
	return nil
}

// broken makes the next call of add write the whole file, because a part of a line may be in it.
func (m *monitor) broken(err error) error {
	err = errors.Join(err, m.file.Close())
	m.file = nil
	return err
}

// settle forgets the clients of the former life after the grace period, except those that have
// locks: have returns these. A client that is noted before it, and locks after it, is noted again
// by the caller of add.
func (m *monitor) settle(have func() []locks.Client) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.former, m.noted = nil, map[locks.Client]bool{}
	for _, c := range have() {
		m.noted[c] = true
	}
	return m.write()
}

// close writes the clients that have locks, or leaves the file as it is for nil.
func (m *monitor) close(have func() []locks.Client) error {
	var err error
	if have != nil {
		err = m.settle(have)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		err = errors.Join(err, m.file.Close())
	}
	return err
}
