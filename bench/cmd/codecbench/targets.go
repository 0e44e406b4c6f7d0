package main

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/bench/codec"
)

// target is a bound of a ratio. Its denominator depends on the row: see ratio.
type target struct {
	Limit float64 `json:"limit"`
	Least bool    `json:"least"` // the ratio must be at least Limit, not at most
	Of    string  `json:"of"`    // the denominator of the ratio
}

func (t target) String() string {
	sign := "<="
	if t.Least {
		sign = ">="
	}
	return fmt.Sprintf("%s %.2f %s", sign, t.Limit, t.Of)
}

func (t target) met(ratio float64) bool {
	if t.Least {
		return ratio >= t.Limit
	}
	return ratio <= t.Limit
}

// The denominators of ratios.
const (
	ofHand   = "hand"        // hand, the same operation
	ofDecode = "hand decode" // hand's decode into reused values
	ofMove   = "memmove"     // memmove, the same operation
	ofOurs   = "ours"        // generated code if registered, else hand
)

// generatedTarget returns the target of a generated codec.
func generatedTarget(message, op string) (target, bool) {
	numbers := message == "n4" || message == "n8"
	structured := message == "a" || message == "b" || message == "d"
	switch {
	case op == codec.OpEncode && structured:
		return target{1.10, false, ofHand}, true
	case op == codec.OpAppend && structured:
		return target{1.25, false, ofHand}, true
	case op == codec.OpDecode && structured:
		return target{1.15, false, ofHand}, true
	case numbers && (op == codec.OpEncode || op == codec.OpDecode):
		return target{1.11, false, ofMove}, true
	case op == codec.OpCopy && message == "c4K":
		return target{1.10, false, ofMove}, true
	case op == codec.OpCopy && message == "d":
		return target{2, false, ofDecode}, true
	case op == codec.OpCheck && message == "a":
		return target{0.6, false, ofDecode}, true
	case op == codec.OpCheck && message == "b":
		return target{0.4, false, ofDecode}, true
	case op == codec.OpVisit && message == "d":
		return target{0.65, false, ofDecode}, true
	case op == codec.OpVisit && structured:
		return target{1.10, false, ofDecode}, true
	}
	return target{}, false
}

// peerTarget returns the factor by which a peer should be slower than generated code: for the C
// codec by message, if there is a target, and for every Go peer the same as for the best one.
func peerTarget(name, message, op string) (target, bool) {
	if message[0] == 'c' || message[0] == 'n' {
		return target{}, false
	}
	if name == codec.TirpcName {
		switch {
		case message >= "e":
		case op == codec.OpEncode:
			return target{map[string]float64{"a": 9, "b": 14, "d": 6}[message], true, ofOurs}, true
		case op == codec.OpFresh:
			return target{map[string]float64{"a": 12, "b": 24, "d": 13}[message], true, ofOurs}, true
		}
		return target{}, false
	}
	switch op {
	case codec.OpEncode:
		return target{8, true, ofOurs}, true
	case codec.OpDecode:
		return target{14, true, ofOurs}, true
	}
	return target{}, false
}
