// Package supplytest is other people's registries for tests: modules and packages that a test makes, and whatever goes wrong with them.
package supplytest
