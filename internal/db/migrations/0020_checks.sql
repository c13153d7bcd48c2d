-- +goose Up

-- Of a check, which makes a request again to compare what comes of it: that request, and who answered it.
ALTER TABLE request ADD COLUMN check_of text NOT NULL DEFAULT '';
ALTER TABLE request ADD COLUMN avoid text NOT NULL DEFAULT '';
CREATE INDEX request_check ON request (check_of) WHERE check_of <> '';

-- What came of a check that was built. Where it is not the same, differences is a
-- list, as JSON; while compared is 0, the files of archives are not in it yet.
CREATE TABLE checked (
    request     text   PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
    check_of    text   NOT NULL,
    module      text   NOT NULL,
    build       text   NOT NULL,
    bytes       text   NOT NULL,
    same        bigint NOT NULL CHECK (same IN (0, 1)),
    compared    bigint NOT NULL CHECK (compared IN (0, 1)),
    differences text   NOT NULL
);
CREATE INDEX checked_of ON checked (check_of);
CREATE INDEX checked_module ON checked (module) WHERE compared = 0;
