package hand

// Maximum sizes of dirplus.x, in bytes.
const (
	NameMax      = 255
	HandleMax    = 64
	VerifierSize = 8
)

// Status is dp_status.
type Status uint32

// The statuses of dirplus.x.
const (
	OK     Status = 0
	NoEnt  Status = 2
	IO     Status = 5
	Access Status = 13
	NotDir Status = 20
	Stale  Status = 70
)

// FileType is dp_type, from File to Pipe.
type FileType uint32

// The first and the last file type of dirplus.x.
const (
	File FileType = 1
	Pipe FileType = 7
)

// Device is dp_device.
type Device struct{ Major, Minor uint32 }

// Time is dp_time.
type Time struct{ Seconds, Nanoseconds uint32 }

// Attr is dp_attr: 84 bytes on the wire.
type Attr struct {
	Type                        FileType
	Mode, Links, Owner, Group   uint32
	FileSize, Used              uint64
	Device                      Device
	Volume, ID                  uint64
	Accessed, Modified, Changed Time
}

// OptAttr is dp_opt_attr; Attr is stale while Present is false.
type OptAttr struct {
	Present bool
	Attr    Attr
}

// Entry is dp_entry without its link. Handle is empty while HasHandle is false.
type Entry struct {
	ID        uint64
	Name      []byte
	Cookie    uint64
	Attr      OptAttr
	HasHandle bool
	Handle    []byte
}

// Dirplus is dp_reply with its list as a slice. Unless Status is OK, DirAttr is
// all it holds.
type Dirplus struct {
	Status   Status
	DirAttr  OptAttr
	Verifier [VerifierSize]byte
	Entries  []Entry
	EOF      bool
}

const attrSize = 84

func knownStatus(s Status) bool {
	switch s {
	case OK, NoEnt, IO, Access, NotDir, Stale:
		return true
	}
	return false
}

func (a *OptAttr) size() int {
	if a.Present {
		return 4 + attrSize
	}
	return 4
}

// Size returns the bytes d takes on the wire.
func (d *Dirplus) Size() int {
	n := 4 + d.DirAttr.size()
	if d.Status != OK {
		return n
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		n += 28 + padded(len(e.Name)) + e.Attr.size()
		if e.HasHandle {
			n += 4 + padded(len(e.Handle))
		}
	}
	return n + VerifierSize + 8
}
