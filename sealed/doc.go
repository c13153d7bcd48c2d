// Package sealed is values that one node alone can open: sealed to its key, and bound to it by what is sealed with them.
//
// What is sealed says for which node, module and name it is, because the seal
// itself binds nothing: whoever could put one sealed value in the place of another
// is found out when it is opened. No error of this package repeats any part of what
// was sealed, and a key prints as ***.
package sealed
