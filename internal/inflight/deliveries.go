package inflight

import "sync"

// Deliveries runs the functions of Calls that are over, one at a time. The records have an owner,
// whose lock guards them. Whatever ends Calls calls Push with the lock, and Deliver after it
// has released that.
//
//	Push ──> finished ──Deliver──> batch ──> Run
//	                      │
//	                      └── another goroutine runs functions: that one takes them, too
type Deliveries[T any] struct {
	Lock sync.Locker // the owner's

	// Run runs the function of a record, without the lock.
	Run func(*T)

	// Fault is called in place of Run's end if that panics with v, or exits its goroutine: v is nil
	// then, and another goroutine runs the functions that are left.
	Fault func(v any)

	// Idle is called with the lock when all functions have run.
	Idle func()

	finished List[T]
	runs     bool    // a goroutine runs functions
	batch    List[T] // those that it runs; only that goroutine uses it
}

// Push adds a record that is over, and in no other List. The lock must be held.
func (d *Deliveries[T]) Push(record *T, l *Linked[T]) { d.finished.Push(record, l) }

// Busy reports whether functions run, or have to. The lock must be held.
func (d *Deliveries[T]) Busy() bool { return d.runs || d.finished.first != nil }

// Deliver runs the functions of the records that were added, unless another goroutine does. The
// lock must not be held.
func (d *Deliveries[T]) Deliver() {
	d.Lock.Lock()
	mine := d.finished.first != nil && !d.runs
	d.runs = d.runs || mine
	d.Lock.Unlock()
	if mine {
		d.runAll()
	}
}

// runAll runs functions until all have run. runs is set.
func (d *Deliveries[T]) runAll() {
	for {
		for l := d.batch.first; l != nil; l = d.batch.first {
			record := l.record
			d.batch.Remove(l)
			d.runOne(record)
		}
		d.Lock.Lock()
		d.batch, d.finished = d.finished, List[T]{}
		if d.batch.first == nil {
			d.runs = false
			d.Idle()
			d.Lock.Unlock()
			return
		}
		d.Lock.Unlock()
	}
}

// runOne runs the function of a record.
func (d *Deliveries[T]) runOne(record *T) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		d.Fault(v)
		if v == nil { // it exits the goroutine
			go d.runAll()
		}
	}()
	d.Run(record)
	returned = true
}
