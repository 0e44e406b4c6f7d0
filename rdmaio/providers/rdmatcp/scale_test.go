package rdmatcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// 10,000 idle connections and 1,000 active ones on one machine. Client and server are separate
// processes, because a connection needs a file descriptor in each.

// scaleEnv makes this test program the client: see scaleClient.
const scaleEnv = "RDMATCP_SCALE_CLIENT"

const (
	scaleIdle = 10_000
	scaleBusy = 1_000
	scaleSize = 128
	scaleRest = 500 // descriptors for other uses
	idleLimit = 64 << 10
)

// crowd is one end of many connections that exchange calls, with one device, one domain and one
// completion queue.
type crowd struct {
	dev  *rdmatcp.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	mr   verbs.MemoryRegion
	wake <-chan struct{}

	mu  sync.Mutex
	qps map[uint32]verbs.QueuePair
	wcs [256]verbs.WC
}

func newCrowd(dev *rdmatcp.Device, most int) (c *crowd, err error) {
	notify, wake := verbs.NotifyChannel()
	c = &crowd{dev: dev, wake: wake, qps: make(map[uint32]verbs.QueuePair, most)}
	if c.pd, err = dev.AllocPD(); err != nil {
		return nil, err
	}
	if c.cq, err = dev.CreateCQ(4*most, notify); err != nil {
		return nil, err
	}
	c.mr, err = c.pd.RegisterMemory(make([]byte, scaleSize), everything)
	return c, err
}

// add creates a queue pair with a posted Receive.
func (c *crowd) add() (verbs.QueuePair, error) {
	q, err := c.pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: c.cq, MaxSendWR: 2, MaxRecvWR: 2})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.qps[q.Num()] = q
	c.mu.Unlock()
	return q, c.recv(q)
}

func (c *crowd) recv(q verbs.QueuePair) error {
	_, err := q.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: c.mr, Length: scaleSize}}}})
	return err
}

func (c *crowd) send(q verbs.QueuePair) error {
	_, err := q.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: c.mr, Length: scaleSize}}}})
	return err
}

// poll answers messages while more returns true, and counts them. It returns if none has arrived
// for a while, or if as many were not answered as are outstanding.
func (c *crowd) poll(outstanding int, atMost time.Duration, more func() bool) (got int, err error) {
	for armed := false; outstanding != 0; {
		n, err := c.cq.Poll(c.wcs[:])
		if err != nil {
			return got, err
		}
		for _, wc := range c.wcs[:n] {
			if wc.Status == verbs.StatusFlushed || wc.Opcode != verbs.WCRecv {
				continue
			}
			got++
			c.mu.Lock()
			q := c.qps[wc.QPNum]
			c.mu.Unlock()
			if err := c.recv(q); err != nil {
				return got, err
			}
			if !more() {
				outstanding--
			} else if err := c.send(q); err != nil {
				return got, err
			}
		}
		switch {
		case n > 0:
			armed = false
		case !armed:
			c.cq.Arm(false)
			armed = true
		default:
			select {
			case <-c.wake:
				armed = false
			case <-time.After(atMost):
				return got, nil
			}
		}
	}
	return got, nil
}

func (c *crowd) close() {
	for _, q := range c.qps {
		q.Close()
	}
	c.mr.Deregister()
	c.cq.Close()
	c.pd.Close()
}

