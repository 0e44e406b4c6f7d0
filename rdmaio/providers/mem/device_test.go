package mem_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func TestOpenLowersTheAttributes(t *testing.T) {
	n := mem.New(&mem.Config{})
	def, err := n.Open("d", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		lower verbs.DeviceAttributes
		want  func(*verbs.DeviceAttributes) // changes the defaults to the expected values
		err   error
	}{
		{"nothing", verbs.DeviceAttributes{}, func(*verbs.DeviceAttributes) {}, nil},
		{
			"lower",
			verbs.DeviceAttributes{MaxSendWR: 7, MaxMRSize: 100, MaxMessageSize: 50},
			func(a *verbs.DeviceAttributes) { a.MaxSendWR, a.MaxMRSize, a.MaxMessageSize = 7, 100, 50 }, nil,
		},
		{
			"none",
			verbs.DeviceAttributes{MaxInitiatorDepth: -1, MaxPrivateData: -1},
			func(a *verbs.DeviceAttributes) { a.MaxInitiatorDepth, a.MaxPrivateData = 0, 0 }, nil,
		},
		{"above", verbs.DeviceAttributes{MaxCQE: 1 << 30}, nil, verbs.ErrInvalidValue},
		{"no queue", verbs.DeviceAttributes{MaxRecvWR: -1}, nil, verbs.ErrInvalidValue},
	} {
		dev, err := n.Open("d", &tc.lower)
		if tc.err != nil {
			wantErr(t, tc.name, err, tc.err)
			continue
		}
		want := def.Attributes()
		tc.want(&want)
		if got := dev.Attributes(); err != nil || got != want {
			t.Errorf("%s: %+v (%v), want %+v", tc.name, got, err, want)
		}
	}
	broken := errors.New("no entropy")
	_, err = mem.New(&mem.Config{Rand: iotest.ErrReader(broken)}).Open("d", nil)
	wantErr(t, "read 16 random bytes", err, broken)
}

// handles registers n regions and returns their keys.
func handles(t *testing.T, dev *mem.Device, n int) (keys []uint32) {
	t.Helper()
	s := newSide(t, dev, sideConfig{})
	for range n {
		if err := errors.Join(s.mr.Invalidate(), s.mr.Reregister(s.mr.Bytes(), s.mr.Access())); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, s.mr.RKey())
	}
	return keys
}

// R301; RFC 5042 §6.1.1: keys are not used again, are evenly distributed, and are reproducible only
// with Config.Rand.
func TestKeysAreNotUsedAgain(t *testing.T) {
	open := func(seed string) *mem.Device {
		var cfg mem.Config
		if seed != "" {
			cfg.Rand = strings.NewReader(seed)
		}
		d, err := mem.New(&cfg).Open("d", nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const n = 1 << 16
	keys := handles(t, open(""), n)
	seen := make(map[uint32]bool, n)
	var cells [4][256]float64
	for _, k := range keys {
		if seen[k] || k == 0 {
			t.Fatalf("key %#x is zero or was used before", k)
		}
		seen[k] = true
		for i := range cells {
			cells[i][byte(k>>(8*i))]++
		}
	}
	for i := range cells {
		chi := 0.0
		for _, c := range cells[i] {
			chi += (c - n/256) * (c - n/256) / (n / 256)
		}
		if chi > 400 { // 255 degrees of freedom: mean 255, deviation 22.6
			t.Errorf("byte %d of the keys is not evenly spread: chi-square %.0f", i, chi)
		}
	}
	const seed = "0123456789abcdef"
	a, b := handles(t, open(seed), 10), handles(t, open(seed), 10)
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("key %d: %#x and %#x from the same seed", i, a[i], b[i])
		}
	}
}

// RFC 5042 §6.1.1: the keys around a valid one are invalid, and each guess costs a connection.
func TestGuessedKeyCostsAConnection(t *testing.T) {
	_, client, server := openPair(t)
	victim := newSide(t, server, sideConfig{})
	key := victim.mr.RKey()
	const tries = 1 << 10
	for i := range tries {
		guess := key + uint32(i) - uint32(tries/2)
		if guess == key {
			continue
		}
		t.Run("", func(t *testing.T) {
			c, s := newSide(t, client, sideConfig{}), newSide(t, server, sideConfig{})
			join(t, c, s)
			post(t, c, verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: c.sge(1), RKey: guess, RemoteAddr: victim.mr.RemoteAddr()})
			if wcs := c.poll(t); len(wcs) != 1 || wcs[0].Status != verbs.StatusRemoteAccess {
				t.Fatalf("guess %#x: %+v", guess, wcs)
			}
		})
	}
}

