package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// Part is a part of a value. Compact codecs read and write each part by a call, and look at the
// error once, after the last part. See [At].
type Part struct {
	fault *xdr.Error
	path  string
}

// At returns the part at path, where fault is the error of the parts before it, or nil.
func At(fault *xdr.Error, path string) Part { return Part{fault, path} }

// In returns the results of the call for the part. After an error it returns the error of the first
// part that failed, and the offset -1, at which calls for further parts fail and do nothing.
func (p Part) In(off int, err error) (int, *xdr.Error) {
	if p.fault == nil && err == nil {
		return off, nil
	}
	return -1, p.failed(err)
}

// End is In for the last part of a value. After an error it returns the offset 0.
func (p Part) End(off int, err error) (int, error) {
	if p.fault == nil && err == nil {
		return off, nil
	}
	return 0, p.failed(err)
}

//go:noinline
func (p Part) failed(err error) *xdr.Error {
	if p.fault != nil {
		return p.fault
	}
	return In(err, p.path)
}
