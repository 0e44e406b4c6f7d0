package residenttest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// env has the MaxMemory of the server's process.
const env = "TEST_RESIDENT"

// Row is an attack.
type Row struct {
	Name  string
	Conns int // how many times Dial is called

	// Dial connects to a server. It returns the attack on the connection, which runs on its own
	// goroutine, and a function that closes the connection.
	Dial func(t *testing.T, addr string) (attack, stop func())

	Seconds, Most int // how long it is watched, and Config.MaxMemory
}

// Run makes the attacks, each on its own server, and checks that the resident memory of the
// server's process stays at or below 1.5 x MaxMemory + 32 MiB, with the garbage collector as it is
// by default. serve starts the server with a MaxMemory and returns its address. dial connects an
// honest client, which is served at the same time.
func Run(t *testing.T, serve func(h oncrpc.Handler, most int) (addr string, err error), dial func(t *testing.T, addr string) oncrpc.Carrier, rows []Row) {
	if most, err := strconv.Atoi(os.Getenv(env)); err == nil {
		addr, err := serve(handler(), most)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(addr)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if xdrtest.Race {
		t.Skip("the race detector takes memory, too")
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			if testing.Short() && row.Most > 64<<20 {
				t.Skip("takes hundreds of MiB")
			}
			s := start(t, row.Most)
			honest := dial(t, s.addr)
			Honest(t, honest)
			var attackers sync.WaitGroup
			defer attackers.Wait()
			for range row.Conns {
				attack, stop := row.Dial(t, s.addr)
				defer stop()
				attackers.Go(attack)
			}
			calls, slowest := 0, time.Duration(0)
			for end := time.Now().Add(time.Duration(row.Seconds) * time.Second); time.Now().Before(end) && !t.Failed(); calls++ {
				began := time.Now()
				Honest(t, honest)
				slowest = max(slowest, time.Since(began))
			}
			peak := s.peak(t)
			t.Logf("%4d MiB resident at most, %6d honest calls in %d s, the slowest %v", peak>>20, calls, row.Seconds, slowest.Round(time.Millisecond))
			if allowed := int64(row.Most + row.Most/2 + 32<<20); peak > allowed {
				t.Errorf("%d MiB resident, at most %d are allowed", peak>>20, allowed>>20)
			}
		})
	}
}

// server is a server in another process.
type server struct {
	addr string
	pid  int
}

// start starts a server with a MaxMemory.
func start(t *testing.T, most int) *server {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), env+"="+strconv.Itoa(most), "GOGC=", "GOMEMLIMIT=")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &server{addr: strings.TrimSpace(line), pid: cmd.Process.Pid}
}

// peak returns the most resident memory that the process has had, in bytes.
func (s *server) peak(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	t.Fatalf("no VmHWM in %s", b)
	return 0
}
