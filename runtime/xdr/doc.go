// Package xdr is what generated XDR code links against: encoder and decoder
// state, limits, errors, the direct data placement hook and the extension
// descriptor. The wire form is RFC 4506.
//
// # Generated types
//
// Every generated type T has these methods, all on *T:
//
//	EncodeXDR(*Encoder) error              // append one value to the encoder's output
//	DecodeXDR(*Decoder) error              // read one value from the decoder's input
//	XDRSize() int                          // bytes the value takes on the wire
//	XDRMaxSize() int                       // bytes that any value takes, at most; only where there is a TFixedSize or TMaxSize
//	AppendBinary([]byte) ([]byte, error)   // encoding.BinaryAppender
//	MarshalBinary() ([]byte, error)        // encoding.BinaryMarshaler
//	UnmarshalBinary([]byte) error          // encoding.BinaryUnmarshaler: copies, refuses trailing bytes
//	CheckXDR([]byte) (int, error)          // is a value at the front, and how long; nothing is kept
//	ResetXDR()                             // empty the value, keep the capacity of its slices
//
// and, for the use of other generated code only, PutXDR, GetXDR and SkipXDR, the
// codecs themselves: they take a buffer and an offset, and return the next
// offset. Constants say how far a type extends: TFixedSize, or TMinSize and
// TMaxSize (none where that is not below 2 GiB), and TAmplification, how many
// bytes of memory a decoded value hangs on to at most for each byte of input,
// not counting what of the arena is left unused (a third of the input).
//
// # Three readers
//
// They refuse the same input with the same error, but that only the first can
// exceed the memory budget:
//
//   - DecodeXDR, into a value that is used again and again;
//   - CheckXDR, or [Decoder.Check] for other than the default rules: nothing is
//     allocated;
//   - on the wire, where nothing is decoded: a view of checked bytes, or a scan of
//     unchecked ones.
//
// TView is a type of bytes with a method for each field, which reads it where it
// lies. Views stand on checked bytes, so that their methods need no error:
//
//	n, err := (*dirplus.Reply)(nil).CheckXDR(b)
//	if err != nil { ... }
//	reply := dirplus.ReplyView(b[:n])
//
// TScan, which messages have whose lists and arrays are not all within other lists,
// reads these in one pass and checks what it passes; each method is named
// after the fields that lead to its list, and gives views of the elements:
//
//	scan := dirplus.ScanReply(b)
//	for entry := range scan.ListingEntries() {
//		use(entry.Name())
//	}
//	n, err := scan.End()
//
// An element was checked before it is given, what stands behind it was not. Lists are
// given in their order on the wire: of one that was passed nothing comes
// any more, and one whose loop ended early goes on where it was. Where something is
// wrong no more elements come, of this list or another. So the loop does not say
// whether it saw all: Err does, for what was passed, and End, for the whole message, whose
// other fields a view may then read. Both give the error that CheckXDR gives.
//
// A conversion of bytes that were not checked, or bytes that change while they
// are viewed, can make a view panic. Views and scans are of whole messages: where an
// item is out of line, what stands behind it lies nearer than its count says, and
// bytes alone do not tell. [Decoder.Check] takes such items as decoding does.
//
// # Who owns the memory
//
// A Decoder works in one of two modes. Copying (the default, and what
// UnmarshalBinary does): opaque data and strings are copied into an arena
// per message, which belongs to the decoded value. Aliasing
// ([DecoderOptions.Alias]): opaque data and strings are slices of the input,
// and what types that contain themselves hold by pointer lives in memory of the
// Decoder; both are valid until the input is overwritten or the Decoder is reset,
// whichever is first.
//
// A program that is done with what a copying Decoder read may say so:
// [Decoder.Recycle], in place of Reset, uses the arena again and so overwrites the
// opaque data and strings of these values. It writes into no other memory.
//
// An item that came out of line ([Decoder.ReinsertAt]) is never copied, in
// either mode: the value holds the memory that the item was given with.
//
// A value may be decoded into again and again, in either mode: slices of
// elements keep their capacity and large union arms, which are held by pointer,
// their memory, every field is set, and no byte of opaque data is ever written in
// place, so that a value once decoded in aliasing mode never writes into its old
// input. An arm that is not selected is empty, but its pointer need not be nil: the
// discriminant alone says which arm counts. What a program has taken out of a
// value, or put into two places of it, it must have copied before it decodes into
// the value again. A Decoder, an Encoder and a value are for one goroutine at a time.
//
// A value of a type that contains itself must be a tree: encoding one with a
// cycle of pointers does not end. One nested deeper than a decoder's MaxDepth
// encodes, and that decoder refuses it.
//
// # Strictness
//
// Decoding is canonical: padding must be zero, booleans and presence words 0
// or 1, enumerators known, discriminants with an arm, counts within their
// bound (RFC 4506 §4). So one value has one encoding. [Lenient] switches off one
// rule at a time.
package xdr
