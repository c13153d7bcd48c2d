package imports

// Sealed is a Said of whatever text.
var Sealed = sealed
