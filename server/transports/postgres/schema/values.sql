-- Schedules, the key-value store and logs.

CREATE FUNCTION hub.open_schedules(p_service text, p_member bigint, openings json) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel' || p_service, 2));
  IF EXISTS (SELECT FROM json_array_elements(openings) o LEFT JOIN hub.schedules s
      ON s.service = p_service AND s.name = o ->> 'name' WHERE s.revision IS DISTINCT FROM (o ->> 'revision')::bigint) THEN
    RETURN to_json(false);
  END IF;
  IF json_array_length(openings) = 0 THEN RETURN to_json(true); END IF;
  UPDATE hub.schedules SET is_removed = true, revision = nextval('hub.tokens') WHERE service = p_service;
  INSERT INTO hub.schedules (service, name, definition, times, position)
  SELECT p_service, o ->> 'name', o ->> 'definition', o ->> 'times', (o ->> 'position')::float8 FROM json_array_elements(openings) o
  ON CONFLICT (service, name) DO UPDATE SET definition = excluded.definition, times = excluded.times,
    position = excluded.position, is_removed = false, revision = nextval('hub.tokens');
  INSERT INTO hub.schedule_members SELECT p_service, o ->> 'name', p_member, o ->> 'definition' FROM json_array_elements(openings) o
  ON CONFLICT (service, name, member) DO UPDATE SET definition = excluded.definition;
  PERFORM hub.changed(0);
  RETURN to_json(true);
END $$;

CREATE FUNCTION hub.claim_schedule(p_service text, p_member bigint, p_name text, p_definition text, p_times text, due_at float8, events json)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  early float8 := due_at - hub.now_ms();
  known hub.schedules;
BEGIN
  IF early > 0 THEN RETURN json_build_object('status', 'early', 'earlyMs', early); END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel' || p_service, 2));
  SELECT * INTO known FROM hub.schedules WHERE service = p_service AND name = p_name;
  IF known.name IS NOT NULL AND known.definition <> p_definition AND EXISTS (
      SELECT FROM hub.schedule_members WHERE service = p_service AND name = p_name AND definition = known.definition) THEN
    RETURN json_build_object('status', 'replaced');
  END IF;
  IF due_at <= known.position THEN RETURN json_build_object('status', 'already', 'position', known.position); END IF;
  INSERT INTO hub.schedules (service, name, definition, times, position, last_due)
  VALUES (p_service, p_name, p_definition, p_times, due_at, due_at)
  ON CONFLICT (service, name) DO UPDATE SET definition = excluded.definition, times = excluded.times,
    position = excluded.position, last_due = excluded.last_due, revision = nextval('hub.tokens');
  IF known.name IS NULL AND p_member IS NOT NULL THEN
    INSERT INTO hub.schedule_members VALUES (p_service, p_name, p_member, p_definition) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM hub.accept(events, p_service);
  PERFORM hub.changed(0);
  RETURN json_build_object('status', 'claimed');
END $$;

CREATE FUNCTION hub.stored_json(s hub.stored_schedules) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT json_build_object('id', s.id, 'definition', s.definition, 'position', s.position, 'lastDue', s.last_due,
    'lookAt', s.look_at, 'body', s.body)
$$;

