// Package outfile writes files whole or not at all.
//
// A file is written under no name (Linux) or a hidden one beside its target, synced,
// and takes the name of its target in one step. Symbolic links are followed; the
// mode and the owner of a file that is replaced are kept, a new file has what the
// umask leaves. What is no regular file (a device, a FIFO, a descriptor of this
// process such as /dev/stdout or >(command) in a shell) is written through.
//
// # Symbols
//
//	draft     the file while it is written: without a name, or a hidden one
//	target    the path that it takes in the end, links followed
//
// # The way of the data
//
// [Check] asks before hours of work whether a path can be written → [Write] opens a draft, lets
// fill write it, syncs and renames it. outfile_linux.go, outfile_unix.go and the others
// hold what systems do differently.
package outfile
