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
CREATE TABLE histories (
    type TEXT NOT NULL,
    part TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (type, part)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE counted_minutes (
    type TEXT NOT NULL,
    minute INTEGER NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (type, minute)
  ) STRICT, WITHOUT ROWID;
PRAGMA application_id = 1215652460;
PRAGMA user_version = 7;
INSERT INTO checkpoints VALUES (2, 1, 'pick', '{"output":1}');
INSERT INTO checkpoints VALUES (2, 2, 'kid', '{"by":"run","id":"kid","status":"completed","result":"grown","since":1767225600000,"at":1767225600000}');
INSERT INTO checkpoints VALUES (2, 3, 'timer', '{"by":"time","since":1767225600000,"at":1767225660000}');
INSERT INTO counted_minutes VALUES ('', 29453760, '{"counts":[12,3,2,0,1],"wait":[4,8,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1],"duration":[0,6]}');
INSERT INTO counted_minutes VALUES ('', 29453761, '{"counts":[0,0,0,0,0],"wait":[56,1],"duration":[0]}');
INSERT INTO counted_minutes VALUES ('calm', 29453760, '{"counts":[1,0,0,0,0],"wait":[43,1],"duration":[0]}');
INSERT INTO counted_minutes VALUES ('child', 29453760, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[0,1]}');
INSERT INTO counted_minutes VALUES ('flow', 29453760, '{"counts":[4,1,1,0,0],"wait":[-34,3],"duration":[0,2]}');
INSERT INTO counted_minutes VALUES ('keyed', 29453760, '{"counts":[2,0,0,0,0],"wait":[-34,1],"duration":[0]}');
INSERT INTO counted_minutes VALUES ('keyed', 29453761, '{"counts":[0,0,0,0,0],"wait":[56,1],"duration":[0]}');
INSERT INTO counted_minutes VALUES ('metered', 29450700, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[-27,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2],"longestMs":[0,10]}');
INSERT INTO counted_minutes VALUES ('metered', 29450760, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[15,3,0,1],"longestMs":[0,30]}');
INSERT INTO counted_minutes VALUES ('metered', 29450845, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[19,2],"longestMs":[0,40]}');
INSERT INTO counted_minutes VALUES ('metered', 29450885, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[20,3],"longestMs":[0,50]}');
INSERT INTO counted_minutes VALUES ('metered', 29450920, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[21,1],"longestMs":[0,60]}');
INSERT INTO counted_minutes VALUES ('metered', 29450960, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[22,2],"longestMs":[0,70]}');
INSERT INTO counted_minutes VALUES ('metered', 29450995, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[22,3],"longestMs":[0,80]}');
INSERT INTO counted_minutes VALUES ('metered', 29451030, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[23,1],"longestMs":[0,90]}');
INSERT INTO counted_minutes VALUES ('metered', 29451070, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[23,2],"longestMs":[0,100]}');
INSERT INTO counted_minutes VALUES ('metered', 29451105, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[24,3],"longestMs":[0,110]}');
INSERT INTO counted_minutes VALUES ('metered', 29451145, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[24,1],"longestMs":[0,120]}');
INSERT INTO counted_minutes VALUES ('metered', 29451180, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[25,2],"longestMs":[0,130]}');
INSERT INTO counted_minutes VALUES ('metered', 29451215, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[25,3],"longestMs":[0,140]}');
INSERT INTO counted_minutes VALUES ('metered', 29451255, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[25,1],"longestMs":[0,150]}');
INSERT INTO counted_minutes VALUES ('metered', 29451290, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[26,2],"longestMs":[0,160]}');
INSERT INTO counted_minutes VALUES ('metered', 29451330, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[26,3],"longestMs":[0,170]}');
INSERT INTO counted_minutes VALUES ('metered', 29451365, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[26,1],"longestMs":[0,180]}');
INSERT INTO counted_minutes VALUES ('metered', 29451400, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[27,2],"longestMs":[0,190]}');
INSERT INTO counted_minutes VALUES ('metered', 29451440, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[27,3],"longestMs":[0,200]}');
INSERT INTO counted_minutes VALUES ('metered', 29451475, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[27,1],"longestMs":[0,210]}');
INSERT INTO counted_minutes VALUES ('metered', 29451515, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[27,2],"longestMs":[0,220]}');
INSERT INTO counted_minutes VALUES ('metered', 29451550, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[28,3],"longestMs":[0,230]}');
INSERT INTO counted_minutes VALUES ('metered', 29451585, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[28,1],"longestMs":[0,240]}');
INSERT INTO counted_minutes VALUES ('metered', 29451625, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[28,2],"longestMs":[0,250]}');
INSERT INTO counted_minutes VALUES ('metered', 29451660, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[28,3],"longestMs":[0,260]}');
INSERT INTO counted_minutes VALUES ('metered', 29451700, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[28,1],"longestMs":[0,270]}');
INSERT INTO counted_minutes VALUES ('metered', 29451735, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[29,2],"longestMs":[0,280]}');
INSERT INTO counted_minutes VALUES ('metered', 29451770, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[29,3],"longestMs":[0,290]}');
INSERT INTO counted_minutes VALUES ('metered', 29451810, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[29,1],"longestMs":[0,300]}');
INSERT INTO counted_minutes VALUES ('metered', 29451845, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[29,2],"longestMs":[0,310]}');
INSERT INTO counted_minutes VALUES ('metered', 29451885, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[29,3],"longestMs":[0,320]}');
INSERT INTO counted_minutes VALUES ('metered', 29451920, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[29,1],"longestMs":[0,330]}');
INSERT INTO counted_minutes VALUES ('metered', 29451955, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[30,2],"longestMs":[0,340]}');
INSERT INTO counted_minutes VALUES ('metered', 29451995, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,350]}');
INSERT INTO counted_minutes VALUES ('metered', 29452030, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[30,1],"longestMs":[0,360]}');
INSERT INTO counted_minutes VALUES ('metered', 29452070, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[30,2],"longestMs":[0,370]}');
INSERT INTO counted_minutes VALUES ('metered', 29452105, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,380]}');
INSERT INTO counted_minutes VALUES ('metered', 29452140, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[30,1],"longestMs":[0,390]}');
INSERT INTO counted_minutes VALUES ('metered', 29452180, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[30,2],"longestMs":[0,400]}');
INSERT INTO counted_minutes VALUES ('metered', 29452215, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,410]}');
INSERT INTO counted_minutes VALUES ('metered', 29452255, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[31,1],"longestMs":[0,420]}');
INSERT INTO counted_minutes VALUES ('metered', 29452290, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,430]}');
INSERT INTO counted_minutes VALUES ('metered', 29452325, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[31,3],"longestMs":[0,440]}');
INSERT INTO counted_minutes VALUES ('metered', 29452365, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[31,1],"longestMs":[0,450]}');
INSERT INTO counted_minutes VALUES ('metered', 29452400, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,460]}');
INSERT INTO counted_minutes VALUES ('metered', 29452440, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[31,3],"longestMs":[0,470]}');
INSERT INTO counted_minutes VALUES ('metered', 29452475, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[31,1],"longestMs":[0,480]}');
INSERT INTO counted_minutes VALUES ('metered', 29452510, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,490]}');
INSERT INTO counted_minutes VALUES ('metered', 29452550, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[31,3],"longestMs":[0,500]}');
INSERT INTO counted_minutes VALUES ('metered', 29452585, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,510]}');
INSERT INTO counted_minutes VALUES ('metered', 29452625, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,520]}');
INSERT INTO counted_minutes VALUES ('metered', 29452660, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,530]}');
INSERT INTO counted_minutes VALUES ('metered', 29452695, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,540]}');
INSERT INTO counted_minutes VALUES ('metered', 29452735, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,550]}');
INSERT INTO counted_minutes VALUES ('metered', 29452770, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,560]}');
INSERT INTO counted_minutes VALUES ('metered', 29452810, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,570]}');
INSERT INTO counted_minutes VALUES ('metered', 29452845, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,580]}');
INSERT INTO counted_minutes VALUES ('metered', 29452880, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,590]}');
INSERT INTO counted_minutes VALUES ('metered', 29452920, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,600]}');
INSERT INTO counted_minutes VALUES ('metered', 29452955, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,610]}');
INSERT INTO counted_minutes VALUES ('metered', 29452995, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,620]}');
INSERT INTO counted_minutes VALUES ('metered', 29453030, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,630]}');
INSERT INTO counted_minutes VALUES ('metered', 29453065, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,640]}');
INSERT INTO counted_minutes VALUES ('metered', 29453105, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,650]}');
INSERT INTO counted_minutes VALUES ('metered', 29453140, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,660]}');
INSERT INTO counted_minutes VALUES ('metered', 29453180, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,670]}');
INSERT INTO counted_minutes VALUES ('metered', 29453215, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,680]}');
INSERT INTO counted_minutes VALUES ('metered', 29453250, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,690]}');
INSERT INTO counted_minutes VALUES ('metered', 29453290, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,700]}');
INSERT INTO counted_minutes VALUES ('metered', 29453325, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,710]}');
INSERT INTO counted_minutes VALUES ('metered', 29453365, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,720]}');
INSERT INTO counted_minutes VALUES ('metered', 29453400, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,730]}');
INSERT INTO counted_minutes VALUES ('metered', 29453435, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,740]}');
INSERT INTO counted_minutes VALUES ('metered', 29453475, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,750]}');
INSERT INTO counted_minutes VALUES ('metered', 29453510, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,760]}');
INSERT INTO counted_minutes VALUES ('metered', 29453550, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,770]}');
INSERT INTO counted_minutes VALUES ('metered', 29453585, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[34,1],"longestMs":[0,780]}');
INSERT INTO counted_minutes VALUES ('metered', 29453620, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,790]}');
INSERT INTO counted_minutes VALUES ('metered', 29453660, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,800]}');
INSERT INTO counted_minutes VALUES ('metered', 29453698, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[34,1],"longestMs":[0,810]}');
INSERT INTO counted_minutes VALUES ('metered', 29453735, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,820]}');
INSERT INTO counted_minutes VALUES ('metered', 29453761, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,830]}');
INSERT INTO counted_minutes VALUES ('order', 29453760, '{"counts":[4,1,1,0,1],"wait":[-34,3],"duration":[0,3]}');
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
INSERT INTO key_values VALUES ('hubline:keys', 'plain', NULL, NULL, NULL);
INSERT INTO key_values VALUES ('k', 'v', NULL, NULL, NULL);
INSERT INTO key_values VALUES ('expiring', 'e', NULL, NULL, 1767226201000);
INSERT INTO key_values VALUES ('list', NULL, 0, 3, NULL);
INSERT INTO key_values VALUES ('n', '5', NULL, NULL, NULL);
INSERT INTO list_values VALUES ('list', 0, 'a');
INSERT INTO list_values VALUES ('list', 1, 'b');
INSERT INTO list_values VALUES ('list', 2, 'c');
INSERT INTO log_entries VALUES ('audit', 0, 1767225671000, 1767229271000, 0, 3, 'one');
INSERT INTO log_entries VALUES ('audit', 1, 1767225671000, 1767229271000, 3, 3, 'two');
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
