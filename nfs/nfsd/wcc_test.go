package nfsd_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// chain has the changes of one object, as replies describe them.
type chain struct {
	mu    sync.Mutex
	first nfs3.WccAttr
	ends  map[nfs3.WccAttr]int // the changes that led to it, less those that began with it
	moved int                  // changes with different attributes
	err   error
}

func weak(a nfs3.Attr) nfs3.WccAttr {
	return nfs3.WccAttr{Size: a.Size, Mtime: a.Mtime, Ctime: a.Ctime}
}

func newChain(first nfs3.Attr) *chain {
	return &chain{first: weak(first), ends: map[nfs3.WccAttr]int{}}
}

func (c *chain) add(wcc nfs3.WccData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !wcc.Before.AttributesFollow || !wcc.After.AttributesFollow {
		c.err = fmt.Errorf("no attributes in %v", wcc)
		return
	}
	before, after := wcc.Before.Attributes, weak(wcc.After.Attributes)
	if before != after {
		c.moved++
	}
	c.ends[before]--
	c.ends[after]++
}

// check returns an error unless the changes form one line from the first attributes to the last:
// each begins with attributes that another one, or the first state, ended with.
func (c *chain) check(last nfs3.Attr) error {
	c.ends[c.first]++
	c.ends[weak(last)]--
	for attr, n := range c.ends {
		if n != 0 && c.err == nil {
			c.err = fmt.Errorf("%d changes more end with %v than begin with it", n, attr)
		}
	}
	return c.err
}

// The attributes before each change are those after the change before it, while several clients
// change one file and two directories: no change comes between the two (RFC 1813 §2.6, wcc_data).
func TestWccUnderConcurrency(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	var dirs [2]nfs3.Handle
	var chains [2]*chain
	for i := range dirs {
		dirs[i], _ = c.mkdir(t, c.root, fmt.Sprint(i))
		a, _ := c.attr(t, dirs[i])
		chains[i] = newChain(a)
	}
	file, _ := c.create(t, c.root, "file")
	a, _ := c.attr(t, file)
	data := newChain(a)
	calls := 400
	if testing.Short() {
		calls = 100
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		c := e.client(t, auth(t, 1000, 1000))
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(worker), 0))
			for range calls {
				changeWcc(t, c, rnd, dirs, chains, file, data)
			}
		})
	}
	wg.Wait()
	for i := range dirs {
		a, _ := c.attr(t, dirs[i])
		if err := chains[i].check(a); err != nil || chains[i].moved == 0 {
			t.Errorf("directory %d, %d changes: %v", i, chains[i].moved, err)
		}
	}
	a, _ = c.attr(t, file)
	if err := data.check(a); err != nil || data.moved == 0 {
		t.Errorf("file, %d changes: %v", data.moved, err)
	}
}

// changeWcc makes a random change. It may fail.
func changeWcc(t *testing.T, c *client, rnd *rand.Rand, dirs [2]nfs3.Handle, chains [2]*chain, file nfs3.Handle, data *chain) {
	i, j := rnd.IntN(2), rnd.IntN(2)
	from, to := c.at(dirs[i], fmt.Sprint(rnd.IntN(4))), c.at(dirs[j], fmt.Sprint(rnd.IntN(4)))
	failed := func(err error) bool {
		if err != nil {
			t.Error(err)
		}
		return err != nil
	}
	switch rnd.IntN(5) {
	case 0:
		res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: from})
		if !failed(err) {
			chains[i].add(either(res.Status, res.OK.DirWcc, res.Fail.DirWcc))
		}
	case 1:
		res, err := c.Remove(t.Context(), &nfs3.RemoveArgs{Object: from})
		if !failed(err) {
			chains[i].add(either(res.Status, res.OK.DirWcc, res.Fail.DirWcc))
		}
	case 2:
		res, err := c.Rename(t.Context(), &nfs3.RenameArgs{From: from, To: to})
		if failed(err) {
			return
		}
		chains[i].add(either(res.Status, res.OK.FromdirWcc, res.Fail.FromdirWcc))
		if i != j {
			chains[j].add(either(res.Status, res.OK.TodirWcc, res.Fail.TodirWcc))
		}
	case 3:
		res, err := c.Write(t.Context(), &nfs3.WriteArgs{File: file, Offset: nfs3.Offset(rnd.IntN(1 << 20)), Count: 1, Data: []byte("x")})
		if !failed(err) {
			data.add(either(res.Status, res.OK.FileWcc, res.Fail.FileWcc))
		}
	case 4:
		set := nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: nfs3.Size(rnd.IntN(1 << 20))}}
		res, err := c.SetAttr(t.Context(), &nfs3.SetAttrArgs{Object: file, NewAttributes: set})
		if !failed(err) {
			data.add(either(res.Status, res.OK.ObjWcc, res.Fail.ObjWcc))
		}
	}
}

// either returns the attributes of the arm that a result has.
func either(code nfs3.Status, ok, fail nfs3.WccData) nfs3.WccData {
	if code == nfs3.StatusOK {
		return ok
	}
	return fail
}

// Canary: a change that no reply describes is found.
func TestWccCanary(t *testing.T) {
	state := func(size nfs3.Size) nfs3.Attr { return nfs3.Attr{Size: size} }
	change := func(from, to nfs3.Size) (wcc nfs3.WccData) {
		wcc.Before = nfs3.PreOpAttr{AttributesFollow: true, Attributes: weak(state(from))}
		wcc.After = nfs3.PostOpAttr{AttributesFollow: true, Attributes: state(to)}
		return wcc
	}
	for i, skipped := range []nfs3.Size{9, 0, 1, 2} {
		c := newChain(state(0))
		for size := range nfs3.Size(3) {
			if size != skipped {
				c.add(change(size, size+1))
			}
		}
		if err := c.check(state(3)); (err != nil) != (i > 0) {
			t.Errorf("without change %d: %v", skipped, err)
		}
	}
}
