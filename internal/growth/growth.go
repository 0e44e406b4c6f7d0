// Package growth checks that the cost of work grows no faster than the size of its input.
//
// It runs the work on inputs of n and 4n. Linear work costs four times as much at 4n as at n,
// quadratic work sixteen times; the limits lie between. It compares no time with a constant.
package growth

import (
	"fmt"
	"runtime"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/cputime"
)

// The largest factor by which a cost may grow from n to 4n. Output may grow a little more than the
// input, because longer inputs contain longer numbers.
const (
	mostOutput = 5.5
	mostMemory = 6.5
	mostTime   = 8
)

// A cost below these limits at 4n is not compared: fixed costs and noise dominate it.
const (
	leastOutput = 16 << 10
	leastMemory = 2 << 20
	leastTime   = 30 * time.Millisecond
)

// attempts is the largest number of measurements of a size. The smallest one counts.
const attempts = 8

// Cost is the cost of one run.
type Cost struct {
	Output int           // bytes
	Memory uint64        // bytes allocated by the process during the run
	Time   time.Duration // of the processor
}

func (c Cost) String() string {
	return fmt.Sprintf("%d bytes of output, %d bytes allocated, %v of processor time", c.Output, c.Memory, c.Time.Round(time.Millisecond))
}

// Costs holds the costs at n and at 4n.
type Costs [2]Cost

func (c Costs) String() string { return fmt.Sprintf("n: %v\n4n: %v", c[0], c[1]) }

// Linear measures work at n and 4n, and returns an error if some cost grows faster than its
// input. prepare builds the input of a size, which is not measured, and returns the work, which
// returns the number of bytes that it produced.
func Linear(n int, prepare func(n int) (run func() int)) (Costs, error) {
	var least Costs
	var err error
	for i := range attempts {
		for k := range least {
			c := measure(prepare(n << (2 * k)))
			if i > 0 {
				c.Memory, c.Time = min(c.Memory, least[k].Memory), min(c.Time, least[k].Time)
			}
			least[k] = c
		}
		if err = least.check(); err == nil {
			return least, nil
		}
	}
	return least, err
}

// check returns an error that names the cost that grows too fast.
func (c Costs) check() error {
	n, n4 := c[0], c[1]
	for _, x := range []struct {
		what              string
		small, big, least float64
		most              float64
	}{
		{"output", float64(n.Output), float64(n4.Output), leastOutput, mostOutput},
		{"allocated memory", float64(n.Memory), float64(n4.Memory), leastMemory, mostMemory},
		{"processor time", float64(n.Time), float64(n4.Time), float64(leastTime), mostTime},
	} {
		// A cost at n counts as at least a third of the limit at 4n; otherwise a coarse
		// clock would make
		// the quotient random.
		small := max(x.small, x.least/3)
		if x.big >= x.least && x.big > x.most*small {
			return fmt.Errorf("%s grows %.1f times from n to 4n, expected %.1f at most\n%v", x.what, x.big/small, x.most, c)
		}
	}
	return nil
}

func measure(run func() int) Cost {
	runtime.GC() // so that garbage of the previous run does not count
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cputime.Used()
	out := run()
	used := cputime.Used() - start
	runtime.ReadMemStats(&after)
	return Cost{Output: out, Memory: after.TotalAlloc - before.TotalAlloc, Time: used}
}
