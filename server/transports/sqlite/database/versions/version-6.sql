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
PRAGMA user_version = 6;
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
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890155, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[15,3],"longestMs":[0,20]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890162, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[17,1],"longestMs":[0,30]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890169, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[19,2],"longestMs":[0,40]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890177, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[20,3],"longestMs":[0,50]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890184, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[21,1],"longestMs":[0,60]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890192, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[22,2],"longestMs":[0,70]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890199, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[22,3],"longestMs":[0,80]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890206, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[23,1],"longestMs":[0,90]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890214, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[23,2],"longestMs":[0,100]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890221, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[24,3],"longestMs":[0,110]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890229, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[24,1],"longestMs":[0,120]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890236, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[25,2],"longestMs":[0,130]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890243, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[25,3],"longestMs":[0,140]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890251, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[25,1],"longestMs":[0,150]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890258, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[26,2],"longestMs":[0,160]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890266, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[26,3],"longestMs":[0,170]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890273, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[26,1],"longestMs":[0,180]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890280, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[27,2],"longestMs":[0,190]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890288, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[27,3],"longestMs":[0,200]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890295, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[27,1],"longestMs":[0,210]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890303, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[27,2],"longestMs":[0,220]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890310, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[28,3],"longestMs":[0,230]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890317, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[28,1],"longestMs":[0,240]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890325, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[28,2],"longestMs":[0,250]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890332, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[28,3],"longestMs":[0,260]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890340, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[28,1],"longestMs":[0,270]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890347, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[29,2],"longestMs":[0,280]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890354, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[29,3],"longestMs":[0,290]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890362, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[29,1],"longestMs":[0,300]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890369, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[29,2],"longestMs":[0,310]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890377, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[29,3],"longestMs":[0,320]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890384, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[29,1],"longestMs":[0,330]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890391, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[30,2],"longestMs":[0,340]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890399, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,350]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890406, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[30,1],"longestMs":[0,360]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890414, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[30,2],"longestMs":[0,370]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890421, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,380]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890428, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[30,1],"longestMs":[0,390]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890436, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[30,2],"longestMs":[0,400]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890443, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,410]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890451, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[31,1],"longestMs":[0,420]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890458, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,430]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890465, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[31,3],"longestMs":[0,440]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890473, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[31,1],"longestMs":[0,450]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890480, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,460]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890488, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[31,3],"longestMs":[0,470]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890495, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[31,1],"longestMs":[0,480]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890502, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,490]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890510, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[31,3],"longestMs":[0,500]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890517, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,510]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890525, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,520]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890532, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,530]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890539, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,540]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890547, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,550]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890554, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,560]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890562, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,570]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890569, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,580]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890576, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,590]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890584, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,600]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890591, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[32,2],"longestMs":[0,610]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890599, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,620]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890606, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,630]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890613, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,640]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890621, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,650]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890628, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,660]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890636, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,670]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890643, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,680]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890650, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,690]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890658, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,700]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890665, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,710]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890673, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,720]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890680, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,730]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890687, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,3],"longestMs":[0,740]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890695, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,750]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890702, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,760]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890710, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,770]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890717, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[34,1],"longestMs":[0,780]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890724, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,790]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890732, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,800]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890739, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[34,1],"longestMs":[0,810]}');
INSERT INTO periods VALUES ('metered', 'fiveMinutes', 5890747, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,820]}');
INSERT INTO periods VALUES ('metered', 'hours', 490845, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[-27,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2],"longestMs":[0,10]}');
INSERT INTO periods VALUES ('metered', 'hours', 490846, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[15,3,0,1],"longestMs":[0,30]}');
INSERT INTO periods VALUES ('metered', 'hours', 490847, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[19,2],"longestMs":[0,40]}');
INSERT INTO periods VALUES ('metered', 'hours', 490848, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[20,3,1],"longestMs":[0,60]}');
INSERT INTO periods VALUES ('metered', 'hours', 490849, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[22,5],"longestMs":[0,80]}');
INSERT INTO periods VALUES ('metered', 'hours', 490850, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[23,1],"longestMs":[0,90]}');
INSERT INTO periods VALUES ('metered', 'hours', 490851, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[23,2,3],"longestMs":[0,110]}');
INSERT INTO periods VALUES ('metered', 'hours', 490852, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[24,1],"longestMs":[0,120]}');
INSERT INTO periods VALUES ('metered', 'hours', 490853, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[25,5],"longestMs":[0,140]}');
INSERT INTO periods VALUES ('metered', 'hours', 490854, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[25,1,2],"longestMs":[0,160]}');
INSERT INTO periods VALUES ('metered', 'hours', 490855, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[26,3],"longestMs":[0,170]}');
INSERT INTO periods VALUES ('metered', 'hours', 490856, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[26,1,2],"longestMs":[0,190]}');
INSERT INTO periods VALUES ('metered', 'hours', 490857, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[27,4],"longestMs":[0,210]}');
INSERT INTO periods VALUES ('metered', 'hours', 490858, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[27,2],"longestMs":[0,220]}');
INSERT INTO periods VALUES ('metered', 'hours', 490859, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[28,4],"longestMs":[0,240]}');
INSERT INTO periods VALUES ('metered', 'hours', 490860, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[28,2],"longestMs":[0,250]}');
INSERT INTO periods VALUES ('metered', 'hours', 490861, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[28,4],"longestMs":[0,270]}');
INSERT INTO periods VALUES ('metered', 'hours', 490862, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[29,5],"longestMs":[0,290]}');
INSERT INTO periods VALUES ('metered', 'hours', 490863, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[29,1],"longestMs":[0,300]}');
INSERT INTO periods VALUES ('metered', 'hours', 490864, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[29,5],"longestMs":[0,320]}');
INSERT INTO periods VALUES ('metered', 'hours', 490865, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[29,1,2],"longestMs":[0,340]}');
INSERT INTO periods VALUES ('metered', 'hours', 490866, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,350]}');
INSERT INTO periods VALUES ('metered', 'hours', 490867, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,370]}');
INSERT INTO periods VALUES ('metered', 'hours', 490868, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,380]}');
INSERT INTO periods VALUES ('metered', 'hours', 490869, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[30,3],"longestMs":[0,400]}');
INSERT INTO periods VALUES ('metered', 'hours', 490870, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[30,3,1],"longestMs":[0,420]}');
INSERT INTO periods VALUES ('metered', 'hours', 490871, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,430]}');
INSERT INTO periods VALUES ('metered', 'hours', 490872, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[31,4],"longestMs":[0,450]}');
INSERT INTO periods VALUES ('metered', 'hours', 490873, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[31,2],"longestMs":[0,460]}');
INSERT INTO periods VALUES ('metered', 'hours', 490874, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[31,4],"longestMs":[0,480]}');
INSERT INTO periods VALUES ('metered', 'hours', 490875, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[31,5],"longestMs":[0,500]}');
INSERT INTO periods VALUES ('metered', 'hours', 490876, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[32,1],"longestMs":[0,510]}');
INSERT INTO periods VALUES ('metered', 'hours', 490877, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[32,5],"longestMs":[0,530]}');
INSERT INTO periods VALUES ('metered', 'hours', 490878, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,550]}');
INSERT INTO periods VALUES ('metered', 'hours', 490879, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,560]}');
INSERT INTO periods VALUES ('metered', 'hours', 490880, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,580]}');
INSERT INTO periods VALUES ('metered', 'hours', 490881, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,590]}');
INSERT INTO periods VALUES ('metered', 'hours', 490882, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[32,3],"longestMs":[0,610]}');
INSERT INTO periods VALUES ('metered', 'hours', 490883, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[33,4],"longestMs":[0,630]}');
INSERT INTO periods VALUES ('metered', 'hours', 490884, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[33,2],"longestMs":[0,640]}');
INSERT INTO periods VALUES ('metered', 'hours', 490885, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[33,4],"longestMs":[0,660]}');
INSERT INTO periods VALUES ('metered', 'hours', 490886, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[33,5],"longestMs":[0,680]}');
INSERT INTO periods VALUES ('metered', 'hours', 490887, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,690]}');
INSERT INTO periods VALUES ('metered', 'hours', 490888, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[33,5],"longestMs":[0,710]}');
INSERT INTO periods VALUES ('metered', 'hours', 490889, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[33,1],"longestMs":[0,720]}');
INSERT INTO periods VALUES ('metered', 'hours', 490890, '{"counts":[5,5,0,0,0],"wait":[-34,5],"duration":[33,5],"longestMs":[0,740]}');
INSERT INTO periods VALUES ('metered', 'hours', 490891, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[33,1,2],"longestMs":[0,760]}');
INSERT INTO periods VALUES ('metered', 'hours', 490892, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,770]}');
INSERT INTO periods VALUES ('metered', 'hours', 490893, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,790]}');
INSERT INTO periods VALUES ('metered', 'hours', 490894, '{"counts":[4,4,0,0,0],"wait":[-34,4],"duration":[34,4],"longestMs":[0,810]}');
INSERT INTO periods VALUES ('metered', 'hours', 490895, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,820]}');
INSERT INTO periods VALUES ('metered', 'minutes', 29453661, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,800]}');
INSERT INTO periods VALUES ('metered', 'minutes', 29453698, '{"counts":[1,1,0,0,0],"wait":[-34,1],"duration":[34,1],"longestMs":[0,810]}');
INSERT INTO periods VALUES ('metered', 'minutes', 29453735, '{"counts":[2,2,0,0,0],"wait":[-34,2],"duration":[34,2],"longestMs":[0,820]}');
INSERT INTO periods VALUES ('metered', 'minutes', 29453761, '{"counts":[3,3,0,0,0],"wait":[-34,3],"duration":[34,3],"longestMs":[0,830]}');
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
