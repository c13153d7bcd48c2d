// Package sim is the mesh in one process on fakes at its rim: every message, transaction and read is an event, and a seed decides what becomes of it.
package sim
