package archive_test

import (
	"noxmesh/archive"
	"noxmesh/archive/archivetest"
)

// The shapes of entries, in short: these tests are full of them.

func file(path, content string) archive.Entry { return archivetest.File(path, content) }

func directory(path string) archive.Entry { return archivetest.Directory(path) }

func link(path, target string) archive.Entry { return archivetest.Link(path, target) }

func index(entries ...archive.Entry) archive.Index { return archivetest.Index(entries...) }
