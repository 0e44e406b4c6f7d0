package ibverbs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// slabsOf returns how many slabs a device's queue pairs have, and their bytes.
func slabsOf(d *Device) (n, total int) {
	d.objects.mu.Lock()
	defer d.objects.mu.Unlock()
	for _, q := range d.objects.queues {
		q.pd.mu.Lock()
		for _, s := range q.pd.slabs {
			n++
			total += len(s.mem)
		}
		q.pd.mu.Unlock()
	}
	return n, total
}

// idleServer listens on a device for connections without calls.
func idleServer(t testing.TB, d *Device, cfg *rdmaio.Config) *rdmaio.Server {
	t.Helper()
	server, err := rdmaio.Listen(t.Context(), d, "127.0.0.2:0", oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// The memory of a connection without calls is one registration, of at most twice its Receives.
// docs/ibverbs.md has the number of connections for a limit of locked memory.
func TestRestingConnectionPinsTwiceItsReceivesAtMost(t *testing.T) {
	for _, credits := range []int{1, 2, 8, 32, 128} {
		f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
		cfg := &rdmaio.Config{Credits: credits}
		server := idleServer(t, f.s, cfg)
		conn, err := rdmaio.Dial(t.Context(), f.c, server.Addr(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for name, d := range map[string]*Device{"client": f.c, "server": f.s} {
			receives := credits * d.Attributes().InlineSize
			if n, got := slabsOf(d); n != 1 || got > max(2*receives, 2*os.Getpagesize()) {
				t.Errorf("%d credits: the %s's %d slabs have %d bytes, its Receives %d", credits, name, n, got, receives)
			}
		}
		if err := errors.Join(conn.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	}
}

// lockedEach returns the bytes that a client without calls has locked. Its windows make the queues
// longer.
func lockedEach(t *testing.T, credits int) int {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	cfg := &rdmaio.Config{Credits: credits}
	server := idleServer(t, f.s, cfg)
	conn, err := rdmaio.Dial(t.Context(), f.c, server.Addr(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	locked := f.client.Locked()
	if err := errors.Join(conn.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	return locked
}

// fit returns how many connections without calls a process can make whose limit of locked memory is
// so many bytes. The limit must be the reason why there is no other.
func fit(t *testing.T, credits, limit int) (n int) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	d, err := open(f.net.Host(fakelib.HostOptions{MemLock: limit}, fakelib.DeviceOptions{Name: "fake2"}), &Config{}, &quirks.Quirks{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &rdmaio.Config{Credits: credits}
	server := idleServer(t, f.s, cfg)
	var conns []*rdmaio.Conn
	for {
		conn, err := rdmaio.Dial(t.Context(), d, server.Addr(), cfg)
		if err != nil {
			if !errors.Is(err, syscall.ENOMEM) {
				t.Errorf("connection %d: %v, want %v", len(conns)+1, err, syscall.ENOMEM)
			}
			break
		}
		conns = append(conns, conn)
	}
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(append(errs, server.Close(), d.Close())...); err != nil {
		t.Error(err)
	}
	return len(conns)
}

// The table of docs/ibverbs.md has how many connections fit a limit of locked memory, within a
// twentieth.
func TestPageSaysHowManyConnectionsFit(t *testing.T) {
	if os.Getpagesize() != 4096 {
		t.Skip("the table is for pages of 4 KiB")
	}
	page, err := os.ReadFile(filepath.FromSlash("../../../docs/ibverbs.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| `ulimit -l` |")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	var each, credits []int
	for _, column := range strings.Split(strings.TrimSuffix(lines[0], "|"), "|") {
		n, err := strconv.Atoi(strings.Fields(column)[0])
		if err != nil {
			t.Fatalf("column %q: expected a number of credits first", column)
		}
		credits, each = append(credits, n), append(each, lockedEach(t, n))
	}
	units := map[string]int{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	rows := lines[2:]
	if len(rows) < 3 || len(each) < 2 {
		t.Fatalf("found %d rows and %d columns in the table", len(rows), len(each))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		text, unit, _ := strings.Cut(cells[0], " ")
		limit, err := strconv.Atoi(text)
		if err != nil || units[unit] == 0 || len(cells) != len(each)+1 {
			t.Fatalf("row %q: expected a limit, and a number for each column", row)
		}
		limit *= units[unit]
		for i, cell := range cells[1:] {
			n, err := strconv.Atoi(strings.ReplaceAll(cell, ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			if most := limit / each[i]; n > most || n < most-most/20 {
				t.Errorf("%s, %d credits: %d connections, but %d of %d bytes fit", cells[0], credits[i], n, most, each[i])
			}
			if limit <= 8<<20 {
				if got := fit(t, credits[i], limit); got != n {
					t.Errorf("%s, %d credits: %d connections, but %d were made", cells[0], credits[i], n, got)
				}
			}
		}
	}
}
