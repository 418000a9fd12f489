CREATE TABLE queues (
    id INTEGER PRIMARY KEY,
    service TEXT NOT NULL,
    type TEXT NOT NULL,
    counters TEXT NOT NULL,
    failures TEXT NOT NULL,
    subscription TEXT
  ) STRICT;
CREATE TABLE recent_events (queue INTEGER PRIMARY KEY, events TEXT NOT NULL) STRICT;
CREATE TABLE routes (type TEXT NOT NULL, service TEXT NOT NULL, PRIMARY KEY (type, service)) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    accepted_at REAL NOT NULL,
    due_at REAL,
    attempts TEXT,
    priority INTEGER NOT NULL,
    id TEXT NOT NULL,
    envelope TEXT NOT NULL,
    body TEXT NOT NULL,
    dead_letter TEXT,
    run TEXT
  ) STRICT;
CREATE TABLE checkpoints (
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (position, number)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE waits (
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    since REAL NOT NULL,
    wait TEXT NOT NULL,
    PRIMARY KEY (position, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE periods (
    type TEXT NOT NULL,
    kind TEXT NOT NULL,
    period INTEGER NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (type, kind, period)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE dedupe_ids (
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    event TEXT NOT NULL,
    until REAL NOT NULL,
    PRIMARY KEY (type, id)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE schedules (
    service TEXT NOT NULL,
    name TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (service, name)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE key_values (key TEXT PRIMARY KEY, value TEXT, first INTEGER, next INTEGER, expires_at REAL) STRICT;
CREATE INDEX key_values_expiry ON key_values (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE list_values (
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (key, number)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL,
    method TEXT NOT NULL,
    arguments TEXT NOT NULL,
    deadline REAL NOT NULL,
    is_taken INTEGER NOT NULL DEFAULT 0,
    answer TEXT
  ) STRICT;
CREATE TABLE hubs (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, description TEXT NOT NULL) STRICT;
CREATE TABLE spilled_events (
    position INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    accepted_at REAL NOT NULL,
    due_at REAL,
    attempts TEXT,
    priority INTEGER NOT NULL,
    id TEXT NOT NULL,
    envelope TEXT NOT NULL,
    body TEXT NOT NULL,
    turn INTEGER NOT NULL,
    key TEXT,
    request_id TEXT NOT NULL,
    dedupe TEXT,
    bytes INTEGER NOT NULL
  ) STRICT;
CREATE INDEX spilled_acceptance ON spilled_events (queue, position, accepted_at, bytes, due_at);
CREATE INDEX spilled_turns ON spilled_events (queue, priority, turn) WHERE due_at IS NULL;
CREATE INDEX spilled_keys ON spilled_events (queue, key, priority, turn) WHERE due_at IS NULL;
CREATE INDEX spilled_due ON spilled_events (queue, due_at, turn) WHERE due_at IS NOT NULL;
CREATE INDEX spilled_ids ON spilled_events (id);
CREATE INDEX spilled_requests ON spilled_events (request_id, queue);
CREATE INDEX spilled_dedupe ON spilled_events (dedupe, queue, id) WHERE dedupe IS NOT NULL;
CREATE TABLE crash_suspects (
    position INTEGER PRIMARY KEY,
    crashes INTEGER NOT NULL,
    is_started INTEGER NOT NULL
  ) STRICT;
CREATE TABLE crash_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    is_running INTEGER NOT NULL,
    suspects_until INTEGER NOT NULL
  ) STRICT;
CREATE TABLE log_entries (
    log TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at REAL NOT NULL,
    expires_at REAL NOT NULL,
    start INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (log, sequence)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX log_expiry ON log_entries (expires_at);
PRAGMA application_id = 1215652460;
PRAGMA user_version = 5;
INSERT INTO checkpoints VALUES (2, 1, 'pick', '{"output":1}');
INSERT INTO checkpoints VALUES (2, 2, 'kid', '{"by":"run","id":"kid","status":"completed","result":"grown","since":1767225600000,"at":1767225600000}');
INSERT INTO checkpoints VALUES (2, 3, 'timer', '{"by":"time","since":1767225600000,"at":1767225660000}');
INSERT INTO crash_state VALUES (1, 0, 0);
INSERT INTO dedupe_ids VALUES ('order', 'same', 'retried', 1767312001000);
INSERT INTO events VALUES (2, 4, 3, 1, 1767225600000, NULL, '{"startedAt":1767225600000,"attempts":[]}', 0, '9eca4c08-4773-f98b-33b7-0daf291df109', '{"requestId":"request","depth":1,"delayMs":0,"replays":0,"causeId":"done"}', '{"n":1}', NULL, NULL);
INSERT INTO events VALUES (3, 5, 0, 1, 1767225600000, NULL, '{"startedAt":1767225600000,"attempts":[]}', 0, 'kid', '{"requestId":"request","depth":0,"delayMs":0,"replays":0,"parent":{"type":"flow","id":"9eca4c08-4773-f98b-33b7-0daf291df109","wait":"kid"}}', '{}', NULL, '{"at":1767225600000,"result":"\"grown\"","endOrder":1}');
INSERT INTO events VALUES (4, 1, 0, 1, 1767225601000, NULL, '{"startedAt":1767225601000,"attempts":[]}', 3, 'dead', '{"requestId":"request","depth":0,"delayMs":0,"replays":0}', '{"n":2}', '{"at":1767225601000,"error":{"name":"Error","message":"no stock"},"step":"pick","endOrder":2}', NULL);
INSERT INTO events VALUES (5, 4, 0, 1, 1767225601000, NULL, '{"startedAt":1767225601000,"attempts":[]}', 3, '0da21138-f595-fa35-e543-7203c7f4d08e', '{"requestId":"request","depth":1,"delayMs":0,"replays":0,"causeId":"dead"}', '{"n":2}', '{"at":1767225601000,"error":{"name":"Error","message":"torn"},"endOrder":4}', '{"at":1767225601000,"error":{"name":"Error","message":"torn"},"endOrder":4}');
INSERT INTO events VALUES (6, 1, 3, 2, 1767225601000, 1767225631000, '{"startedAt":1767225601000,"attempts":[{"attempt":1,"startedAt":1767225601000,"endedAt":1767225601000,"error":{"name":"Error","message":"retried"}}]}', 0, 'retried', '{"requestId":"request","depth":0,"delayMs":0,"replays":0,"dedupe":{"id":"same","windowMs":86400000}}', '{}', NULL, NULL);
INSERT INTO events VALUES (7, 4, 0, 1, 1767225601000, NULL, '{"startedAt":1767225601000,"attempts":[]}', 0, '410c7a84-8026-353b-074a-14bf99e120fe', '{"requestId":"request","depth":1,"delayMs":0,"replays":0,"causeId":"retried"}', '{}', NULL, '{"at":1767225601000,"result":"7","endOrder":5}');
INSERT INTO events VALUES (9, 4, 1, 1, 1767225601000, 1767225721000, NULL, 0, '8eb8ece6-522c-73f1-8e63-32eb991fd0fc', '{"requestId":"request","depth":1,"delayMs":120000,"replays":0,"trace":{"traceparent":"00-1-2-01"},"causeId":"delayed"}', '{}', NULL, NULL);
INSERT INTO events VALUES (10, 2, 1, 1, 1767225601000, NULL, NULL, 0, 'first', '{"requestId":"request","depth":0,"delayMs":0,"replays":0,"key":"k"}', '{}', NULL, NULL);
INSERT INTO events VALUES (11, 2, 1, 1, 1767225601000, NULL, NULL, 0, 'second', '{"requestId":"request","depth":0,"delayMs":0,"replays":0,"key":"k"}', '{}', NULL, NULL);
INSERT INTO events VALUES (12, 3, 9, 1, 1767225601000, 1767225606000, NULL, 0, 'calm', '{"requestId":"request","depth":0,"delayMs":0,"replays":0,"key":"c"}', '2', NULL, NULL);
INSERT INTO hubs VALUES (1, 'c91abe23-6fcd-46ce-9003-27e4246816e7', '{}');
INSERT INTO key_values VALUES ('k', 'v', NULL, NULL, NULL);
INSERT INTO key_values VALUES ('expiring', 'e', NULL, NULL, 1767226201000);
INSERT INTO key_values VALUES ('list', NULL, 0, 3, NULL);
INSERT INTO key_values VALUES ('n', '5', NULL, NULL, NULL);
INSERT INTO list_values VALUES ('list', 0, 'a');
INSERT INTO list_values VALUES ('list', 1, 'b');
INSERT INTO list_values VALUES ('list', 2, 'c');
INSERT INTO log_entries VALUES ('audit', 0, 1767225671000, 1767229271000, 0, 3, 'one');
INSERT INTO log_entries VALUES ('audit', 1, 1767225671000, 1767229271000, 3, 3, 'two');
INSERT INTO periods VALUES ('', 'fiveMinutes', 5890752, '{"counts":[12,3,2,0,1],"wait":[4,8,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],"duration":[0,6]}');
INSERT INTO periods VALUES ('', 'hours', 490896, '{"counts":[12,3,2,0,1],"wait":[4,8,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],"duration":[0,6]}');
INSERT INTO periods VALUES ('', 'minutes', 29453760, '{"counts":[12,3,2,0,1],"wait":[4,8,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],"duration":[0,6]}');
INSERT INTO periods VALUES ('', 'minutes', 29453761, '{"counts":[0,0,0,0,0],"wait":[56,1],"duration":[0]}');
INSERT INTO periods VALUES ('calm', 'minutes', 29453760, '{"counts":[1,0,0,0,0],"wait":[43,1],"duration":[0]}');
INSERT INTO periods VALUES ('child', 'minutes', 29453760, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[0,1]}');
INSERT INTO periods VALUES ('flow', 'minutes', 29453760, '{"counts":[4,1,1,0,0],"wait":[-34,3],"duration":[0,2]}');
INSERT INTO periods VALUES ('keyed', 'fiveMinutes', 5890752, '{"counts":[2,0,0,0,0],"wait":[-34,1],"duration":[0]}');
INSERT INTO periods VALUES ('keyed', 'hours', 490896, '{"counts":[2,0,0,0,0],"wait":[-34,1],"duration":[0]}');
INSERT INTO periods VALUES ('keyed', 'minutes', 29453760, '{"counts":[2,0,0,0,0],"wait":[-34,1],"duration":[0]}');
INSERT INTO periods VALUES ('keyed', 'minutes', 29453761, '{"counts":[0,0,0,0,0],"wait":[56,1],"duration":[0]}');
INSERT INTO periods VALUES ('order', 'minutes', 29453760, '{"counts":[4,1,1,0,1],"wait":[-34,3],"duration":[0,3]}');
INSERT INTO queues VALUES (1, 'shop', 'order', '{"received":4,"completed":1,"failed":1,"cancelled":0,"retried":1,"deduplicated":0,"lastReceivedAt":1767225601000,"lastFailedAt":1767225601000}', '[{"id":"dead","at":1767225601000,"attempt":1,"requestId":"request","step":"pick","name":"Error","message":"no stock"}]', '{"type":"order","concurrency":1}');
INSERT INTO queues VALUES (2, 'shop', 'keyed', '{"received":2,"completed":0,"failed":0,"cancelled":0,"retried":0,"deduplicated":0,"lastReceivedAt":1767225601000}', '[]', '{"type":"keyed","perKey":{"concurrency":1}}');
INSERT INTO queues VALUES (3, 'shop', 'calm', '{"received":1,"completed":0,"failed":0,"cancelled":0,"retried":0,"deduplicated":1,"lastReceivedAt":1767225601000}', '[]', '{"type":"calm","perKey":{},"debounce":{"ms":5000}}');
INSERT INTO queues VALUES (4, 'shop', 'flow', '{"received":4,"completed":1,"failed":1,"cancelled":0,"retried":0,"deduplicated":0,"lastReceivedAt":1767225601000,"lastFailedAt":1767225601000}', '[{"id":"0da21138-f595-fa35-e543-7203c7f4d08e","at":1767225601000,"attempt":1,"requestId":"request","name":"Error","message":"torn"}]', '{"type":"flow","retainsRuns":true,"trigger":"order"}');
INSERT INTO queues VALUES (5, 'shop', 'child', '{"received":1,"completed":1,"failed":0,"cancelled":0,"retried":0,"deduplicated":0,"lastReceivedAt":1767225600000}', '[]', '{"type":"child","retainsRuns":true}');
INSERT INTO recent_events VALUES (1, '{"ended":[{"id":"done","requestId":"request","status":"completed","acceptedAt":1767225600000,"startedAt":1767225600000,"endedAt":1767225600000,"attempt":1,"earlier":[]}],"failed":[{"id":"dead","requestId":"request","status":"failed","acceptedAt":1767225601000,"startedAt":1767225601000,"endedAt":1767225601000,"attempt":1,"earlier":[],"error":{"name":"Error","message":"no stock"},"step":"pick"}]}');
INSERT INTO routes VALUES ('calm', 'shop');
INSERT INTO routes VALUES ('child', 'shop');
INSERT INTO routes VALUES ('flow', 'shop');
INSERT INTO routes VALUES ('keyed', 'shop');
INSERT INTO routes VALUES ('order', 'shop');
INSERT INTO schedules VALUES ('shop', 'nightly', '{"service":"shop","name":"nightly","definition":"d","times":"t","position":1767225601000,"isRemoved":false}');
INSERT INTO spilled_events VALUES (8, 1, 1, 1, 1767225601000, 1767225721000, NULL, 0, 'delayed', '{"requestId":"request","depth":0,"delayMs":120000,"replays":0,"trace":{"traceparent":"00-1-2-01"}}', '{}', 13, NULL, 'request', NULL, 2);
INSERT INTO waits VALUES (2, 'news', 1767225600000, '{"key":"news","event":{"type":"news","key":"k"}}');
