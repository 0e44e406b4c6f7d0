// Package xdr is the runtime of generated XDR code: the Encoder and Decoder, limits, errors,
// direct data placement, and the descriptor of an extension. RFC 4506 defines the wire form.
// Package codec, in the folder below, has the functions that only generated code calls.
//
// # Generated types
//
// Every generated type T has these methods, all on *T:
//
//	EncodeXDR(*Encoder) error              // appends the value to the encoder's output
//	DecodeXDR(*Decoder) error              // reads a value from the decoder's input
//	XDRSize() int                          // the size of the value on the wire, in bytes
//	XDRMaxSize() int                       // TFixedSize or TMaxSize, if there is one
//	AppendBinary([]byte) ([]byte, error)   // encoding.BinaryAppender
//	MarshalBinary() ([]byte, error)        // encoding.BinaryMarshaler
//	UnmarshalBinary([]byte) error          // encoding.BinaryUnmarshaler; refuses trailing bytes
//	ResetXDR()                             // empties the value, keeps the capacity of its slices
//
// By default, types have the method String too, on T: text for logs, see package text. Types of
// strings return the string; types of more than 16 KiB have the method on *T.
//
// With xdrgen gen -with json, they have MarshalJSON, on T, and UnmarshalJSON: see package xdrjson.
//
// With xdrgen gen -views, they also have
//
//	CheckXDR([]byte) (int, error)          // checks the value at the front, returns its size
//
// With xdrgen gen -with clone,equal,stream, they also have:
//
//	Clone() (*T, error)                    // a deep copy; fails if it nests too deeply
//	Equal(*T) bool                         // whether both have the same encoding
//	EncodeTo(io.Writer) error              // writes the encoding by one Write
//	DecodeFrom(io.Reader, int) error       // reads a value of limited size, and no more
//
// The methods PutXDR, GetXDR and SkipXDR are for other generated code. They take a buffer and
// an offset and return the next offset.
//
// Constants give the sizes of a type: TFixedSize, or TMinSize and TMaxSize. There is no TMaxSize
// if it would be 2 GiB or more. TAmplification is the most memory that a decoded value holds for
// each byte of input, in bytes, without the unused part of the arena (a third of the input).
//
// # Three ways to read
//
// The second and third need types that were generated with views. All three refuse the same input
// with the same error, except that only decoding can exceed the memory budget:
//
//   - DecodeXDR decodes into a value, which may be reused.
//   - CheckXDR checks the input and allocates nothing. Decoder.Check does so for other rules
//     than the default ones.
//   - A view reads the fields of checked bytes without decoding; a scan reads the lists of
//     unchecked bytes.
//
// TView is a type of bytes with a method for each field. Views are made of checked bytes, so
// their methods return no errors:
//
//	n, err := (*dirplus.Reply)(nil).CheckXDR(b)
//	if err != nil { ... }
//	reply := dirplus.ReplyView(b[:n])
//
// Messages with lists or arrays outside of other lists also have a TScan, which checks and reads
// these lists in one pass. Each of its methods is named after the fields that lead to a list,
// and yields views of the elements:
//
//	scan := dirplus.ScanReply(b)
//	for entry := range scan.ListingEntries() {
//		use(entry.Name())
//	}
//	n, err := scan.End()
//
// A scan checks each element before it yields it, but not the bytes that follow. It yields lists
// in their order on the wire. A list that the scan has passed yields nothing more; a list whose
// loop ended early continues where it stopped. If the input is invalid, the scan yields no more
// elements of any list. So a loop does not report whether it saw all elements. Err reports errors
// in the part that the scan has passed. End checks the rest of the message, too; after that, a
// view may read the other fields. Both return the error that CheckXDR returns.
//
// A view can panic if its bytes were not checked, or change while it is used. Views and scans
// need whole messages: if an item is out of line, the bytes that follow it are not where its
// count says. Decoder.Check accepts such items as decoding does.
//
// # Memory
//
// A Decoder works in one of two modes. In copying mode, which is the default and the mode of
// UnmarshalBinary, it copies opaque data and strings into an arena. The arena is made for one
// message and belongs to the decoded value. In aliasing mode (DecoderOptions.Alias), opaque data
// and strings are slices of the input, and the pointers in types that contain themselves point to
// memory of the Decoder. Both are valid until the input is overwritten or the Decoder is reset,
// whichever is first.
//
// A program that no longer needs the values that a copying Decoder has read can call
// Decoder.Recycle in place of Reset. The Decoder then reuses the arena, and overwrites the opaque
// data and strings of these values. It writes to no other memory of theirs.
//
// An item that came out of line (Decoder.ReinsertAt) is not copied in either mode: the value
// holds the memory that the caller passed in.
//
// A value may be decoded into repeatedly, in either mode:
//
//   - Every field is set.
//   - Slices of elements keep their capacity. Large union arms, which are held by pointer, keep
//     their memory. An arm that is not selected is empty, but its pointer may be non-nil: only
//     the discriminant says which arm is valid.
//   - Opaque data is always replaced and never overwritten in place. So a value decoded in
//     aliasing mode does not write into its old input later.
//   - If the program has kept a part of the value, or put it into two places of the value, it
//     must copy that part before it decodes into the value again.
//
// A Decoder, an Encoder or a value must not be used by two goroutines at the same time.
//
// A value of a type that contains itself must be a tree: encoding a cycle of pointers does not
// end. Encoders do not limit how deep it nests, but Limits.MaxDepth of a decoder does.
//
// # Strictness
//
// Decoding is canonical: padding must be zero, booleans and presence words 0 or 1, enumerators
// known, discriminants must have an arm, and counts must be within their bound (RFC 4506 §4). So
// each value has exactly one encoding. Lenient switches off one rule at a time.
package xdr
