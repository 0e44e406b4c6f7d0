package rpcrdma2draft07_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2draft07"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestSameBytesTwoMeanings proves R332: a message that both drafts read to its last byte, each as
// another error. So contents cannot decide which draft a peer speaks.
func TestSameBytesTwoMeanings(t *testing.T) {
	wire := []byte("\x00\x00\x00\x07" + // xid
		"\x00\x00\x00\x02" + // vers: 2 in both drafts
		"\x00\x08\x00\x01" + // credit
		"\x00\x00\x00\x04" + // htype: RDMA2_ERROR in both
		"\x00\x00\x00\x01" + // 00: flags, RESPONSE; 07: code, VERS
		"\x00\x00\x00\x07" + // 00: code, SEGMENTS; 07: lowest version
		"\x00\x00\x00\x10") // 00: most segments; 07: highest version

	d := xdr.NewDecoder(wire, nil)
	var (
		oldPrefix rpcrdma2.HeaderPrefix
		oldError  rpcrdma2.Error
	)
	if err := errors.Join(oldPrefix.DecodeXDR(d), oldError.DecodeXDR(d), d.Done()); err != nil {
		t.Fatalf("draft 00: %v", err)
	}
	if want := (rpcrdma2.Error{Err: rpcrdma2.ErrSegments, MaxSegments: 16}); oldPrefix.Flags != rpcrdma2.FlagResponse || oldError != want {
		t.Errorf("draft 00: flags %#x, %+v; want RESPONSE, %+v", oldPrefix.Flags, oldError, want)
	}

	d.Reset(wire)
	var (
		prefix rpcrdma2draft07.HeaderPrefix
		body   rpcrdma2draft07.Error
	)
	if err := errors.Join(prefix.DecodeXDR(d), body.DecodeXDR(d), d.Done()); err != nil {
		t.Fatalf("draft 07: %v", err)
	}
	want := rpcrdma2draft07.Error{Err: rpcrdma2draft07.ErrVers, Versions: rpcrdma2draft07.VersionRange{Low: 7, High: 16}}
	if body != want {
		t.Errorf("draft 07: %+v; want %+v", body, want)
	}
}

// numberRow matches a row of the page's tables of numbers: the name, then a number for each draft.
var numberRow = regexp.MustCompile("(?m)^\\| `(RDMA2_[A-Z_]+)` \\| ([0-9]+|–) \\| ([0-9]+|–) \\|")

// TestNumbersOfBothDrafts proves R332 for the numbers: the two packages share no more header types
// and error codes than docs/version-two-drafts.md lists.
func TestNumbersOfBothDrafts(t *testing.T) {
	page, err := os.ReadFile("../../docs/version-two-drafts.md")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, m := range numberRow.FindAllStringSubmatch(string(page), -1) {
		got[m[1]] = m[2] + " " + m[3]
	}
	want := make(map[string]string)
	for i, codes := range [][]xdr.CodePoint{rpcrdma2.Extension().Codes, rpcrdma2draft07.Extension().Codes} {
		for _, c := range codes {
			if c.Space != xdr.HeaderTypes && c.Space != xdr.ErrorCodes {
				continue
			}
			numbers := [2]string{"–", "–"}
			if pair, ok := want[c.Name]; ok {
				copy(numbers[:], strings.Fields(pair))
			}
			numbers[i] = fmt.Sprint(c.Value)
			want[c.Name] = strings.Join(numbers[:], " ")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names with the numbers of draft 00 and draft 07 (- packages, + page):\n%s", diff)
	}
}
