package localfs

import "time"

// maxListed is the number of files in listed: about 15 MB of memory.
const maxListed = 1 << 17

// listed has the newest files whose IDs came from listings alone, in memory. The first use of an ID
// moves its file to the entries of the table. An ID that is forgotten is stale, and is the same
// again when the file is looked up or listed.
type listed struct {
	files map[uint64]seen // by inode number
	order []uint64        // inode numbers, oldest from next on once there are maxListed
	next  int             // in order
	most  int             // of files; maxListed, except in tests
}

// seen is a file of a listing. Slot is its place in listed.order: another number there is of a file
// that has left.
type seen struct {
	gen, dir uint64
	name     string
	changed  time.Time // as entry.confirmed
	slot     int
}

// put notes a file.
func (l *listed) put(ino uint64, s seen) {
	if old, ok := l.files[ino]; ok {
		s.slot = old.slot
		l.files[ino] = s
		return
	}
	if len(l.order) < l.most {
		s.slot = len(l.order)
		l.order = append(l.order, ino)
	} else {
		s.slot = l.next
		if oldest := l.order[l.next]; l.files[oldest].slot == l.next {
			delete(l.files, oldest)
		}
		l.order[l.next] = ino
		l.next = (l.next + 1) % l.most
	}
	if l.files == nil {
		l.files = map[uint64]seen{}
	}
	l.files[ino] = s
}

// entry returns what the table would have of a file, or nil if there is no such file.
func (l *listed) entry(ino uint64) *entry {
	s, ok := l.files[ino]
	if !ok {
		return nil
	}
	return &entry{Ino: ino, Gen: s.gen, Places: []place{{s.dir, []byte(s.name)}}, confirmed: s.changed}
}

// list notes that a file with a generation was listed, as add does for other uses. changed is the
// time of its last change, or zero if that may not be over.
func (t *table) list(ino, gen uint64, changed time.Time, links bool, dir uint64, name string) (uint64, error) {
	t.mu.Lock()
	if old, ok := t.listed.files[ino]; ok && links && (old.dir != dir || old.name != name) {
		t.used(ino, gen) // listed has one name of each file, and this one has more
	}
	used := ino == t.root || t.entries[ino] != nil || gen == 0
	if !used {
		t.listed.put(ino, seen{gen: gen, dir: dir, name: name, changed: changed})
	}
	t.mu.Unlock()
	if used { // without generations, an ID that is forgotten would not come again
		return t.add(ino, gen, links, dir, name)
	}
	return gen, nil
}

// unchanged returns the generation of a file that has not changed since it was confirmed, and still
// has the name. ok is false if that is not known. Files that were only listed count for listings.
func (t *table) unchanged(ino uint64, changed time.Time, dir uint64, name string, listing bool) (gen uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[ino]; e != nil {
		same := !e.confirmed.IsZero() && e.confirmed.Equal(changed)
		return e.Gen, same && len(e.Places) == 1 && e.Places[0].Dir == dir && string(e.Places[0].Name) == name
	}
	s, found := t.listed.files[ino]
	same := !s.changed.IsZero() && s.changed.Equal(changed)
	return s.gen, found && listing && same && s.dir == dir && s.name == name
}

// find returns the entry of a file, from a listing or not, or nil.
func (t *table) find(ino uint64) *entry {
	if e := t.entries[ino]; e != nil {
		return e
	}
	return t.listed.entry(ino)
}

// used returns the entry of a file whose ID is used, or nil. A file that was only listed becomes an
// entry, unless the disk of the log is full.
func (t *table) used(ino, gen uint64) *entry {
	e := t.find(ino)
	if e == nil || e.Gen != gen {
		return nil
	}
	if t.entries[ino] == nil {
		t.entries[ino] = e
		if t.record(ino) != nil {
			delete(t.entries, ino)
			delete(t.late, ino)
			return e
		}
		delete(t.listed.files, ino)
	}
	return e
}
