-- +goose Up

-- When the registry was first seen not to hold a build; 0: it holds it, or nobody knows.
ALTER TABLE build ADD COLUMN gone_at bigint NOT NULL DEFAULT 0;
