// Package manifest is module.json in two forms: in a repository it names artifacts, built it names digests.
//
// The source manifest is written by people and knows no digest; the built one
// is derived from it by a build and knows no artifact. They are two types on
// purpose, each strictly decoded.
package manifest
