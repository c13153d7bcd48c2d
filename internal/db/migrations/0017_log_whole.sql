-- +goose Up

-- The log of a request that has ended, in one piece and compressed; while it goes
-- on, and of one that ended before there was this table, it is in its pieces.
CREATE TABLE log_whole (
    request text  PRIMARY KEY REFERENCES log (request) ON DELETE CASCADE,
    packed  bytea NOT NULL
);
