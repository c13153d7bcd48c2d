-- +goose Up

-- Which limits of a build a builder's machine does not hold.
ALTER TABLE builder ADD COLUMN lacks text NOT NULL DEFAULT '';
