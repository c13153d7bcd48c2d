// Package status is "source X · built from X · fit · declared on 5 · applied on 3, 2 outstanding" (pure).
//
// It answers "did my change go out?" by two comparisons: is what is declared
// built from current source, and does what each node read back match what is
// declared on it? Every other word of it says what stands between.
package status
