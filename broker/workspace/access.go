package workspace

import (
	"io/fs"
	"os"
)

// A file that takes the place of another lets in nobody whom the other kept out. Its group and its access list come with
// it where they can; where they cannot, the group gets no more than everybody else has.

// access is what a file has beside its permission bits to say who may do what.
type access struct {
	group int    // -1 where it is not known, or there is none
	list  []byte // its access list, nil for none
}

var noAccess = access{group: -1}

// accessOf asks an open file. One that does not tell is one of which nothing is known.
func accessOf(f *os.File) access {
	info, err := f.Stat()
	if err != nil {
		return noAccess
	}
	list, err := listOf(f)
	if err != nil {
		return noAccess
	}
	return access{groupOf(info), list}
}

// grant gives a new file what the one before it had. The list that its directory gave it is taken away in any case.
func (b *former) grant(f *os.File) error {
	perm := b.Mode().Perm()
	kept := b.access.group >= 0 && f.Chown(-1, b.access.group) == nil
	list := b.access.list
	if !kept {
		list = nil
	}
	listed, err := setList(f, list)
	if err != nil {
		return err
	}
	if !kept || b.access.list != nil && !listed { // with a list, the group's bits are the most that anybody in it has
		perm = asOthers(perm)
	}
	return f.Chmod(perm)
}

// asOthers are permissions of a file whose group is another one's: that has what all others have at most.
func asOthers(perm fs.FileMode) fs.FileMode {
	const group, others, apart = 0o070, 0o007, 3
	return perm&^group | perm&group&(perm&others<<apart)
}