func TestRemoveEndsAllObjects(t *testing.T) {
	_, c, s := newPair(t)
	ln, err := c.dev.Listen(context.Background(), "gone soon")
	if err != nil {
		t.Fatal(err)
	}
	c.dev.Remove()
	wantErr(t, "own reason", c.qp.Err(), verbs.ErrDeviceRemoved)
	wantErr(t, "peer's reason", s.qp.Err(), verbs.ErrPeerDisconnected)
	_, err = ln.Accept(context.Background())
	wantErr(t, "accept", err, verbs.ErrClosed)
	_, err = c.dev.AllocPD()
	wantErr(t, "alloc pd", err, verbs.ErrDeviceRemoved)
	_, err = c.pd.Alloc(1)
	wantErr(t, "alloc", err, verbs.ErrDeviceRemoved)
	_, err = c.pd.RegisterMemory([]byte{1}, 0)
	wantErr(t, "register", err, verbs.ErrDeviceRemoved)
	_, err = c.dev.CreateCQ(1, nil)
	wantErr(t, "create cq", err, verbs.ErrDeviceRemoved)
	_, err = c.dev.Listen(context.Background(), "x")
	wantErr(t, "listen", err, verbs.ErrDeviceRemoved)
	_, err = c.pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: c.cq})
	wantErr(t, "create qp", err, verbs.ErrDeviceRemoved)
}

func TestLimitsOfADeviceHold(t *testing.T) {
	n := mem.New(&mem.Config{Backlog: 1})
	dev, err := n.Open("small", &verbs.DeviceAttributes{MaxMRSize: sideBytes, MaxMessageSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	a, b := newSide(t, dev, sideConfig{}), newSide(t, dev, sideConfig{})
	join(t, a, b)
	_, err = a.pd.RegisterMemory(make([]byte, sideBytes+1), 0)
	wantErr(t, "large region", err, verbs.ErrTooLarge)
	_, err = a.pd.Alloc(sideBytes + 1)
	wantErr(t, "large alloc", err, verbs.ErrTooLarge)
	_, err = a.qp.PostSend([]verbs.SendWR{{SGL: a.sge(101)}})
	wantErr(t, "large message", err, verbs.ErrTooLarge)
	_, err = a.qp.PostSend([]verbs.SendWR{{SGL: append(a.sge(60), a.sge(41)...)}})
	wantErr(t, "large message in two parts", err, verbs.ErrTooLarge)

	ln, err := dev.Listen(context.Background(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	waiting := newSide(t, dev, sideConfig{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := dev.Dial(ctx, "busy", waiting.qp, nil)
		done <- err
	}()
	for { // until the backlog of one is full, by the goroutine or by one of these
		c := newSide(t, dev, sideConfig{})
		short, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
		_, err := dev.Dial(short, "busy", c.qp, nil)
		stop()
		if errors.Is(err, verbs.ErrConnectionRefused) {
			break
		}
	}
	cancel()
	<-done

	_, err = dev.Listen(context.Background(), "")
	wantErr(t, "no address", err, verbs.ErrInvalidValue)
	_, err = dev.Listen(ctx, "late")
	wantErr(t, "cancelled listen", err, context.Canceled)
	dead := newSide(t, dev, sideConfig{})
	_, err = dev.Dial(ctx, "busy", dead.qp, nil)
	wantErr(t, "cancelled dial", err, context.Canceled)
}

// Listener.Accept does not return a request whose dialer has given up, and one that it has returned
// before cannot be accepted.
func TestDialGivenUp(t *testing.T) {
	_, client, server := openPair(t)
	c, late, s := newSide(t, client, sideConfig{}), newSide(t, client, sideConfig{}), newSide(t, server, sideConfig{})
	ln, err := server.Listen(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dial := func(s *side) (giveUp func()) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, err := client.Dial(ctx, "x", s.qp, nil)
			done <- err
		}()
		return func() {
			cancel()
			wantErr(t, "dial", <-done, context.Canceled)
		}
	}
	giveUp := dial(c)
	req, err := ln.Accept(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	giveUp()
	_, err = req.Accept(context.Background(), s.qp, nil)
	wantErr(t, "accept", err, verbs.ErrPeerDisconnected)

	giveUp = dial(late)
	for late.qp.State() == verbs.StateInit {
		time.Sleep(time.Millisecond)
	}
	giveUp()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = ln.Accept(ctx)
	wantErr(t, "the next request", err, context.DeadlineExceeded)
}

// An Accept whose context is done answers the request, so that the dialer does not wait any longer.
func TestAcceptCancelled(t *testing.T) {
	_, client, server := openPair(t)
	c, s := newSide(t, client, sideConfig{}), newSide(t, server, sideConfig{})
	ln, err := server.Listen(context.Background(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error)
	go func() {
		_, err := client.Dial(context.Background(), "x", c.qp, nil)
		done <- err
	}()
	req, err := ln.Accept(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = req.Accept(ctx, s.qp, nil)
	wantErr(t, "accept", err, context.Canceled)
	wantErr(t, "dial", <-done, verbs.ErrPeerDisconnected)
	if s.qp.State() != verbs.StateError || c.qp.State() != verbs.StateError {
		t.Errorf("states %v and %v, want error", s.qp.State(), c.qp.State())
	}
}

// The error of a broken connection names request, rule and numbers.
func TestBreakSaysWhy(t *testing.T) {
	_, c, s := newPair(t)
	post(t, c, verbs.SendWR{WRID: 0x77, Opcode: verbs.RDMARead, SGL: c.sge(8), RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr() + sideBytes - 7})
	for _, want := range []string{"request 0x77", "read of 8 bytes", "range is not within the region", "remote access error"} {
		if err := s.qp.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if bytes.ContainsFunc(c.mr.Bytes(), func(r rune) bool { return r != 0 }) {
		t.Error("bytes moved")
	}
}