CREATE FUNCTION hub.count_stored(p_id text, by int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO hub.stored_counts AS c VALUES (hashtext(p_id) & 15, by)
  ON CONFLICT (shard) DO UPDATE SET count = c.count + excluded.count
$$;

CREATE FUNCTION hub.put_schedule(p_id text, expected text, max_count int, p_definition text, p_position float8, p_look_at float8, p_body text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE known hub.stored_schedules;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel' || p_id, 4));
  SELECT * INTO known FROM hub.stored_schedules WHERE id = p_id FOR UPDATE;
  IF known.definition IS DISTINCT FROM expected THEN RETURN to_json('changed'::text); END IF;
  IF known.id IS NULL THEN
    IF (SELECT sum(count) FROM hub.stored_counts) >= max_count THEN RETURN to_json('full'::text); END IF;
    PERFORM hub.count_stored(p_id, 1);
  END IF;
  INSERT INTO hub.stored_schedules (id, definition, position, look_at, take_at, body)
  VALUES (p_id, p_definition, p_position, p_look_at, p_look_at, p_body)
  ON CONFLICT (id) DO UPDATE SET definition = excluded.definition, position = greatest(stored_schedules.position, excluded.position),
    look_at = excluded.look_at, take_at = excluded.take_at, body = excluded.body;
  IF p_look_at < coalesce(known.take_at, 'infinity') THEN PERFORM hub.notify('s'); END IF;
  PERFORM hub.changed(0);
  RETURN to_json('stored'::text);
END $$;

CREATE FUNCTION hub.get_schedule(p_id text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(hub.stored_json(s)), '[]') FROM hub.stored_schedules s WHERE id = p_id
$$;

CREATE FUNCTION hub.page_schedules(p_after text, max_count int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('total', (SELECT coalesce(sum(count), 0) FROM hub.stored_counts), 'schedules', (
    SELECT coalesce(json_agg(hub.stored_json(s) ORDER BY id), '[]')
    FROM (SELECT * FROM hub.stored_schedules WHERE id > p_after ORDER BY id LIMIT max_count) s))
$$;

CREATE FUNCTION hub.remove_schedule(p_id text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM hub.stored_schedules WHERE id = p_id;
  IF NOT FOUND THEN RETURN to_json(false); END IF;
  PERFORM hub.count_stored(p_id, -1);
  PERFORM hub.changed(0);
  RETURN to_json(true);
END $$;

CREATE FUNCTION hub.take_schedules(max_count int, hold_ms float8) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  taken json;
  next_at float8;
BEGIN
  WITH due AS (
    SELECT id FROM hub.stored_schedules WHERE take_at <= hub.now_ms() ORDER BY take_at LIMIT max_count FOR UPDATE SKIP LOCKED
  ), held AS (
    UPDATE hub.stored_schedules s SET take_at = hub.now_ms() + hold_ms FROM due WHERE s.id = due.id RETURNING hub.stored_json(s) AS shown
  )
  SELECT coalesce(json_agg(shown), '[]') INTO taken FROM held;
  SELECT min(take_at) INTO next_at FROM hub.stored_schedules WHERE take_at IS NOT NULL;
  -- The greatest of 0 and null is 0.
  RETURN json_build_object('nextInMs', CASE WHEN next_at IS NOT NULL THEN greatest(0, next_at - hub.now_ms()) END, 'schedules', taken);
END $$;

CREATE FUNCTION hub.claim_stored(p_service text, p_id text, p_definition text, due_at float8, p_look_at float8, events json)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  early float8 := due_at - hub.now_ms();
  known hub.stored_schedules;
BEGIN
  IF early > 0 THEN RETURN json_build_object('status', 'early', 'earlyMs', early); END IF;
  SELECT * INTO known FROM hub.stored_schedules WHERE id = p_id FOR UPDATE;
  IF known.definition IS DISTINCT FROM p_definition THEN RETURN json_build_object('status', 'replaced'); END IF;
  IF due_at <= known.position THEN RETURN json_build_object('status', 'already', 'position', known.position); END IF;
  UPDATE hub.stored_schedules SET position = due_at, last_due = due_at, look_at = p_look_at, take_at = p_look_at WHERE id = p_id;
  IF p_look_at < coalesce(known.take_at, 'infinity') THEN PERFORM hub.notify('s'); END IF;
  PERFORM hub.accept(events, p_service);
  PERFORM hub.changed(0);
  RETURN json_build_object('status', 'claimed');
END $$;

-- Locks a key, and removes what has expired. Returns `none`, `value` or `list`.
CREATE FUNCTION hub.kv_lock(p_key bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found hub.key_values;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel' || encode(p_key, 'hex'), 3));
  SELECT * INTO found FROM hub.key_values WHERE key = p_key;
  IF found.key IS NULL THEN RETURN 'none'; END IF;
  IF found.expires_at <= hub.now_ms() THEN
    PERFORM hub.kv_remove(p_key);
    RETURN 'none';
  END IF;
  RETURN CASE WHEN found.value IS NULL THEN 'list' ELSE 'value' END;
END $$;

CREATE FUNCTION hub.kv_remove(p_key bytea) RETURNS void LANGUAGE sql AS $$
  DELETE FROM hub.list_values WHERE key = p_key;
  DELETE FROM hub.key_values WHERE key = p_key;
$$;

-- @param mode `any`, `absent`, or `expected`. Returns false if the key is not in that state, and null if it is a list.
CREATE FUNCTION hub.kv_set(p_key bytea, p_value bytea, ttl_ms float8, mode text, expected bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE kind text := hub.kv_lock(p_key);
BEGIN
  IF kind = 'list' AND mode = 'expected' THEN RETURN NULL; END IF;
  IF mode = 'absent' AND kind <> 'none' THEN RETURN false; END IF;
  IF mode = 'expected' AND (SELECT value FROM hub.key_values WHERE key = p_key) IS DISTINCT FROM expected THEN RETURN false; END IF;
  IF kind = 'list' THEN PERFORM hub.kv_remove(p_key); END IF;
  INSERT INTO hub.key_values (key, value, expires_at) VALUES (p_key, p_value, hub.now_ms() + ttl_ms)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at;
  RETURN true;
END $$;

CREATE FUNCTION hub.kv_delete(p_key bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE kind text := hub.kv_lock(p_key);
BEGIN
  PERFORM hub.kv_remove(p_key);
  RETURN kind <> 'none';
END $$;

-- Returns null if the key holds no whole number.
CREATE FUNCTION hub.kv_increment(p_key bytea, by numeric, ttl_ms float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  kind text := hub.kv_lock(p_key);
  found text := '0';
BEGIN
  IF kind = 'list' THEN RETURN NULL; END IF;
  IF kind = 'value' THEN SELECT encode(value, 'escape') INTO found FROM hub.key_values WHERE key = p_key; END IF;
  IF found !~ '^(0|-?[1-9][0-9]{0,17})$' THEN RETURN NULL; END IF;
  INSERT INTO hub.key_values (key, value, expires_at)
  VALUES (p_key, convert_to((found::numeric + by)::text, 'UTF8'), hub.now_ms() + ttl_ms)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at;
  RETURN (found::numeric + by)::text;
END $$;

-- Returns -1 if the list would be too long, and null if the key holds a value.
CREATE FUNCTION hub.kv_append(p_key bytea, p_values bytea[], keep_last float8, max_length int, ttl_ms float8) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  kind text := hub.kv_lock(p_key);
  known hub.key_values;
  new_length int;
BEGIN
  IF kind = 'value' THEN RETURN NULL; END IF;
  IF kind = 'none' AND cardinality(p_values) = 0 THEN RETURN 0; END IF;
  SELECT * INTO known FROM hub.key_values WHERE key = p_key;
  known.next := coalesce(known.next, 0) + cardinality(p_values);
  new_length := least(coalesce(known.length, 0) + cardinality(p_values), keep_last);
  IF new_length > max_length THEN RETURN -1; END IF;
  INSERT INTO hub.key_values (key, next, length, expires_at) VALUES (p_key, known.next, new_length, hub.now_ms() + ttl_ms)
  ON CONFLICT (key) DO UPDATE SET next = excluded.next, length = excluded.length, expires_at = excluded.expires_at;
  IF cardinality(p_values) > 0 THEN
    INSERT INTO hub.list_values VALUES (p_key, known.next - cardinality(p_values), p_values);
  END IF;
  DELETE FROM hub.list_values WHERE key = p_key AND number + cardinality(items) <= known.next - new_length;
  RETURN new_length;
END $$;

-- Live value of a key. `kind` is null if there is none.
CREATE FUNCTION hub.kv_read(p_key bytea, OUT kind text, OUT value bytea, OUT next bigint, OUT length int) LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN k.value IS NULL THEN 'list' ELSE 'value' END, k.value, k.next, k.length FROM hub.key_values k
  WHERE k.key = p_key AND coalesce(k.expires_at > hub.now_ms(), true)
$$;

-- A `v` and the value of a key, or `l` if it has a list.
CREATE FUNCTION hub.kv_get(p_key bytea) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT CASE kind WHEN 'list' THEN 'l'::bytea ELSE 'v'::bytea || value END FROM hub.kv_read(p_key)
$$;

-- Kind of a key, and the values of its list between two indexes; one row without a value if there are none.
CREATE FUNCTION hub.kv_range(p_key bytea, p_from float8, p_to float8) RETURNS TABLE (kind text, value bytea) LANGUAGE plpgsql STABLE AS $$
DECLARE
  known record;
  first bigint;
  last bigint;
BEGIN
  SELECT * INTO known FROM hub.kv_read(p_key);
  IF known.kind IS NULL THEN RETURN; END IF;
  RETURN QUERY SELECT known.kind::text, NULL::bytea;
  first := known.next - known.length + greatest(0, CASE WHEN p_from < 0 THEN known.length + p_from ELSE p_from END);
  last := least(known.next - 1, known.next - known.length + CASE WHEN p_to < 0 THEN known.length + p_to ELSE p_to END);
  IF known.kind <> 'list' OR first > last THEN RETURN; END IF;
  RETURN QUERY SELECT 'list', i.item
  FROM hub.list_values l, unnest(l.items[greatest(1, first - l.number + 1):last - l.number + 1]) WITH ORDINALITY i(item, n)
  WHERE l.key = p_key AND l.number <= last
    AND l.number >= (SELECT max(f.number) FROM hub.list_values f WHERE f.key = p_key AND f.number <= first)
  ORDER BY l.number, i.n;
END $$;

-- Names of the logs of an event or a run: live output, and texts that were sent to it.
CREATE FUNCTION hub.run_logs(p_service text, p_id text) RETURNS bytea[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY[
    convert_to(E'output\n' || p_service || E'\n' || p_id, 'UTF8'),
    convert_to(E'texts\n' || p_service || E'\n' || p_id, 'UTF8')
  ]
$$;

-- Number of a log in locks and notifications. Others may have the same one.
CREATE FUNCTION hub.log_number(p_log bytea) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended('hub_channel' || encode(p_log, 'hex'), 4)
$$;

CREATE FUNCTION hub.log_append(p_log bytea, texts bytea[], max_entries int, max_bytes bigint, max_age_ms float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  t bigint;
  last hub.log_entries;
  first bigint;
  ends bigint;
  expires float8;
  newest bigint;
  kept bigint;
  entry bytea;
  n bigint := hub.log_number(p_log);
BEGIN
  PERFORM pg_advisory_xact_lock(n);
  t := hub.now_ms();
  DELETE FROM hub.log_entries WHERE (log, sequence) IN (
    SELECT log, sequence FROM hub.log_entries WHERE expires_at <= t LIMIT 2 * cardinality(texts) FOR UPDATE SKIP LOCKED);
  SELECT * INTO last FROM hub.log_entries WHERE log = p_log AND expires_at > t ORDER BY sequence DESC LIMIT 1;
  IF last.log IS NULL THEN DELETE FROM hub.log_entries WHERE log = p_log; END IF;
  first := coalesce(last.sequence + 1, 0);
  ends := coalesce(last.start + length(last.text), 0);
  expires := greatest(t + max_age_ms, last.expires_at);
  newest := first - 1;
  FOREACH entry IN ARRAY texts LOOP
    newest := newest + 1;
    INSERT INTO hub.log_entries VALUES (p_log, newest, t, expires, ends, entry);
    ends := ends + length(entry);
  END LOOP;
  -- The first entries are dropped: the read ends at the first one that stays, however long the log is.
  SELECT e.sequence INTO kept FROM hub.log_entries e WHERE e.log = p_log AND e.start >= ends - max_bytes
    ORDER BY e.sequence LIMIT 1;
  DELETE FROM hub.log_entries e
    WHERE e.log = p_log AND e.sequence < least(newest, greatest(coalesce(kept, newest), newest - max_entries + 1));
  IF EXISTS (SELECT FROM hub.watchers WHERE seq = n AND kind = 'l') THEN PERFORM hub.notify('l' || n); END IF;
  RETURN first;
END $$;

-- Registers a connection for the appends to logs, for ten minutes: to those that commit later. Returns their numbers.
CREATE FUNCTION hub.watch_logs(logs bytea[], p_watcher text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  FOR n IN SELECT DISTINCT hub.log_number(log) AS number FROM unnest(logs) log ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(n);
    INSERT INTO hub.watchers VALUES (n, 'l', p_watcher, hub.now_ms() + 600000)
    ON CONFLICT (seq, kind, watcher) DO UPDATE SET until = excluded.until;
  END LOOP;
  RETURN (SELECT json_agg(hub.log_number(log)::text ORDER BY place) FROM unnest(logs) WITH ORDINALITY x(log, place));
END $$;

-- Ends the interest of a connection in logs; in all of them without `logs`.
CREATE FUNCTION hub.unwatch_logs(logs bytea[], p_watcher text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM hub.watchers WHERE kind = 'l' AND watcher = p_watcher
    AND (logs IS NULL OR seq IN (SELECT hub.log_number(log) FROM unnest(logs) log))
$$;

CREATE FUNCTION hub.log_delete(p_log bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE existed boolean := EXISTS (SELECT FROM hub.log_entries WHERE log = p_log AND expires_at > hub.now_ms());
BEGIN
  PERFORM pg_advisory_xact_lock(hub.log_number(p_log));
  DELETE FROM hub.log_entries WHERE log = p_log;
  RETURN existed;
END $$;

-- Removes what has expired and what nobody reads any more: a portion with each call.
CREATE FUNCTION hub.sweep(limits hub.limits) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  each int;
BEGIN
  -- One process at a time.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('hub_channel', 8)) THEN RETURN; END IF;
  DELETE FROM hub.list_values l USING hub.key_values k WHERE l.key = k.key AND k.expires_at <= t;
  DELETE FROM hub.key_values WHERE expires_at <= t;
  DELETE FROM hub.log_entries WHERE expires_at <= t;
  DELETE FROM hub.dedupe_ids WHERE until <= t AND pending <= 0;
  DELETE FROM hub.watchers WHERE until <= t;
  DELETE FROM hub.turns x WHERE scope <> '' AND NOT EXISTS (
    SELECT FROM hub.events e WHERE e.queue = x.queue AND coalesce('=' || e.key, '-') = x.scope
  ) AND NOT EXISTS (
    SELECT FROM hub.queues q WHERE q.id = x.queue
      AND x.starts[cardinality(x.starts)] > t - (q.settings -> 'perKey' -> 'rate' ->> 'perMs')::float8
  );
  PERFORM hub.await_turns(id) FROM hub.queues WHERE has_keys;
  FOR each IN
    SELECT id FROM hub.queues q WHERE (SELECT true FROM hub.ended WHERE queue = q.id AND is_dead AND dead_until <= t LIMIT 1)
    UNION SELECT id FROM hub.queues WHERE settings -> 'retain' ? 'ageMs'
    UNION SELECT q.id FROM hub.queues q WHERE EXISTS (
      SELECT FROM hub.ended WHERE queue = q.id AND is_recent AND status <> 'f' ORDER BY number DESC OFFSET 60 LIMIT 1
    )
  LOOP
    PERFORM hub.retain(each, limits, t, true);
  END LOOP;
  -- Claims wait for the locks of these rows, which are left over.
  DELETE FROM hub.waiting_keys w WHERE NOT EXISTS (SELECT FROM hub.events e WHERE e.queue = w.queue AND e.state = 'r');
END $$;

-- Plans of the calls about one event, or a few: made once per session, and by one index each, whatever the statistics of a
-- table say that was empty a moment ago.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY '{accept,admit,add_waits,cancel_event,checkpoint,claim,conclude,decide,end_run,erase,find_cancellable,
    find_events,fold_counts,heartbeat,keepers,leave,news_json,read_end,read_run,receive,recent_events,release_events,replay,take_ends,
    unfolded,unwatch_run,watch_run}'::text[] LOOP
    EXECUTE format('ALTER FUNCTION hub.%I SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
      SET enable_bitmapscan = off SET jit = off', name);
  END LOOP;
END $$;
