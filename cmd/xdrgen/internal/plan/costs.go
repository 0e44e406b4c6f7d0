package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// Costs computes the memory that values of a unit take in Go, by the numbers of the generated code.
type Costs struct{ plan *Plan }

// NewCosts returns the costs of a unit without errors. It returns nil if the unit has data that no
// Go value can hold.
func NewCosts(u *ir.Unit) *Costs {
	if len(TooLarge(u)) > 0 {
		return nil
	}
	return &Costs{Make(u, nil)}
}

// Amplification returns the value of the constant with that name: the largest number of bytes
// that a decoded value holds for each byte of its encoding. It returns 0 if every value has
// the same size, or there is no such number.
func (c *Costs) Amplification(d *ir.Decl) int {
	t := c.plan.Of(d)
	if t == nil || t.Size.Fixed() {
		return 0
	}
	return c.plan.Amplification(t)
}

// Memory returns the size in bytes of a Go value, without the memory that it points to. For a
// linked list it returns the size of an element.
func (c *Costs) Memory(t *ir.Type) int { return c.plan.Memory(t) }
