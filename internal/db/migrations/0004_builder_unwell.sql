-- +goose Up

-- Why a builder takes no work for now: it could not keep what it would build.
ALTER TABLE builder ADD COLUMN unwell text NOT NULL DEFAULT '';
