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

-- Index of the bucket that counts a duration, as `durationBucket` of durations.ts.
CREATE FUNCTION hub.bucket(ms float8) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN ms <= 0.001 THEN -34 ELSE ceil(ln(ms) / ln(1.1::float8 / 0.9::float8))::int END
$$;

-- Counts by name: r received, c completed, i filtered, f failed, x cancelled, t retried, u deduplicated, w waiting time and d duration
-- in `amounts` milliseconds, ~ another change.
CREATE FUNCTION hub.count_all(t bigint, queues int[], names text[], amounts float8[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(queues) = 0 THEN RETURN; END IF;
  INSERT INTO hub.counters AS k
  SELECT pg_backend_pid(), q, count(*) FILTER (WHERE n = 'r'), count(*) FILTER (WHERE n IN ('c', 'i')),
    count(*) FILTER (WHERE n IN ('f', 'x')), count(*) FILTER (WHERE n = 'x'), count(*) FILTER (WHERE n = 't'),
    count(*) FILTER (WHERE n = 'u'), count(*) FILTER (WHERE n = 'i'), count(*), max(t) FILTER (WHERE n = 'r'), max(t) FILTER (WHERE n = 'f')
  FROM unnest(queues, names) AS c(q, n) GROUP BY q ORDER BY q
  ON CONFLICT (queue, session) DO UPDATE SET
    received = k.received + excluded.received, completed = k.completed + excluded.completed,
    failed = k.failed + excluded.failed, cancelled = k.cancelled + excluded.cancelled,
    retried = k.retried + excluded.retried, deduplicated = k.deduplicated + excluded.deduplicated,
    filtered = k.filtered + excluded.filtered, changes = k.changes + excluded.changes,
    last_received_at = greatest(k.last_received_at, excluded.last_received_at),
    last_failed_at = greatest(k.last_failed_at, excluded.last_failed_at);
  IF names <@ '{~,u}' THEN RETURN; END IF;
  INSERT INTO hub.minutes AS m
  SELECT pg_backend_pid(), q.type, t / 60000, each.name::"char", each.bucket, count(*), max(each.ms)
  FROM unnest(queues, names, amounts) AS c(q, n, a) JOIN hub.queues q ON q.id = c.q, LATERAL (
    SELECT c.n, 0, NULL::float8 WHERE c.n IN ('r', 'c', 'f', 't')
    UNION ALL SELECT unnest('{f,x}'::text[]), 0, NULL WHERE c.n = 'x'
    UNION ALL SELECT 'c', 0, NULL WHERE c.n = 'i'
    UNION ALL SELECT c.n, hub.bucket(c.a), c.a WHERE c.n IN ('w', 'd')
  ) AS each(name, bucket, ms)
  GROUP BY 2, 4, 5 ORDER BY 2, 4, 5
  ON CONFLICT (type, minute, name, bucket, session) DO UPDATE
    SET count = m.count + excluded.count, longest = greatest(m.longest, excluded.longest);
END $$;

CREATE FUNCTION hub.changed(queue int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.count_all(0, ARRAY[queue], ARRAY['~'], ARRAY[0::float8]);
END $$;

-- Adds the counters of sessions that have ended to those of session 0.
CREATE FUNCTION hub.fold_counters() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH gone AS (
    DELETE FROM hub.counters k WHERE session <> 0
      AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = session) RETURNING *
  )
  INSERT INTO hub.counters AS k
  SELECT 0, queue, sum(received), sum(completed), sum(failed), sum(cancelled), sum(retried), sum(deduplicated),
    sum(filtered), sum(changes), max(last_received_at), max(last_failed_at) FROM gone GROUP BY queue ORDER BY queue
  ON CONFLICT (queue, session) DO UPDATE SET
    received = k.received + excluded.received, completed = k.completed + excluded.completed,
    failed = k.failed + excluded.failed, cancelled = k.cancelled + excluded.cancelled,
    retried = k.retried + excluded.retried, deduplicated = k.deduplicated + excluded.deduplicated,
    filtered = k.filtered + excluded.filtered, changes = k.changes + excluded.changes,
    last_received_at = greatest(k.last_received_at, excluded.last_received_at),
    last_failed_at = greatest(k.last_failed_at, excluded.last_failed_at);
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
