package soft

import (
	"bytes"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// InlineSize is the inline size that the providers of this package prefer: 4 KiB of data, the most
// common size of a block, and their headers, in the units of RFC 8797 §4.2 (1 KiB). A provider
// copies messages up to this size (its stage limit), which costs less than the round trip of a Read
// (ADR 0082).
const InlineSize = 5 << 10

// Attributes returns the limits that memory alone sets, and that all providers of this
// package share.
func Attributes(name string) verbs.DeviceAttributes {
	return verbs.DeviceAttributes{
		Name:           name,
		MaxSendWR:      1 << 14,
		MaxRecvWR:      1 << 14,
		MaxSendSGE:     32,
		MaxRecvSGE:     32,
		MaxReadSGE:     32,
		MaxCQE:         1 << 18,
		MaxMessageSize: 1 << 30,
		InlineSize:     InlineSize,
	}
}

// Lower returns a device's attributes a with the limits that a user wishes. A zero field of
// wish keeps the limit, and a negative one sets it to none. Limits can only be lowered,
// except for the depths of Reads, which can be anything up to depth.
func Lower(provider string, a verbs.DeviceAttributes, wish *verbs.DeviceAttributes, depth int) (verbs.DeviceAttributes, error) {
	if wish == nil {
		return a, nil
	}
	for _, f := range []struct {
		name  string
		to    *int
		wish  int
		least int // 0: the limit may be 0
		most  int
	}{
		{"MaxSendWR", &a.MaxSendWR, wish.MaxSendWR, 1, a.MaxSendWR},
		{"MaxRecvWR", &a.MaxRecvWR, wish.MaxRecvWR, 1, a.MaxRecvWR},
		{"MaxSendSGE", &a.MaxSendSGE, wish.MaxSendSGE, 1, a.MaxSendSGE},
		{"MaxRecvSGE", &a.MaxRecvSGE, wish.MaxRecvSGE, 1, a.MaxRecvSGE},
		{"MaxReadSGE", &a.MaxReadSGE, wish.MaxReadSGE, 1, a.MaxReadSGE},
		{"MaxCQE", &a.MaxCQE, wish.MaxCQE, 1, a.MaxCQE},
		{"MaxInitiatorDepth", &a.MaxInitiatorDepth, wish.MaxInitiatorDepth, 0, depth},
		{"MaxResponderResources", &a.MaxResponderResources, wish.MaxResponderResources, 0, depth},
		{"MaxPrivateData", &a.MaxPrivateData, wish.MaxPrivateData, 0, a.MaxPrivateData},
		{"InlineSize", &a.InlineSize, wish.InlineSize, 0, a.InlineSize},
	} {
		switch {
		case f.wish == 0:
		case f.wish < 0 && f.least == 0:
			*f.to = 0
		case f.wish < f.least || f.wish > f.most:
			return a, fmt.Errorf("%s: device %s: limit %s is %d, want %d to %d: %w", provider, a.Name, f.name, f.wish, f.least, f.most, verbs.ErrInvalidValue)
		default:
			*f.to = f.wish
		}
	}
	if wish.MaxMRSize > 0 {
		a.MaxMRSize = min(a.MaxMRSize, wish.MaxMRSize)
	}
	if wish.MaxMessageSize > 0 {
		a.MaxMessageSize = min(a.MaxMessageSize, wish.MaxMessageSize)
	}
	return a, nil
}

// Params checks the parameters of Dial and Accept, and replaces the depths that stand for
// the device's limits by numbers.
func (d *Device) Params(params *verbs.ConnParams) (p verbs.ConnParams, err error) {
	if params != nil {
		p = *params
	}
	if len(p.PrivateData) > d.attrs.MaxPrivateData {
		return p, fmt.Errorf("private data of %d bytes, limit is %d: %w", len(p.PrivateData), d.attrs.MaxPrivateData, verbs.ErrTooLarge)
	}
	p.PrivateData = bytes.Clone(p.PrivateData)
	p.InitiatorDepth = depth(p.InitiatorDepth, d.attrs.MaxInitiatorDepth)
	p.ResponderResources = depth(p.ResponderResources, d.attrs.MaxResponderResources)
	return p, nil
}

// depth returns the depth that a wish means: 0 means the limit, and a negative number none.
func depth(wish, limit int) int {
	switch {
	case wish < 0:
		return 0
	case wish == 0:
		return limit
	}
	return min(wish, limit)
}
