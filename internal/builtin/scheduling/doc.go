// Package scheduling has the rules of PriorityClasses, and the two classes that every server has.
package scheduling
