package process

import "time"

// Watch makes run do n operations, and returns the resources that this process used for them, and
// the server if there is one.
func Watch(s *Server, run func(n int) (time.Duration, error), n int) (took time.Duration, used Usage, err error) {
	both := func() (Usage, error) {
		own := Own()
		if s == nil {
			return own, nil
		}
		other, err := s.Usage()
		return own.Plus(other), err
	}
	before, err := both()
	if err != nil {
		return 0, Usage{}, err
	}
	if took, err = run(n); err != nil {
		return 0, Usage{}, err
	}
	after, err := both()
	return took, after.Minus(before), err
}

// Each returns the memory in bytes of each of n objects that add makes, in this process and at the
// server. It makes another one first, which allocates the memory that all share.
func (s *Server) Each(n int, add func() error) (own, other int64, err error) {
	for i := range n + 1 {
		if err := add(); err != nil {
			return 0, 0, err
		}
		if i != 0 && i != n {
			continue
		}
		there, err := s.Memory()
		if err != nil {
			return 0, 0, err
		}
		own, other = Memory()-own, there-other
	}
	return own / int64(n), other / int64(n), nil
}
