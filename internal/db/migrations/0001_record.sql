-- +goose Up

-- One row: who may write, and how often it was written.
CREATE TABLE fence (
    one      bigint PRIMARY KEY CHECK (one = 1),
    epoch    bigint NOT NULL,
    holder   text   NOT NULL,
    revision bigint NOT NULL
);
INSERT INTO fence (one, epoch, holder, revision) VALUES (1, 0, '', 0);

CREATE TABLE setting (
    name  text PRIMARY KEY,
    value text NOT NULL
);

-- delivery

CREATE TABLE module (
    name       text   PRIMARY KEY,
    repository text   NOT NULL,
    ref        text   NOT NULL,
    folder     text   NOT NULL,
    added_by   text   NOT NULL,
    added_at   bigint NOT NULL,
    policy     text   NOT NULL CHECK (policy IN ('manual', 'auto')),
    policy_by  text   NOT NULL,
    policy_at  bigint NOT NULL
);

CREATE TABLE source (
    module      text   PRIMARY KEY REFERENCES module (name) ON DELETE CASCADE,
    ref         text   NOT NULL,
    commit_hash text   NOT NULL,
    tree        text   NOT NULL,
    manifest    text   NOT NULL,
    head        text   NOT NULL,
    looked_at   bigint NOT NULL,
    moved_at    bigint NOT NULL,
    state       text   NOT NULL,
    why         text   NOT NULL,
    since       bigint NOT NULL
);

-- No reference to module: what was built stays in the record when its module leaves.
CREATE TABLE request (
    id          text   PRIMARY KEY,
    module      text   NOT NULL,
    commit_hash text   NOT NULL,
    platform    text   NOT NULL,
    commands    bigint NOT NULL CHECK (commands IN (0, 1)),
    document    text   NOT NULL,
    envelope    text   NOT NULL,
    made_at     bigint NOT NULL,
    state       text   NOT NULL CHECK (state IN ('open', 'leased', 'done', 'withdrawn')),
    since       bigint NOT NULL,
    builder     text   NOT NULL,
    leased_at   bigint NOT NULL,
    heard_at    bigint NOT NULL,
    lease_until bigint NOT NULL,
    deadline    bigint NOT NULL,
    lost        bigint NOT NULL,
    why         text   NOT NULL
);
CREATE INDEX request_module ON request (module, leased_at);
CREATE INDEX request_waits ON request (state, platform) WHERE state IN ('open', 'leased');
CREATE INDEX request_newest ON request (made_at);

-- Who was ever given a request: nobody else may answer it.
CREATE TABLE given (
    request  text   NOT NULL REFERENCES request (id) ON DELETE CASCADE,
    builder  text   NOT NULL,
    given_at bigint NOT NULL,
    PRIMARY KEY (request, builder)
);

CREATE TABLE answer (
    request   text   PRIMARY KEY REFERENCES request (id),
    module    text   NOT NULL,
    builder   text   NOT NULL,
    outcome   text   NOT NULL,
    step      text   NOT NULL,
    why       text   NOT NULL,
    build     text   NOT NULL,
    tests     text   NOT NULL,
    verdict   text   NOT NULL,
    log_size  bigint NOT NULL,
    began     bigint NOT NULL,
    ended     bigint NOT NULL,
    at        bigint NOT NULL,
    finding   text   NOT NULL,
    envelope  text   NOT NULL
);
CREATE INDEX answer_newest ON answer (module, at);
CREATE INDEX answer_build ON answer (build);

CREATE TABLE build (
    id        text   PRIMARY KEY,
    content   text   NOT NULL,
    module    text   NOT NULL,
    manifest  text   NOT NULL,
    bytes     text   NOT NULL,
    published text   NOT NULL,
    request   text   NOT NULL,
    builder   text   NOT NULL,
    at        bigint NOT NULL,
    verdict   text   NOT NULL,
    gone      bigint NOT NULL CHECK (gone IN (0, 1)),
    finding   text   NOT NULL
);
CREATE INDEX build_module ON build (module, at);

-- Every verdict that was ever given; the build's own is the last.
CREATE TABLE verdict (
    build     text   NOT NULL REFERENCES build (id),
    judged_by text   NOT NULL,
    at        bigint NOT NULL,
    verdict   text   NOT NULL,
    PRIMARY KEY (build, judged_by, at, verdict)
);

CREATE TABLE log (
    request  text   PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
    received bigint NOT NULL
);

CREATE TABLE log_piece (
    request text   NOT NULL REFERENCES log (request) ON DELETE CASCADE,
    start   bigint NOT NULL,
    piece   text   NOT NULL,
    PRIMARY KEY (request, start)
);

CREATE TABLE declare_write (
    id     bigint PRIMARY KEY,
    module text   NOT NULL,
    build  text   NOT NULL REFERENCES build (id),
    nodes  text   NOT NULL,
    by_who text   NOT NULL,
    at     bigint NOT NULL,
    why    text   NOT NULL
);
CREATE INDEX declare_write_module ON declare_write (module, id);

