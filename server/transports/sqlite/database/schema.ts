/** `PRAGMA application_id` of the files: "Hubl". */
export const applicationId = 0x4875626c;

/**
 * Steps from each schema version to the next. A released step never changes. `PRAGMA user_version` is the number of
 * steps that a file has had.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE queues (
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
  ) STRICT, WITHOUT ROWID;`,
  // Ids are not used again, so that no caller reads the answer to another call.
  `CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL,
    method TEXT NOT NULL,
    arguments TEXT NOT NULL,
    deadline REAL NOT NULL,
    is_taken INTEGER NOT NULL DEFAULT 0,
    answer TEXT
  ) STRICT;
  CREATE TABLE hubs (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, description TEXT NOT NULL) STRICT;`,
  // Pending events that are not in memory. A turn is the place of an event among those that wait, or are due at once.
  `CREATE TABLE spilled_events (
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
  CREATE INDEX spilled_dedupe ON spilled_events (dedupe, queue, id) WHERE dedupe IS NOT NULL;`,
  // Pending events up to a position may have been running at the last crash. Their starts are stored from then on.
  `CREATE TABLE crash_suspects (
    position INTEGER PRIMARY KEY,
    crashes INTEGER NOT NULL,
    is_started INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE crash_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    is_running INTEGER NOT NULL,
    suspects_until INTEGER NOT NULL
  ) STRICT;
  INSERT INTO crash_state VALUES (1, 0, 0);`,
  // Logs: the start of an entry is the number of bytes before it. And the new name of a subscription's property.
  `CREATE TABLE log_entries (
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
  UPDATE queues SET subscription = replace(subscription, '"keepsRuns"', '"retainsRuns"');`,
  // Earlier versions stored plain keys, with a codec too.
  `INSERT INTO key_values (key, value) SELECT 'hubline:keys', 'plain'
  WHERE EXISTS (SELECT 1 FROM queues)
    OR EXISTS (SELECT 1 FROM events)
    OR EXISTS (SELECT 1 FROM key_values)
    OR EXISTS (SELECT 1 FROM log_entries);`,
  // Histories are packed texts, and a row has a minute until it is packed. A row of a longer period, of which no shorter
  // ones are left, becomes its first minute.
  `CREATE TABLE histories (
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
  WITH ends AS (
    SELECT type,
      min(period) FILTER (WHERE kind = 'minutes') AS minute,
      max(period) FILTER (WHERE kind = 'minutes') AS open,
      min(period) FILTER (WHERE kind = 'fiveMinutes') AS five,
      min(period) FILTER (WHERE kind = 'hours') AS hour
    FROM periods GROUP BY type
  ),
  -- Of the first longer period, the shorter ones before the first may have been evicted.
  firsts AS (
    SELECT type, open,
      (minute + iif(five < minute / 5, 4, 0)) / 5 AS first_five,
      (five + iif(hour < five / 12, 11, 0)) / 12 AS first_hour
    FROM ends
  )
  INSERT OR REPLACE INTO counted_minutes
  SELECT type, period * iif(kind = 'hours', 60, iif(kind = 'fiveMinutes', 5, 1)), counts
  FROM periods JOIN firsts USING (type)
  WHERE (kind = 'minutes' AND (period = open OR period >= max(first_five * 5, ifnull(first_hour, 0) * 60)))
    OR (kind = 'fiveMinutes' AND period >= first_hour * 12 AND (first_five IS NULL OR period < first_five))
    OR (kind = 'hours' AND (first_hour IS NULL OR period < first_hour));
  DROP TABLE periods;`,
  // The last starts under a rate, of a type or of one of its keys. And the schedules that were set at run time.
  `CREATE TABLE starts (
    queue INTEGER NOT NULL,
    key TEXT NOT NULL,
    starts TEXT NOT NULL,
    PRIMARY KEY (queue, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE stored_schedules (
    id TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    position REAL NOT NULL,
    last_due REAL,
    look_at REAL,
    body TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`,
];
