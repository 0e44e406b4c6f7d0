package memfs

import "slices"

// directory keeps its names in the order of their creation. Each has a number that no other name
// gets: its cookie in listings.
type directory struct {
	parent *inode
	byName map[string]*entry
	order  []*entry // by cookie; some were removed
	last   uint64   // cookie
}

// The cookies of "." and "..". Names follow.
const selfCookie, parentCookie = 1, 2

// entry is a name. It has no inode once it was removed.
type entry struct {
	name   string
	cookie uint64
	*inode
}

func (d *directory) insert(name string, i *inode) {
	d.last = max(d.last, parentCookie) + 1
	e := &entry{name, d.last, i}
	d.byName[name] = e
	d.order = append(d.order, e)
}

func (d *directory) remove(name string) {
	*d.byName[name] = entry{cookie: d.byName[name].cookie}
	delete(d.byName, name)
	if len(d.order) <= 2*len(d.byName) {
		return
	}
	order := d.order
	d.order, d.byName = nil, map[string]*entry{} // neither gets smaller
	for _, e := range order {
		if e.inode != nil {
			d.order, d.byName[e.name] = append(d.order, e), e
		}
	}
}

// after returns some entries that follow a cookie.
func (d *directory) after(cookie uint64) (some []entry) {
	i, _ := slices.BinarySearchFunc(d.order, cookie, func(e *entry, cookie uint64) int {
		if e.cookie <= cookie {
			return -1
		}
		return 1
	})
	for ; i < len(d.order) && len(some) < 256; i++ {
		if d.order[i].inode != nil {
			some = append(some, *d.order[i])
		}
	}
	return some
}
