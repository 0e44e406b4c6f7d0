package rdmaio

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// chunkOf returns a chunk of segments with these lengths.
func chunkOf(lengths ...uint32) (list []header.Segment) {
	for _, n := range lengths {
		list = append(list, header.Segment{Length: n})
	}
	return list
}

// readOf returns a read segment.
func readOf(position, length uint32) header.ReadSegment {
	return header.ReadSegment{Position: position, Segment: header.Segment{Length: length}}
}

// Each error of version 2 changes the shape of a Call to one that the peer takes, if there is one
// (R201, R204, R205, R208). The shape that was refused is never sent again, and nothing makes this
// side allocate more than MaxReadBytes.
func TestShapeChanges(t *testing.T) {
	data, whole := []header.ReadSegment{readOf(40, 1000)}, []header.ReadSegment{readOf(0, 1000)}
	two := [][]header.Segment{chunkOf(1000), chunkOf(2000)}
	long := header.Lists{Reads: []header.ReadSegment{readOf(0, 10), readOf(40, 600), readOf(40, 401), readOf(80, 300)}}
	for _, tt := range []struct {
		name     string
		was      shape
		lists    header.Lists
		maxReply int
		err      PeerError
		want     shape // its zero value: the Call is not sent again
	}{
		{"read chunks", shape{}, header.Lists{Reads: data}, 0, PeerError{Code: PeerErrReadChunks}, shape{long: true}},
		{"read chunks of a whole message", shape{}, header.Lists{Reads: whole}, 0, PeerError{Code: PeerErrReadChunks}, shape{}},
		{"read chunks after that", shape{long: true, segment: 9}, header.Lists{Reads: whole}, 0, PeerError{Code: PeerErrReadChunks}, shape{}},
		{"one write chunk", shape{}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrWriteChunks, Max: 1}, shape{inline: true, results: 1}},
		{"no write chunk", shape{inline: true, results: 1}, header.Lists{Writes: two[:1]}, 0, PeerError{Code: PeerErrWriteChunks}, shape{inline: true}},
		{"as many write chunks as there are", shape{}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrWriteChunks, Max: 2}, shape{}},
		{"no segments", shape{}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrSegments}, shape{}},
		{"two segments", shape{}, header.Lists{Writes: [][]header.Segment{chunkOf(2001), chunkOf(7)}}, 0, PeerError{Code: PeerErrSegments, Max: 2}, shape{segment: 1001}},
		{"two segments for reads", shape{}, long, 0, PeerError{Code: PeerErrSegments, Max: 2}, shape{segment: 501}},
		{"two segments for the reply", shape{}, header.Lists{Reply: chunkOf(700, 700), Writes: two[:1]}, 0, PeerError{Code: PeerErrSegments, Max: 2}, shape{segment: 700}},
		{"enough segments", shape{}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrSegments, Max: 20}, shape{}},
		{"as many segments as before", shape{segment: 1000}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrSegments, Max: 2}, shape{}},
		{"the first result", shape{}, header.Lists{Writes: two}, 100, PeerError{Code: PeerErrWriteResource, Index: 1, Need: 5000}, shape{inline: true, reply: 8100}},
		{"the second result", shape{}, header.Lists{Writes: two}, 100, PeerError{Code: PeerErrWriteResource, Index: 2, Need: 5000}, shape{inline: true, results: 1, reply: 7100}},
		{"a third result of two", shape{}, header.Lists{Writes: two}, 100, PeerError{Code: PeerErrWriteResource, Index: 3, Need: 5000}, shape{}},
		{"result 0", shape{}, header.Lists{Writes: two}, 100, PeerError{Code: PeerErrWriteResource, Need: 5000}, shape{}},
		{"as much as MaxReadBytes", shape{}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrWriteResource, Index: 2, Need: 8000}, shape{inline: true, results: 1, reply: 10000}},
		{"more than MaxReadBytes", shape{}, header.Lists{Writes: two}, 0, PeerError{Code: PeerErrWriteResource, Index: 2, Need: 8001}, shape{}},
		{"a longer reply", shape{}, header.Lists{}, 100, PeerError{Code: PeerErrReplyResource, Need: 9000}, shape{reply: 9000}},
		{"a longer reply, with results", shape{}, header.Lists{Writes: two}, 100, PeerError{Code: PeerErrReplyResource, Need: 500}, shape{inline: true, reply: 3100}},
		{"an unknown code", shape{}, header.Lists{Reads: data, Writes: two}, 100, PeerError{Code: 77, Need: 5, Index: 1, Max: 1}, shape{}},
		{"the third time", shape{resent: maxResent - 1}, header.Lists{Reads: data}, 0, PeerError{Code: PeerErrReadChunks}, shape{long: true, resent: maxResent - 1}},
		{"the fourth time", shape{resent: maxResent}, header.Lists{Reads: data}, 0, PeerError{Code: PeerErrReadChunks}, shape{}},
	} {
		var set settings
		set.SegmentSize, set.MaxReadBytes = 100, 10000
		s := newSlot()
		s.shape, *s.lists() = tt.was, tt.lists
		call := &Call{MaxReply: tt.maxReply, Results: [][]byte{make([]byte, 1000), make([]byte, 2000)}}
		again := s.change(&set, termsOf(2), call, fmt.Errorf("wrapped: %w", &tt.err))
		if again != (tt.want != shape{}) {
			t.Errorf("%s: sent again is %v", tt.name, again)
		}
		if tt.want.resent++; again && s.shape != tt.want {
			t.Errorf("%s: the shape is %+v, want %+v", tt.name, s.shape, tt.want)
		}
		// These codes do not exist in version 1.
		if s.shape = tt.was; s.change(&set, termsOf(1), call, &tt.err) || s.shape != tt.was {
			t.Errorf("%s: in version 1 the Call is sent again", tt.name)
		}
	}
	if newSlot().change(new(settings), termsOf(2), &Call{}, errors.New("another error")) {
		t.Error("a Call is sent again after an error that is not the peer's")
	}
}

// Without an error all results go by chunk, afterwards as many as the shape says.
func TestMostResults(t *testing.T) {
	for want, sh := range map[int]shape{math.MaxInt: {}, 0: {inline: true}, 2: {inline: true, results: 2}} {
		if got := sh.mostResults(); got != want {
			t.Errorf("%+v: %d, want %d", sh, got, want)
		}
	}
	if got := bounded(math.MaxUint32); got != math.MaxInt32 {
		t.Errorf("%d, want %d on each system", got, math.MaxInt32)
	}
}
