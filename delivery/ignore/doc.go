// Package ignore reads what a container file does not see of a folder: .dockerignore, by Docker's rules (pure).
//
// A line is a pattern for paths below the folder, as path.Match has them, and ** is
// any number of folders. A line that begins with ! takes back what lines above it
// have left out. The last line that says anything of a path, or of a folder above
// it, is right. A line that begins with # says nothing.
package ignore
