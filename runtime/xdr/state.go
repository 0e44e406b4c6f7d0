package xdr

// The types of this file hold the state that package codec works on. They are unexported and
// embedded, so that users see neither them nor their fields. Their fields are exported, so that
// package codec and generated code reach them without a call: a method in their place would make
// EncodeXDR and DecodeXDR too large to be inlined.

// encoderState is the state of an Encoder.
type encoderState struct {
	Buf []byte // the buffer up to its capacity
	Off int    // the end of the output in Buf

	Offered Reduction
	Start   int    // the offset in Buf at which the stream begins
	Base    uint64 // the position of Buf[Start] in the unreduced stream
	Removed uint64 // bytes left out of line so far, padding included
	Left    []Item // the items left out of line
}

// decoderState is the state of a Decoder.
type decoderState struct {
	Buf   []byte
	Off   int // the offset of the next byte
	Rules Checker
	Alias bool
	Used  bool // some of the fields below have changed since Reset

	Charged uint64 // bytes charged to the memory budget
	Rate    uint64 // bytes of budget for each byte of the message, if above the default

	Arena  []byte // the part of Whole that is free
	Whole  []byte // memory for copies of opaque data
	Copied int    // bytes copied before Whole was made
	Keep   bool   // Whole is reused for the next message

	Slabs []slab

	Placed  placement
	Outside uint64 // bytes of items that are not in Buf
}

// checkerState is the state of a Checker.
type checkerState struct {
	Options *DecoderOptions // if nil, the defaults
	Depth   int             // levels of types that contain themselves
	Decoder *Decoder        // has the items out of line; if nil, no item is
}

// placement is the state of a Decoder that has items out of line.
type placement struct {
	Items    []Item // those not found yet, in order
	InOrder  bool   // items are matched by order and Sites, not by position
	InStream bool   // items are in the stream already; only their places are checked
	Sites    []Site // the eligible sites, if InOrder
	Base     uint64 // the stream position of the input's first byte
	Inserted uint64 // bytes of items found so far, padding included
	Within   bool   // the elements of an item are being read

	Memory [][]byte // for the items not found yet, if they are inline; may be shorter than Items
	Room   []byte   // memory for the item that codec.Take has found inline
}

// slab is memory for values of one type.
type slab interface{ Rewind() }
