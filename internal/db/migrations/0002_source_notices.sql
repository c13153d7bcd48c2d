-- +goose Up

-- What is odd about where a source stands, beside its state: a list, as JSON.
ALTER TABLE source ADD COLUMN notices text NOT NULL DEFAULT '[]';
