package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// versions is the value of -versions: versions of RPC-over-RDMA, the preferred one first.
type versions []int

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *versions) UnmarshalText(b []byte) error {
	var list versions
	for text := range strings.SplitSeq(string(b), ",") {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil || n < 1 || n > 2:
			return fmt.Errorf("found %q, expected 1, 2, or both with a comma between them, the preferred one first", b)
		case slices.Contains(list, n):
			return fmt.Errorf("found %q, expected each version once", b)
		}
		list = append(list, n)
	}
	*v = list
	return nil
}

// terms returns what the two ends of a connection agreed on, as a line of text.
func terms(t *rdmaio.Terms) string {
	var s strings.Builder
	fmt.Fprintf(&s, "version %d, inline %d bytes to the peer and %d from it", t.Version, t.InlineSend, t.InlineRecv)
	if t.SegmentSize > 0 {
		fmt.Fprintf(&s, ", segments of %d bytes", t.SegmentSize)
	}
	if t.MaxSegments > 0 {
		fmt.Fprintf(&s, ", %d segments in a call", t.MaxSegments)
	}
	switch {
	case t.Reads > 0:
		fmt.Fprintf(&s, ", %d RDMA Reads at a time", t.Reads)
	case t.Reads < 0:
		s.WriteString(", no RDMA Reads")
	}
	if t.NoReadChunks {
		s.WriteString(", no read chunks to the peer")
	}
	if t.RemoteInvalidate {
		s.WriteString(", remote invalidation")
	}
	return s.String()
}

// termsJSON adds the terms to a JSON object. A limit of 0 means no limit.
func termsJSON(fields map[string]any, t *rdmaio.Terms) {
	fields["rpcrdma_version"] = t.Version
	fields["inline_send_bytes"], fields["inline_recv_bytes"] = t.InlineSend, t.InlineRecv
	fields["segment_max_bytes"], fields["max_segments"] = t.SegmentSize, t.MaxSegments
	fields["reads"], fields["read_chunks"] = t.Reads, !t.NoReadChunks
	fields["remote_invalidate"] = t.RemoteInvalidate
}
