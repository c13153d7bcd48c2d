// Package document is what every document stands on: strict decoding with positions, canonical encoding, digests.
//
// A decoder refuses unknown keys, duplicate keys, keys that differ in case,
// wrong types, trailing data, oversized or deep input and invalid UTF-8, and
// says for each fault the file, the line, the column, the JSON path and what
// would be right. Encoding is canonical (RFC 8785, integers up to 2⁵³ and no
// other numbers): two equal documents are the same bytes, and a digest of them
// is an identity.
package document
