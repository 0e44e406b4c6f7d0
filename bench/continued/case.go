package continued

import "fmt"

// Directions of the long message.
const (
	Call  = "call"
	Reply = "reply"
)

// Ways of the long message.
const (
	Continued  = "continued"
	ReadChunk  = "read chunk"
	LongChunk  = "long chunk"
	WriteChunk = "write chunk"
	ReplyChunk = "reply chunk"
)

// Providers.
const (
	Mem     = "mem"
	RDMATCP = "rdmatcp"
)

// Sizes are the lengths of the data in bytes, and Inlines those of the longest message of one Send.
var (
	Sizes   = []int{4 << 10, 8 << 10, 12 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10}
	Inlines = []int{4 << 10, 16 << 10, 64 << 10}
)

// Ways returns the ways of a direction.
func Ways(direction string) []string {
	if direction == Call {
		return []string{Continued, ReadChunk, LongChunk}
	}
	return []string{Continued, WriteChunk, ReplyChunk}
}

// Result is the time of one RPC.
type Result struct {
	Provider  string  `json:"provider"`
	Direction string  `json:"direction"`
	Way       string  `json:"way"`
	Inline    int     `json:"inline_bytes"`
	Size      int     `json:"size_bytes"`
	NS        float64 `json:"ns"`     // median of the rounds
	Low       float64 `json:"low_ns"` // fastest round
	Objects   float64 `json:"objects"`
}

// String returns the text that Options.Match matches.
func (r *Result) String() string {
	return fmt.Sprintf("%s %s %s inline %d KiB size %d KiB", r.Provider, r.Direction, r.Way, r.Inline>>10, r.Size>>10)
}
