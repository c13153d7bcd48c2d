-- +goose Up

-- What the code of modules says is kept some modules to a row, with where each of them
-- is, since all of it is read at each start: of each module how many bytes the four
-- texts have that follow, and these. A module has the number of its row.
ALTER TABLE module ADD COLUMN part bigint NOT NULL DEFAULT 0;
UPDATE module SET part = numbered.part
    FROM (SELECT name, (row_number() OVER (ORDER BY name)) % 1024 AS part FROM module) AS numbered WHERE numbered.name = module.name;
CREATE TABLE code (
    part bigint PRIMARY KEY,
    says text   NOT NULL
);
INSERT INTO code (part, says)
    SELECT part, string_agg(octet_length(name) || ' ' || octet_length(repository) || ' ' || octet_length(folder) || ' ' || octet_length(says) || ' '
        || name || repository || folder || says, '')
    FROM (SELECT m.part, m.name, m.repository, m.folder, coalesce(r.says, '') AS says
        FROM module m LEFT JOIN source s ON s.module = m.name LEFT JOIN reading r ON r.key = s.code) AS said
    GROUP BY part;
DROP INDEX source_code;
DROP TABLE reading;
