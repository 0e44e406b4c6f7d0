// Package ddp implements the segments of DDP, direct data placement (RFC 5041), in the
// order in which a stream delivers them:
//
//	Header        the header of a segment: Decode reads it, Put writes it
//	Queue         the receiver's state of an untagged queue
//	Tagged        the receiver's state of tagged messages
//	Sequence      the sender's message sequence numbers
//
// A tagged segment names the place of its payload: an STag and an offset. An untagged
// segment names a queue, the number of its message there, and an offset in the message.
//
// Every check that fails returns an *Error, whose Rule names the rule and its section.
// Rule.Code returns error type and error code for a Terminate message. Nothing but an
// Error allocates.
//
// # Choices
//
//   - Over TCP all segments arrive in the order in which they were sent. So the receiver
//     requires what RFC 5041 §5.3 only recommends to senders: offsets that grow by the
//     payload of the segment before, without gaps, and no message inside another one of
//     its queue. Linux does the same.
//   - At most one tagged message is open at a time. Untagged segments may come between
//     those of a tagged message.
//   - The last segment of a message may be empty. The STag and offset of a tagged
//     message without payload are ignored (RFC 5041 §5.2).
//   - A message that is too long for its offset field is refused before it wraps.
//   - Errors in the order of tagged segments have no code of their own. They are
//     reported as base or bounds violations.
package ddp
