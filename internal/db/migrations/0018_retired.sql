-- +goose Up

-- How many lines of the record of builds, and how many logs of those that stay, retention has removed of a module, and when last.
CREATE TABLE retired (
    module text   PRIMARY KEY,
    builds bigint NOT NULL,
    logs   bigint NOT NULL,
    at     bigint NOT NULL
);

-- When retention removed a log; 0: it did not.
ALTER TABLE log ADD COLUMN removed_at bigint NOT NULL DEFAULT 0;