CREATE TABLE declared (
    module     text   NOT NULL,
    node       text   NOT NULL,
    build      text   NOT NULL REFERENCES build (id),
    write_id   bigint NOT NULL REFERENCES declare_write (id),
    PRIMARY KEY (module, node)
);
CREATE INDEX declared_node ON declared (node);

-- inventory

-- A node that was removed keeps its row, so that its id is never given again.
CREATE TABLE node (
    id                  text   PRIMARY KEY,
    name                text   NOT NULL,
    added_by            text   NOT NULL,
    added_at            bigint NOT NULL,
    joined_at           bigint NOT NULL,
    removed_at          bigint NOT NULL,
    sign                text   NOT NULL,
    nats                text   NOT NULL,
    seal                text   NOT NULL,
    host                text   NOT NULL,
    speaks              text   NOT NULL,
    boot                text   NOT NULL,
    counter             bigint NOT NULL,
    last_seen           bigint NOT NULL,
    accepted_epoch      bigint NOT NULL,
    accepted_generation bigint NOT NULL,
    accepted_digest     text   NOT NULL,
    applied_epoch       bigint NOT NULL,
    applied_generation  bigint NOT NULL,
    applied_digest      text   NOT NULL,
    refused             text   NOT NULL,
    sent_epoch          bigint NOT NULL,
    sent_generation     bigint NOT NULL,
    sent_digest         text   NOT NULL,
    sent_at             bigint NOT NULL,
    finding             text   NOT NULL
);
CREATE UNIQUE INDEX node_name ON node (name) WHERE removed_at = 0;

-- Broker keys that were a node's before it joined anew.
CREATE TABLE revoked (
    public_key text   PRIMARY KEY,
    node       text   NOT NULL,
    at         bigint NOT NULL
);

CREATE TABLE node_report (
    node     text   PRIMARY KEY REFERENCES node (id) ON DELETE CASCADE,
    sequence bigint NOT NULL,
    report   text   NOT NULL,
    envelope text   NOT NULL,
    at       bigint NOT NULL,
    trouble  text   NOT NULL
);

-- Every tuple that was ever issued. A node's generation only goes up, also from epoch to epoch.
CREATE TABLE ledger (
    node       text   NOT NULL REFERENCES node (id),
    generation bigint NOT NULL,
    epoch      bigint NOT NULL,
    digest     text   NOT NULL,
    modules    text   NOT NULL,
    at         bigint NOT NULL,
    PRIMARY KEY (node, generation)
);

CREATE TABLE assignment (
    module   text   NOT NULL REFERENCES module (name),
    node     text   NOT NULL REFERENCES node (id),
    settings text   NOT NULL,
    by_who   text   NOT NULL,
    at       bigint NOT NULL,
    PRIMARY KEY (module, node)
);
CREATE INDEX assignment_node ON assignment (node);

CREATE TABLE applied (
    node    text   NOT NULL REFERENCES node (id),
    module  text   NOT NULL,
    content text   NOT NULL,
    at      bigint NOT NULL,
    PRIMARY KEY (node, module)
);

-- identity

CREATE TABLE token (
    id          text   PRIMARY KEY,
    kind        text   NOT NULL,
    target      text   NOT NULL,
    name        text   NOT NULL,
    secret_hash text   NOT NULL,
    made_by     text   NOT NULL,
    made_at     bigint NOT NULL,
    expires_at  bigint NOT NULL,
    used_at     bigint NOT NULL
);

CREATE TABLE builder (
    id         text   PRIMARY KEY,
    name       text   NOT NULL,
    sign       text   NOT NULL,
    nats       text   NOT NULL,
    added_at   bigint NOT NULL,
    removed_at bigint NOT NULL,
    version    text   NOT NULL,
    platform   text   NOT NULL,
    sandbox    text   NOT NULL,
    speaks     text   NOT NULL,
    counter    bigint NOT NULL,
    last_seen  bigint NOT NULL
);
CREATE UNIQUE INDEX builder_name ON builder (name) WHERE removed_at = 0;

CREATE TABLE login (
    id          text   PRIMARY KEY,
    name        text   NOT NULL UNIQUE,
    role        text   NOT NULL,
    secret_hash text   NOT NULL,
    made_at     bigint NOT NULL
);

-- With what a node or a builder reads and writes the registry.
CREATE TABLE registry_secret (
    id          text PRIMARY KEY,
    secret_hash text NOT NULL
);

-- trouble

CREATE TABLE trouble (
    name        text   PRIMARY KEY,
    fingerprint text   NOT NULL,
    says        text   NOT NULL,
    since       bigint NOT NULL,
    count       bigint NOT NULL,
    last        bigint NOT NULL
);
