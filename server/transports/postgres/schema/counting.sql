-- Time, notifications and counters.

CREATE FUNCTION hub.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- Messages: `w` and queues with work, `c` and a run with a new entry or wait, `x` and an event that has ended, `l` and the
-- number of a log with a new entry, `i` for an inbox with events, `s` for a stored schedule that is due earlier, `p` and the
-- name of a listener that looks if they arrive.
CREATE FUNCTION hub.notify(message text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('hub_channel', message); END $$;

-- Tells that queues have work; null if there are none. A notification has at most 8,000 bytes.
CREATE FUNCTION hub.notify_work(queues int[], origin text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..coalesce(cardinality(queues), 0) BY 500 LOOP
    PERFORM hub.notify('w' || array_to_string(queues[i:i + 499], ',') || coalesce(' ' || origin, ''));
  END LOOP;
END $$;

-- Index of the bucket that counts a duration, as `durationBucket` of durations.ts. It takes any number: a fold must not fail.
CREATE FUNCTION hub.bucket(ms float8) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN ms <= 0.001 THEN -34 ELSE ceil(ln(least(ms, 1e15)) / ln(1.1::float8 / 0.9::float8))::int END
$$;

-- Counts by name: r received, c completed, i filtered, f failed, x cancelled, t retried, u deduplicated, w waiting time and d
-- duration in `amounts` milliseconds, e completed after a duration, ~ another change.
CREATE FUNCTION hub.count_all(t bigint, queues int[], names text[], amounts float8[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(queues) = 0 THEN RETURN; END IF;
  INSERT INTO hub.counted (at, queues, names, amounts) VALUES (t, queues, names::"char"[], amounts);
  -- Once per 1,000 counts, on average: what is left to add stays small, and so does the time of the call that adds it.
  IF random() * 1000 < cardinality(queues) THEN PERFORM hub.fold_counts(); END IF;
END $$;

CREATE FUNCTION hub.changed(queue int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.count_all(0, ARRAY[queue], ARRAY['~'], ARRAY[0::float8]);
END $$;

-- Counts that are not yet added to counters and minutes, with their places in the table.
CREATE FUNCTION hub.unfolded() RETURNS TABLE (place tid, counts hub.counted) LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE f hub.folded := (SELECT x FROM hub.folded x);
BEGIN
  -- Nothing was added yet, or the numbers of transactions are those of another server, from which the tables were copied.
  IF f.next IS NULL OR f.next > pg_snapshot_xmax(pg_current_snapshot()) THEN f := (1, '0'::xid8, '{}'::xid8[]); END IF;
  RETURN QUERY SELECT c.ctid, c FROM hub.counted c WHERE c.xid >= f.next;
  RETURN QUERY SELECT c.ctid, c FROM hub.counted c WHERE c.xid = ANY(f.open) AND c.xid < f.next;
END $$;

CREATE VIEW hub.unfolded_counters AS
SELECT queue, count(*) FILTER (WHERE name = 'r') AS received, count(*) FILTER (WHERE name IN ('c', 'e', 'i')) AS completed,
  count(*) FILTER (WHERE name IN ('f', 'x')) AS failed, count(*) FILTER (WHERE name = 'x') AS cancelled,
  count(*) FILTER (WHERE name = 't') AS retried, count(*) FILTER (WHERE name = 'u') AS deduplicated,
  count(*) FILTER (WHERE name = 'i') AS filtered, count(*) AS changes,
  max((u.counts).at) FILTER (WHERE name = 'r') AS last_received_at, max((u.counts).at) FILTER (WHERE name = 'f') AS last_failed_at
FROM hub.unfolded() u, unnest((u.counts).queues, (u.counts).names) AS c(queue, name) GROUP BY queue;

CREATE VIEW hub.unfolded_minutes AS
SELECT type, minute, each.name::"char" AS name, CASE WHEN each.name IN ('w', 'd') THEN bucket ELSE 0 END AS bucket,
  sum(count)::bigint AS count, max(longest) FILTER (WHERE each.name IN ('w', 'd')) AS longest
FROM (
  SELECT queue, (u.counts).at / 60000 AS minute, name, CASE WHEN name IN ('w', 'd', 'e') THEN hub.bucket(amount) END AS bucket,
    count(*) AS count, max(amount) AS longest
  FROM hub.unfolded() u, unnest((u.counts).queues, (u.counts).names, (u.counts).amounts) AS c(queue, name, amount)
  WHERE name NOT IN ('~', 'u') GROUP BY 1, 2, 3, 4
) c, LATERAL (SELECT type FROM hub.queues WHERE id = c.queue OFFSET 0) q,
  unnest(CASE c.name WHEN 'e' THEN '{c,d}' WHEN 'x' THEN '{f,x}' WHEN 'i' THEN '{c}' ELSE ARRAY[c.name::text] END) AS each(name)
GROUP BY 1, 2, 3, 4;

-- Counters and minutes as of now: a queue, or a minute of a type, may have several rows.
CREATE VIEW hub.all_counters AS SELECT * FROM hub.counters UNION ALL SELECT * FROM hub.unfolded_counters;
CREATE VIEW hub.all_minutes AS SELECT * FROM hub.minutes UNION ALL SELECT * FROM hub.unfolded_minutes;

-- Adds what was counted, in one snapshot, and drops the ended events that exceed the retention. One transaction at a time; one
-- that must be serializable leaves it to others, with which it would conflict.
CREATE FUNCTION hub.fold_counts() RETURNS void LANGUAGE plpgsql AS $$
DECLARE each record;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed'
    OR NOT pg_try_advisory_xact_lock(hashtextextended('hub_channel', 9)) THEN RETURN; END IF;
  FOR each IN
    WITH counters AS (
      INSERT INTO hub.counters AS k SELECT * FROM hub.unfolded_counters ORDER BY queue
      ON CONFLICT (queue) DO UPDATE SET
        received = k.received + excluded.received, completed = k.completed + excluded.completed,
        failed = k.failed + excluded.failed, cancelled = k.cancelled + excluded.cancelled,
        retried = k.retried + excluded.retried, deduplicated = k.deduplicated + excluded.deduplicated,
        filtered = k.filtered + excluded.filtered, changes = k.changes + excluded.changes,
        last_received_at = greatest(k.last_received_at, excluded.last_received_at),
        last_failed_at = greatest(k.last_failed_at, excluded.last_failed_at)
    ), minutes AS (
      INSERT INTO hub.minutes AS m SELECT * FROM hub.unfolded_minutes ORDER BY 1, 2, 3, 4
      ON CONFLICT (type, minute, name, bucket) DO UPDATE
        SET count = m.count + excluded.count, longest = greatest(m.longest, excluded.longest)
    ), added AS (
      DELETE FROM hub.counted WHERE ctid = ANY(ARRAY(SELECT place FROM hub.unfolded())) RETURNING queues, names
    ), position AS (
      -- What this transaction counts from now on is not added.
      INSERT INTO hub.folded VALUES (1, pg_snapshot_xmax(pg_current_snapshot()),
        ARRAY(SELECT pg_snapshot_xip(pg_current_snapshot()) UNION SELECT pg_current_xact_id()))
      ON CONFLICT (id) DO UPDATE SET next = excluded.next, open = excluded.open
    )
    SELECT queue, count(*) AS completed FROM added, unnest(queues, names) AS c(queue, name) WHERE name = 'e' GROUP BY queue
  LOOP
    PERFORM hub.trim_recent(each.queue, each.completed);
  END LOOP;
END $$;

-- The queue of a type of a service, which is created if it does not exist.
CREATE FUNCTION hub.queue_of(p_service text, p_type text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE found int;
BEGIN
  LOOP
    SELECT id INTO found FROM hub.queues WHERE type = p_type AND service = p_service;
    IF found IS NOT NULL THEN RETURN found; END IF;
    INSERT INTO hub.queues (service, type) VALUES (p_service, p_type) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;

-- The first attempt and the latest ones.
CREATE FUNCTION hub.keep_attempt(attempts text[], attempt text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN cardinality(attempts) >= 10 THEN attempts[1:1] || attempts[3:] ELSE attempts END || attempt
$$;

-- SHA-1 as hexadecimal digits, which Postgres lacks.
CREATE FUNCTION hub.sha1(data bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  mask CONSTANT bigint := 4294967295;
  h0 bigint := 1732584193; h1 bigint := 4023233417; h2 bigint := 2562383102; h3 bigint := 271733878; h4 bigint := 3285377520;
  a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; k bigint; x bigint;
  w bigint[];
  size int := length(data);
  m bytea := data || '\x80'::bytea || decode(repeat('00', (119 - size % 64) % 64), 'hex') || int8send(size::bigint * 8);
BEGIN
  FOR block IN 0 .. length(m) / 64 - 1 LOOP
    w := '{}';
    FOR i IN 0 .. 15 LOOP
      x := 0;
      FOR j IN 0 .. 3 LOOP x := (x << 8) | get_byte(m, block * 64 + i * 4 + j); END LOOP;
      w := w || x;
    END LOOP;
    FOR i IN 17 .. 80 LOOP
      x := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w := w || (((x << 1) | (x >> 31)) & mask);
    END LOOP;
    a := h0; b := h1; c := h2; d := h3; e := h4;
    FOR i IN 1 .. 80 LOOP
      IF i <= 20 THEN f := (b & c) | ((~b & mask) & d); k := 1518500249;
      ELSIF i <= 40 THEN f := b # c # d; k := 1859775393;
      ELSIF i <= 60 THEN f := (b & c) | (b & d) | (c & d); k := 2400959708;
      ELSE f := b # c # d; k := 3395469782;
      END IF;
      x := ((((a << 5) | (a >> 27)) & mask) + f + e + k + w[i]) & mask;
      e := d; d := c; c := ((b << 30) | (b >> 2)) & mask; b := a; a := x;
    END LOOP;
    h0 := (h0 + a) & mask; h1 := (h1 + b) & mask; h2 := (h2 + c) & mask; h3 := (h3 + d) & mask; h4 := (h4 + e) & mask;
  END LOOP;
  RETURN lpad(to_hex(h0), 8, '0') || lpad(to_hex(h1), 8, '0') || lpad(to_hex(h2), 8, '0') || lpad(to_hex(h3), 8, '0')
    || lpad(to_hex(h4), 8, '0');
END $$;

-- As `triggeredId` of derived-ids.ts.
CREATE FUNCTION hub.triggered_id(service text, cause_id text, type text, event_type text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE hex text := hub.sha1(convert_to(service || '/' || cause_id || '/trigger:' || type || U&'\001F' || event_type, 'UTF8'));
BEGIN
  RETURN concat_ws('-', substr(hex, 1, 8), substr(hex, 9, 4), substr(hex, 13, 4), substr(hex, 17, 4), substr(hex, 21, 12));
END $$;
