package ddp

// SequenceAt returns a Sequence whose next number is msn.
func SequenceAt(msn uint32) Sequence { return Sequence{sent: msn - 1} }

// QueueAt returns a Queue that waits for message msn.
func QueueAt(msn uint32) Queue { return Queue{done: msn - 1} }
