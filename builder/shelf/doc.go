// Package shelf is folders that a builder makes once and keeps for later builds: whole, or not there.
//
// A folder is made under another name and gets its own only when all of it is on
// the disk, and so is that name; it is taken down by that name first. What a
// killed builder had begun is gone when it starts again. Nothing is written into
// a folder afterwards: builds see it read-only, and how many entries it has is
// looked at before it is first used. Of all that is kept, what was not used for
// longest goes first.
package shelf
