// Package verdict is fit, unfit, outstanding; a broken machine is no verdict.
//
// A verdict is a property of a build and decides whether it may be declared. A
// run that failed because of its surroundings leaves it outstanding.
package verdict
