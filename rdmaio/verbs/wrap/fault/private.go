package fault

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Sizes in bytes of the fields for private data in the messages of InfiniBand's connection manager
// that rdma_cm leaves to its users.
const (
	requestData   = 56
	replyData     = 196
	rejectionData = 148
)

// padded returns private data as a message with a field of n bytes delivers it.
func (d *device) padded(b []byte, n int) []byte {
	if !d.inj.has(PaddedPrivateData) || d.Device.Attributes().MaxPrivateData == 0 || len(b) >= n {
		return b
	}
	d.inj.happened(PaddedPrivateData)
	return append(b[:len(b):len(b)], make([]byte, n-len(b))...)
}

// checkPrivate returns an error for private data that does not fit into the shortest of the fields.
func (d *device) checkPrivate(params *verbs.ConnParams) error {
	if params == nil || !d.inj.has(PaddedPrivateData) || len(params.PrivateData) <= requestData {
		return nil
	}
	return fmt.Errorf("fault: private data of %d bytes, limit is %d: %w", len(params.PrivateData), requestData, verbs.ErrTooLarge)
}

// established returns the result of Dial or Accept, for private data in a field of n bytes.
func (q *queuePair) established(info *verbs.ConnInfo, n int, err error) (*verbs.ConnInfo, error) {
	if err != nil {
		return nil, err
	}
	q.connected.Store(true)
	info.PrivateData = q.dev.padded(info.PrivateData, n)
	return info, nil
}
