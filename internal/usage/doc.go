// Package usage tells what the process has used: CPU time and peak memory. On systems
// that do not say (usage_other.go) it tells bounds of them.
package usage
