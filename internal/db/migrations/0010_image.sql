-- +goose Up

-- Where the names of images point that modules are built in: one row for each
-- name and platform that some module asks for.
CREATE TABLE image (
    key       text   PRIMARY KEY,
    head      text   NOT NULL,
    digest    text   NOT NULL,
    looked_at bigint NOT NULL,
    moved_at  bigint NOT NULL,
    state     text   NOT NULL,
    why       text   NOT NULL,
    since     bigint NOT NULL
);

-- What an earlier version refused a manifest for, this one may know: it is read again.
UPDATE source SET head = '' WHERE state = 'bad-manifest';
