// Package hostile generates inputs that cost a server much and a client little: requests for custom resources,
// definitions with their use, and loads of several requests at once.
//
// A Case is an input as data: a shape, a size and a seed. Case.Input generates it, always with the same bytes. Shapes
// lists all shapes. Search looks for the cases with the highest cost per byte.
//
// The package sends nothing. TestHostile, in the folder above, sends the inputs and measures their cost.
package hostile
