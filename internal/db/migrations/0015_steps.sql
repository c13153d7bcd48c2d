-- +goose Up

-- Which step of a build is being made, and since when, by this machine's clock; empty: not said.
ALTER TABLE request ADD COLUMN step text NOT NULL DEFAULT '';
ALTER TABLE request ADD COLUMN step_at bigint NOT NULL DEFAULT 0;

-- How long each step of a build took, as JSON; empty: its builder did not say.
ALTER TABLE answer ADD COLUMN steps text NOT NULL DEFAULT '';
