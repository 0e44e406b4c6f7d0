package nlm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/internal/locks"
)

// A line that was not written completely is ignored, because its client was granted nothing. Any
// other line that is wrong is an error, which names it.
func TestFileOfClients(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		former     int
	}{
		{"lockers of start 7\n\"a\" \"b\"\n\"c\" \"d", "", 1},
		{"lockers of start 7\n", "", 0},
		{"lockers of start 7\n\"a\"\n", `line 2: found "\"a\"", expected a host and a name`, 0},
		{"clients\n", `line 1: found "clients", expected "lockers of start" and a number`, 0},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := openMonitor(dir)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, expected %q", tt.text, err, tt.want)
		}
		if err != nil {
			continue
		}
		if m.start != 9 || len(m.former) != tt.former {
			t.Errorf("%q: start %d, %v", tt.text, m.start, m.former)
		}
		if err := m.close(func() []locks.Client { return nil }); err != nil {
			t.Error(err)
		}
	}
}

// The numbers of starts are odd, and begin again before they are too large.
func TestNumbersOfStarts(t *testing.T) {
	for before, want := range map[string]int32{"1": 3, "8": 11, "2147483647": 1, "-3": 1} {
		m := &monitor{}
		if err := m.parse([]byte("lockers of start " + before + "\n")); err != nil || m.start != want {
			t.Errorf("after %s: %d, %v, expected %d", before, m.start, err, want)
		}
	}
}

// A client is noted once. If that fails, the next try writes the whole file again. The file of many
// clients is written again with those that have locks, and with the former ones.
func TestClientsAreNoted(t *testing.T) {
	dir := t.TempDir()
	m, err := openMonitor(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.former = []locks.Client{{Host: "former"}}
	have := func() []locks.Client { return []locks.Client{{Host: "has"}} }
	first := locks.Client{Host: "first", Name: "name"}
	if err := errors.Join(m.add(first, have), m.add(first, have)); err != nil {
		t.Fatal(err)
	}
	text := func() string {
		b, err := os.ReadFile(filepath.Join(dir, fileName))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got, want := text(), "lockers of start 1\n\"first\" \"name\"\n"; got != want {
		t.Errorf("the file is %q, expected %q", got, want)
	}
	_ = m.file.Close()
	second := locks.Client{Host: "second"}
	if err := m.add(second, have); err == nil {
		t.Fatal("a file that is closed was written")
	}
	if m.noted[second] {
		t.Error("a client that is not in the file is noted")
	}
	if err := m.add(second, have); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"second" ""`, `"has" ""`, `"former" ""`} {
		if !strings.Contains(text(), want+"\n") {
			t.Errorf("the file is %q, expected %s", text(), want)
		}
	}
	if strings.Contains(text(), "first") {
		t.Errorf("the file has a client without locks: %q", text())
	}
	if err := m.close(have); err != nil {
		t.Fatal(err)
	}
	if got := text(); got != "lockers of start 1\n\"has\" \"\"\n" {
		t.Errorf("at the end the file is %q", got)
	}
}

// The grace period ends while a client locks: it is among those that have locks, or is noted
// afterwards, because the table is asked while clients cannot be noted.
func TestNoClientIsForgottenAtTheEndOfTheGracePeriod(t *testing.T) {
	m, err := openMonitor(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := locks.Client{Host: "host", Name: "name"}
	err = m.settle(func() []locks.Client {
		if m.mu.TryLock() {
			t.Error("clients can be noted, and are then forgotten")
			m.mu.Unlock()
		}
		return []locks.Client{c}
	})
	if err != nil || !m.has(c) {
		t.Errorf("a client that has locks is noted: %v, %v", m.has(c), err)
	}
	if err := m.close(nil); err != nil {
		t.Error(err)
	}
}
