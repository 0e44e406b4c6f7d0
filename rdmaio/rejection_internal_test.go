package rdmaio

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A reason is in the private data where there is room for all of it, and is read back from it.
func TestRejectionFits(t *testing.T) {
	for _, reason := range []rejection{rejectedOther, rejectedFull, rejectedNoRoom, rejectedSource} {
		for _, most := range []int{0, 1, rejectionSize - 1, rejectionSize, rejectionSize + 1, 196} {
			size, read := rejectionSize, reason
			if reason == rejectedOther || most < rejectionSize {
				size, read = 0, rejectedOther
			}
			b := reason.privateData(most)
			if got := parseRejection(b); len(b) != size || got != read {
				t.Errorf("reason %d, room for %d bytes: %d bytes that are read as %d, want %d and %d", reason, most, len(b), got, size, read)
			}
			// As InfiniBand delivers it.
			if got := parseRejection(append(b, make([]byte, 148-len(b))...)); got != read {
				t.Errorf("reason %d, room for %d bytes, padded: read as %d, want %d", reason, most, got, read)
			}
			if got := parseRejection(append(b, 0, 0, 1)); got != rejectedOther {
				t.Errorf("reason %d, room for %d bytes, with a byte of another format behind it: read as %d, want %d", reason, most, got, rejectedOther)
			}
		}
	}
}

// narrow is a device with room for this many bytes of private data.
type narrow struct {
	verbs.Device
	most int
}

func (n narrow) Attributes() verbs.DeviceAttributes {
	return verbs.DeviceAttributes{MaxPrivateData: n.most}
}

// rejecting is a connection request that keeps the private data of its rejection.
type rejecting struct {
	verbs.ConnRequest
	private []byte
}

func (r *rejecting) Reject(private []byte) error {
	r.private = private
	return nil
}

// A server gives each reason as far as its own device has room for it.
func TestServerRejects(t *testing.T) {
	for _, tt := range []struct {
		why  error
		most int
		want rejection
	}{
		{ErrServerFull, 196, rejectedFull},
		{errSourceFull, 196, rejectedSource},
		{errNoConn, 196, rejectedNoRoom},
		{verbs.ErrTLS, 196, rejectedOther},
		{ErrServerFull, rejectionSize, rejectedFull},
		{ErrServerFull, rejectionSize - 1, rejectedOther},
	} {
		s := &Server{dev: narrow{most: tt.most}}
		var req rejecting
		s.reject(slog.New(slog.DiscardHandler), &req, fmt.Errorf("wrapped: %w", tt.why))
		if got := parseRejection(req.private); got != tt.want || len(req.private) > tt.most {
			t.Errorf("%v, room for %d bytes: the private data is %q, want reason %d", tt.why, tt.most, req.private, tt.want)
		}
	}
	if err := errors.New("another error"); explainRejection(err) != err {
		t.Error("an error that is no rejection has changed")
	}
}
