package rdmadev

import "fmt"

// Cause is the kind of a Problem.
type Cause string

// The causes.
const (
	NoLibrary         Cause = "no library"          // rdma-core is not installed
	OldLibrary        Cause = "old library"         // rdma-core lacks a function
	NoProviderLibrary Cause = "no provider library" // rdma-core has no library for the device
	NoDevice          Cause = "no device"
	WrongDevice       Cause = "wrong device" // no device has the name
	NoNode            Cause = "no device file"
	NoManager         Cause = "no connection manager" // /dev/infiniband/rdma_cm is missing
	NoPermission      Cause = "no permission"
	MemoryLimit       Cause = "memory limit"
	OtherDevice       Cause = "other device"   // another device reaches the address
	NoConnections     Cause = "no connections" // the device has no reliable connections
	PortDown          Cause = "port down"
	NoGID             Cause = "no GID"
	NoRoute           Cause = "no route"
	Refused           Cause = "refused"
	NoAnswer          Cause = "no answer" // the transport's retries are exhausted
	NotSupported      Cause = "not supported"
)

// Problem is a reason for which a device or an address cannot be used.
type Problem struct {
	Cause Cause
	Text  string // the fault and its place
	Try   string // the command that mends it, or other advice
	Err   error  // the error that led here; may be nil
}

// Error returns the fault, its place, and the advice.
func (p *Problem) Error() string {
	s := p.Text
	if p.Err != nil {
		s += ": " + p.Err.Error()
	}
	if p.Try != "" {
		s += "; try: " + p.Try
	}
	return s
}

// Unwrap returns the error that led to the problem.
func (p *Problem) Unwrap() error { return p.Err }

func problem(cause Cause, err error, try, format string, args ...any) *Problem {
	return &Problem{Cause: cause, Text: fmt.Sprintf(format, args...), Try: try, Err: err}
}
