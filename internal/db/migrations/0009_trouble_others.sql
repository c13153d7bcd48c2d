-- +goose Up

-- The other failures of the same thing since its last success, as JSON; empty: none.
ALTER TABLE trouble ADD COLUMN others text NOT NULL DEFAULT '';
