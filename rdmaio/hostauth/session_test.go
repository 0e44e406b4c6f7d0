package hostauth_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// script is a Method whose exchanges return the given results in turn, and fail after them.
type script struct {
	begin hostauth.Step
	steps []hostauth.Step
	peer  bool     // whether Peer is known
	got   [][]byte // messages received
}

var errScript = errors.New("end of the script")

func (s *script) Start(hostauth.Info) (hostauth.Exchange, error) { return s, nil }
func (s *script) Begin() (hostauth.Step, error)                  { return s.begin, nil }
func (s *script) Peer() (hostauth.Peer, bool)                    { return hostauth.Peer{Name: "p"}, s.peer }

func (s *script) Receive(msg []byte) (hostauth.Step, error) {
	s.got = append(s.got, msg)
	if len(s.steps) == 0 {
		return hostauth.Step{}, errScript
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step, nil
}

func start(t *testing.T, m hostauth.Method, limits hostauth.Limits) *hostauth.Session {
	t.Helper()
	s, err := hostauth.NewSession(m, hostauth.Info{Role: hostauth.Server}, limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSessionHasSeveralRounds(t *testing.T) { // R219: several rounds, of any size
	m := &script{
		begin: hostauth.Step{Send: true}, // an empty message, and the server speaks first
		steps: []hostauth.Step{{}, {Send: true, Message: []byte("b")}, {Done: true}},
		peer:  true,
	}
	s := start(t, m, hostauth.Limits{})
	if step, err := s.Begin(); err != nil || !step.Send || len(step.Message) != 0 {
		t.Fatalf("Begin: %+v, %v", step, err)
	}
	for i, want := range []hostauth.Step{{}, {Send: true, Message: []byte("b")}, {Done: true}} {
		if _, ok := s.Peer(); ok {
			t.Fatalf("round %d: Peer is known before the end", i)
		}
		step, err := s.Receive(make([]byte, 20000*(i%2))) // the first and the last are empty
		if err != nil || step.Send != want.Send || step.Done != want.Done || string(step.Message) != string(want.Message) {
			t.Fatalf("round %d: %+v, %v", i, step, err)
		}
	}
	if p, ok := s.Peer(); !ok || p.Name != "p" {
		t.Errorf("Peer: %+v, %v", p, ok)
	}
	if len(m.got) != 3 || m.got[0] == nil {
		t.Errorf("the exchange got %d messages, want 3 that are not nil", len(m.got))
	}
	if s.MaxMessage() != 0 {
		t.Errorf("MaxMessage is %d after the end", s.MaxMessage())
	}
}

// TestSessionWithoutPeer: a method may authenticate one side only.
func TestSessionWithoutPeer(t *testing.T) {
	s := start(t, &script{begin: hostauth.Step{Done: true}}, hostauth.Limits{})
	if step, err := s.Begin(); err != nil || !step.Done {
		t.Fatalf("Begin: %+v, %v", step, err)
	}
	if _, ok := s.Peer(); ok {
		t.Error("a Peer of a method that has none")
	}
}

func TestSessionRefuses(t *testing.T) { // T106
	tests := []struct {
		name     string
		limits   hostauth.Limits
		steps    []hostauth.Step // of the exchange; ordinary ones follow
		begins   int
		accepted []int // sizes of messages
		refused  int   // the size of the next one; negative: the last Begin is refused
		kind     error
		text     string
	}{
		{"round 9", hostauth.Limits{}, nil, 1, make([]int, 8), 0, hostauth.ErrLimit, "more than 8 messages"},
		{"round 3 of 2", hostauth.Limits{Rounds: 2}, nil, 1, []int{1, 1}, 1, hostauth.ErrLimit, "more than 2 messages"},
		{"64 KiB and a byte", hostauth.Limits{}, nil, 1, nil, 64<<10 + 1, hostauth.ErrLimit, "has 65537 bytes, expected at most 65536"},
		{"64 KiB and a byte in two", hostauth.Limits{}, nil, 1, []int{64 << 10}, 1, hostauth.ErrLimit, "has 1 bytes, expected at most 0 after 65536 of 65536"},
		{"11 bytes of 10", hostauth.Limits{Bytes: 10, Rounds: -1}, nil, 1, []int{4, 0, 4}, 3, hostauth.ErrLimit, "expected at most 2 after 8 of 10"},
		{"after done", hostauth.Limits{}, []hostauth.Step{{Done: true}}, 1, []int{1}, 0, hostauth.ErrOrder, "after the exchange was done"},
		{"before Begin", hostauth.Limits{}, nil, 0, nil, 1, hostauth.ErrOrder, "before Begin"},
		{"Begin twice", hostauth.Limits{}, nil, 2, nil, -1, hostauth.ErrOrder, "twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{steps: append(tt.steps, make([]hostauth.Step, 20)...), peer: true}
			s := start(t, m, tt.limits)
			var err error
			for range tt.begins {
				_, err = s.Begin()
			}
			for _, n := range tt.accepted {
				if n > s.MaxMessage() {
					t.Fatalf("MaxMessage is %d before a message of %d bytes that is accepted", s.MaxMessage(), n)
				}
				if _, err := s.Receive(make([]byte, n)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.refused >= 0 {
				if tt.begins > 0 && tt.refused > 0 && tt.refused <= s.MaxMessage() {
					t.Errorf("MaxMessage is %d before a message of %d bytes that is refused", s.MaxMessage(), tt.refused)
				}
				_, err = s.Receive(make([]byte, tt.refused))
			}
			var e *hostauth.Error
			if !errors.As(err, &e) || !errors.Is(err, tt.kind) || e.Role != hostauth.Server || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.kind, tt.text)
			}
			if len(m.got) != len(tt.accepted) {
				t.Errorf("the exchange got %d messages, want %d", len(m.got), len(tt.accepted))
			}
			if _, ok := s.Peer(); ok {
				t.Error("Peer is known after an error")
			}
			if _, again := s.Receive(nil); again != err {
				t.Errorf("after the error: %v, want the same error", again)
			}
			if s.MaxMessage() != 0 {
				t.Errorf("MaxMessage is %d after an error", s.MaxMessage())
			}
		})
	}
}

// TestSessionFailure: the exchange is not called after its error, and Peer is unknown.
func TestSessionFailure(t *testing.T) {
	m := &script{peer: true}
	s := start(t, m, hostauth.Limits{Rounds: -1, Bytes: -1})
	if s.MaxMessage() != math.MaxInt {
		t.Errorf("MaxMessage is %d without limits", s.MaxMessage())
	}
	if _, err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Receive(nil); err != errScript {
			t.Errorf("got %v, want the error of the exchange", err)
		}
	}
	if _, err := s.Begin(); err != errScript {
		t.Errorf("Begin: %v, want the error of the exchange", err)
	}
	if _, ok := s.Peer(); ok || len(m.got) != 1 {
		t.Errorf("Peer known: %v, %d messages, want false and 1", ok, len(m.got))
	}
}

func TestNewSessionRefuses(t *testing.T) {
	tests := []struct {
		name string
		info hostauth.Info
		text string
	}{
		{"no role", hostauth.Info{}, "want Client or Server"},
		{"role 3", hostauth.Info{Role: 3}, "role 3"},
		{"binding without type", hostauth.Info{Role: hostauth.Client, Binding: hostauth.Binding{Data: []byte("d")}}, `type "" and 1 bytes`},
		{"binding without data", hostauth.Info{Role: hostauth.Client, Binding: hostauth.Binding{Type: "tls-exporter"}}, `"tls-exporter" and 0 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := hostauth.NewSession(&script{}, tt.info, hostauth.Limits{})
			if !errors.Is(err, hostauth.ErrLocal) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want ErrLocal with %q", err, tt.text)
			}
		})
	}
}

func TestRolesHaveTextAndPeer(t *testing.T) {
	if c, s := hostauth.Client, hostauth.Server; c.Peer() != s || s.Peer() != c || c.String() != "client" || s.String() != "server" {
		t.Errorf("client: peer %v, text %q; server: peer %v, text %q", c.Peer(), c, s.Peer(), s)
	}
}