func TestManyConnections(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("takes some seconds and 11,000 descriptors in each of two processes")
	}
	idle, busy := scaleIdle, scaleBusy
	if limit := descriptors(); limit < idle+busy+scaleRest {
		busy = max(1, (limit-scaleRest)/11)
		idle = 10 * busy
		t.Logf("%d descriptors allowed: only %d resting connections and %d busy ones", limit, idle, busy)
	}
	dev := device(t, nil)
	ln := listen(t, dev)
	resting, err := newCrowd(dev, idle)
	if err != nil {
		t.Fatal(err)
	}
	defer resting.close()
	working, err := newCrowd(dev, busy)
	if err != nil {
		t.Fatal(err)
	}
	defer working.close()

	child := startScaleClient(t, ln.Addr(), idle, busy)
	accept := func(c *crowd, n int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for i := range n {
			q, err := c.add()
			if err != nil {
				t.Fatal(err)
			}
			req, err := ln.Accept(ctx)
			if err == nil {
				_, err = req.Accept(ctx, q, nil)
			}
			if err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
	}
	var stop sync.WaitGroup
	serve := func(c *crowd, done <-chan struct{}) {
		stop.Go(func() {
			for {
				if _, err := c.poll(-1, 200*time.Millisecond, func() bool { return true }); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	done := make(chan struct{})
	defer stop.Wait()
	defer close(done)

	child.tell("connect busy")
	accept(working, busy)
	serve(working, done)
	child.expect("connected")
	alone := child.rate()

	goroutines, before := runtime.NumGoroutine(), heap()
	child.tell("connect idle")
	accept(resting, idle)
	serve(resting, done)
	client := child.expect("connected") // after a call on each connection
	time.Sleep(300 * time.Millisecond)
	each := (heap() - before) / int64(idle)
	t.Logf("a resting connection: %d bytes at the server, %d at the client, %.2f goroutines", each, client, float64(runtime.NumGoroutine()-goroutines)/float64(idle))
	if each > idleLimit || int64(client) > idleLimit {
		t.Errorf("a resting connection keeps %d bytes at the server, %d at the client, want at most %d", each, client, idleLimit)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 2*idle+10 {
		t.Errorf("%d goroutines for %d connections", n, idle)
	}

	// The best of some runs: the machine may be busy.
	crowded := 0
	for range 4 {
		if crowded = max(crowded, child.rate()); crowded > alone*2/3 {
			break
		}
	}
	t.Logf("%d calls a second over %d connections alone, %d with %d resting ones", alone, busy, crowded, idle)
	if crowded < alone/4 {
		t.Errorf("%d calls a second over %d connections alone, but %d with %d resting ones", alone, busy, crowded, idle)
	}

	child.tell("quit")
	limit := time.Now().Add(time.Minute)
	for _, q := range resting.qps {
		for q.State() == verbs.StateConnected {
			if time.Now().After(limit) {
				t.Fatal("a resting connection outlives its client")
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// scaleChild is the client's process.
type scaleChild struct {
	t       *testing.T
	process *os.Process
	in      io.Writer
	out     *bufio.Scanner
}

func startScaleClient(t *testing.T, addr string, idle, busy int) *scaleChild {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestManyConnectionsClient$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", scaleEnv, addr, idle, busy))
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
	c := &scaleChild{t, cmd.Process, in, bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		if t.Failed() { // the child may wait for a line that does not come
			cmd.Process.Kill()
		}
		defer c.within(time.Minute)()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client's process: %v", err)
		}
	})
	return c
}

// within stops the process and prints its stacks, unless the function that it returns is called in
// time.
func (c *scaleChild) within(limit time.Duration) (done func() bool) {
	return time.AfterFunc(limit, func() {
		if c.process.Signal(syscall.SIGQUIT) != nil {
			c.process.Kill()
		}
	}).Stop
}

func (c *scaleChild) tell(what string) { fmt.Fprintln(c.in, what) }

// expect waits for a line "what number".
func (c *scaleChild) expect(what string) (n int) {
	c.t.Helper()
	defer c.within(2 * time.Minute)()
	if !c.out.Scan() {
		c.t.Fatalf("the client's process ended before %q", what)
	}
	var got string
	if _, err := fmt.Sscan(c.out.Text(), &got, &n); err != nil || got != what {
		c.t.Fatalf("the client's process says %q, want %q and a number", c.out.Text(), what)
	}
	return n
}

// rate returns how many calls the active connections make in a second.
func (c *scaleChild) rate() int {
	c.t.Helper()
	c.tell("work")
	return c.expect("calls")
}

// TestManyConnectionsClient is the other process of TestManyConnections.
func TestManyConnectionsClient(t *testing.T) {
	spec, ok := os.LookupEnv(scaleEnv)
	if !ok {
		t.Skip("only as the client of TestManyConnections")
	}
	var addr string
	var idle, busy int
	if _, err := fmt.Sscan(spec, &addr, &idle, &busy); err != nil {
		t.Fatal(err)
	}
	dev := device(t, nil)
	resting, err := newCrowd(dev, idle)
	if err != nil {
		t.Fatal(err)
	}
	working, err := newCrowd(dev, busy)
	if err != nil {
		t.Fatal(err)
	}
	defer resting.close()
	defer working.close()
	dial := func(c *crowd, n int) {
		const together = 32
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		left := make(chan struct{}, n)
		for range n {
			left <- struct{}{}
		}
		close(left)
		for range together {
			wg.Go(func() {
				for range left {
					q, err := c.add()
					if err == nil {
						_, err = dev.Dial(ctx, addr, q, nil)
					}
					if err == nil {
						err = c.send(q)
					}
					if err != nil {
						t.Errorf("dial: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "connect busy":
			dial(working, busy)
			if n, err := working.poll(busy, time.Minute, func() bool { return false }); n != busy || err != nil {
				t.Errorf("%d answers, %v; want %d", n, err, busy)
			}
			fmt.Println("connected", 0)
		case "connect idle":
			before := heap()
			dial(resting, idle)
			if n, err := resting.poll(idle, time.Minute, func() bool { return false }); n != idle || err != nil {
				t.Errorf("%d answers, %v; want %d", n, err, idle)
			}
			fmt.Println("connected", (heap()-before)/int64(idle))
		case "work":
			start := time.Now()
			for _, q := range working.qps {
				if err := working.send(q); err != nil {
					t.Error(err)
				}
			}
			n, err := working.poll(busy, time.Minute, func() bool { return time.Since(start) < time.Second })
			if err != nil {
				t.Error(err)
			}
			fmt.Println("calls", n)
		default:
			return
		}
	}
}
