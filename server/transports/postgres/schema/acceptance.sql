-- Acceptance of events, and what runs record.

CREATE TYPE hub.envelope AS (
  id text, type text, "requestId" text, depth int, "delayMs" float8, priority float8, replays int, "dedupeId" text,
  "windowMs" float8, trace json, key text, "causeId" text, service text, receives json, parent json, body text, overlap text, "cancelOn" json,
  replaces json, recorded json
);

-- Name under which keys of events with an overlap are remembered. No type is like it.
CREATE FUNCTION hub.overlaps(type text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT U&'overlap\001F' || type $$;

-- Remembers an id until `until`. Returns the event that has it already.
CREATE FUNCTION hub.remember(p_type text, p_id text, p_event text, p_until float8, t bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE is_new boolean;
BEGIN
  INSERT INTO hub.dedupe_ids AS d VALUES (p_type, p_id, p_event, p_until, 0)
  ON CONFLICT (type, id) DO UPDATE SET event = excluded.event, until = excluded.until WHERE d.until <= t AND d.pending <= 0
  RETURNING true INTO is_new;
  IF is_new THEN RETURN NULL; END IF;
  RETURN (SELECT event FROM hub.dedupe_ids WHERE type = p_type AND id = p_id);
END $$;

-- Ends the memory of an id for an event that nobody received.
CREATE FUNCTION hub.forget(e hub.envelope) RETURNS void LANGUAGE sql AS $$
  DELETE FROM hub.dedupe_ids WHERE event = e.id AND pending <= 0
    AND ((type = e.type AND id = e."dedupeId") OR (type = hub.overlaps(e.type) AND id = e.key AND e.overlap IS NOT NULL))
$$;


-- The event that an event triggers.
CREATE FUNCTION hub.triggered(e hub.envelope, p_service text, p_type text) RETURNS hub.envelope LANGUAGE sql AS $$
  SELECT ROW(hub.triggered_id(p_service, e.id, p_type, e.type), p_type, e."requestId", e.depth + 1, e."delayMs", e.priority,
    e.replays, NULL, NULL, e.trace, e.key, e.id, NULL, NULL, NULL, e.body, NULL, NULL, NULL, NULL)::hub.envelope
$$;

-- Stores an event for a queue. Returns the id of the event in whose debounce window it was placed.
CREATE FUNCTION hub.insert_event(e hub.envelope, p_queue int, settings jsonb, t bigint, p_position bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  waiting hub.events;
  opened bigint := t;
  due bigint := CASE WHEN e."delayMs" > 0 THEN t + ceil(e."delayMs") END;
  is_debounced boolean := settings ? 'debounce' AND e.recorded IS NULL;
  ms float8 := (settings -> 'debounce' ->> 'ms')::float8;
  max_ms float8 := (settings -> 'debounce' ->> 'maxMs')::float8;
  new_seq bigint;
BEGIN
  LOOP
    IF is_debounced THEN
      SELECT * INTO waiting FROM hub.events
      WHERE queue = p_queue AND in_window AND coalesce('=' || key, '') = coalesce('=' || e.key, '') FOR UPDATE;
      opened := coalesce(waiting.window_opened_at, t);
      due := least(t + ceil(greatest(ms, e."delayMs")), opened + ceil(max_ms));
      IF waiting.seq IS NOT NULL THEN
        UPDATE hub.events SET due_at = due, body = e.body, request_id = e."requestId", cause_id = e."causeId",
          depth = e.depth, priority = e.priority, trace = e.trace, delay_ms = due - opened WHERE seq = waiting.seq;
        RETURN waiting.id;
      END IF;
    END IF;
    INSERT INTO hub.events (position, queue, state, priority, accepted_at, due_at, is_run, in_window, window_opened_at, id,
      request_id, cause_id, key, dedupe, skips, depth, delay_ms, replays, trace, parent, receives, cancel_on, body)
    VALUES (coalesce(p_position, nextval('hub.positions')), p_queue, CASE WHEN due IS NULL THEN 'r' ELSE 'd' END, e.priority, t, due,
      coalesce((settings ->> 'retainsRuns')::boolean, false), is_debounced, CASE WHEN is_debounced THEN t END, e.id,
      e."requestId", e."causeId", e.key, e."dedupeId",
      e.overlap IS NOT NULL AND e.key IS NOT NULL, e.depth, CASE WHEN is_debounced THEN due - t ELSE e."delayMs" END, e.replays, e.trace, e.parent, e.receives,
      e."cancelOn", e.body)
    ON CONFLICT DO NOTHING RETURNING seq INTO new_seq;
    EXIT WHEN new_seq IS NOT NULL;
  END LOOP;
  PERFORM hub.open_inbox(new_seq, p_queue, e.receives, e."cancelOn", t);
  IF e.recorded IS NOT NULL THEN
    INSERT INTO hub.entries SELECT new_seq, n, 0, value ->> 0, value ->> 1
    FROM json_array_elements(e.recorded) WITH ORDINALITY AS r(value, n);
    UPDATE hub.events SET entries = json_array_length(e.recorded) WHERE seq = new_seq;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION hub.open_inbox(p_seq bigint, p_queue int, receives json, cancel_on json, t bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF receives IS NULL AND cancel_on IS NULL THEN RETURN; END IF;
  UPDATE hub.events SET has_inbox = true WHERE seq = p_seq;
  INSERT INTO hub.waits (seq, key, queue, since, is_inbox, is_reason, is_judged, event_type, event_key)
  SELECT p_seq, format('inbox %s', n), p_queue, t, true, false, false, value ->> 'type', value ->> 'key'
  FROM json_array_elements(receives) WITH ORDINALITY AS r(value, n)
  UNION ALL
  SELECT p_seq, format('reason %s', n), p_queue, t, true, true, coalesce((value ->> 'isJudged')::boolean, false),
    value ->> 'type', value ->> 'key'
  FROM json_array_elements(cancel_on) WITH ORDINALITY AS r(value, n);
END $$;

-- Cancels the events of a key with an overlap, in every service, and remembers the key for the one that replaces them.
CREATE FUNCTION hub.replace(e hub.envelope, t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  found bigint;
  is_found boolean;
  o hub.outcome := hub.cancelled(e.replaces, '[]');
BEGIN
  -- Locks the events before their key, as an outcome does. Meanwhile another one may be accepted.
  LOOP
    is_found := false;
    FOR found IN
      SELECT ev.seq FROM hub.events ev JOIN hub.queues q ON q.id = ev.queue
      WHERE q.type = e.type AND ev.key = e.key AND ev.skips ORDER BY ev.seq
    LOOP
      is_found := true;
      PERFORM hub.end_event(found, o, e.replaces, NULL, false);
    END LOOP;
    EXIT WHEN hub.remember(hub.overlaps(e.type), e.key, e.id, t, t) IS NULL;
    -- Nothing has the key that it was remembered for.
    IF NOT is_found THEN UPDATE hub.dedupe_ids SET pending = 0 WHERE type = hub.overlaps(e.type) AND id = e.key; END IF;
  END LOOP;
END $$;

-- Accepts events of a service, each for the service that it names or for all that subscribe to its type. Returns
-- `work`, the queues that have some, `others`, the receipts `[index, receipt]` of events that were not simply stored, and
-- `leased`, `[index, seq, token, queue, is_run]` of those that are leased at once to the connection that sends them, because
-- nothing else has to start before. Also `floor` and `tookMs` as `claim` does.
-- @param origin connection that learns about the work from this reply
-- @param starts 1 for each event that the connection may start, 0 for others. Within a type those with 1 have the highest
-- priorities
CREATE FUNCTION hub.accept(
  emits json, sender text, origin text DEFAULT '', max_pending bigint DEFAULT NULL, p_member bigint DEFAULT 0,
  starts int[] DEFAULT '{}'
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  events hub.envelope[];
  positions bigint[];
  alone_types text[];
  is_alone boolean;
  is_decided boolean;
  queues int[];
  started int[];
  placed bigint[];
  work int[];
  others json[] := '{}';
  leasable int[];
  leased json;
  took interval;
  one record;
  i int;
BEGIN
  SELECT array_agg(e), array_agg(nextval('hub.positions')), coalesce(bool_or(e.receives IS NOT NULL OR e."cancelOn" IS NOT NULL OR e.recorded IS NOT NULL), false),
    bool_or(e."dedupeId" IS NOT NULL OR e.key IS NOT NULL AND (e.overlap IS NOT NULL OR e.replaces IS NOT NULL))
  INTO events, positions, is_alone, is_decided FROM json_populate_recordset(NULL::hub.envelope, emits) e;
  IF events IS NULL THEN RETURN '{"work":[],"others":[],"leased":[]}'; END IF;
  -- A subscription does not end meanwhile.
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('hub_channel', 7));
  IF max_pending IS NOT NULL THEN
    IF cardinality(events) + (SELECT coalesce(sum(received - completed - failed), 0) FROM hub.all_counters) > max_pending THEN
      RAISE 'pending events reached %', max_pending USING ERRCODE = 'HB001';
    END IF;
  END IF;
  IF is_decided OR cardinality(starts) = 0 THEN
    p_member := 0;
  ELSE
    -- A pause that is under way has the lock: the events wait for it.
    PERFORM FROM hub.members WHERE id = p_member FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN p_member := 0; END IF;
  END IF;
  -- Events of some types, those with an id to remember and those of new queues are decided one after another. Each type is looked
  -- up by itself: a join may read all of them.
  SELECT coalesce(array_agg(type) FILTER (WHERE x.is_alone), '{}'), coalesce(array_agg(own) FILTER (WHERE own IS NOT NULL), '{}'),
    sum(looked_at - began_at)
  INTO alone_types, leasable, took FROM (
    SELECT type, is_alone
      OR (SELECT true FROM hub.queues q WHERE q.type = e.type AND q.is_debounced LIMIT 1)
      OR (SELECT true FROM hub.queues q WHERE q.triggers IS NOT NULL AND q.triggers ? e.type LIMIT 1)
      OR (SELECT true FROM hub.waits w WHERE w.event_type = e.type LIMIT 1) AS is_alone,
      clock_timestamp() AS began_at,
      CASE WHEN p_member > 0 THEN (
        SELECT q.id FROM hub.queues q WHERE q.type = e.type AND q.service = sender AND NOT q.is_limited
          AND (SELECT true FROM hub.member_types m WHERE m.queue = q.id AND m.member = p_member)
          AND (SELECT p.types = '"all"' OR p.types ? q.type FROM hub.pauses p WHERE p.service = sender) IS NOT TRUE
          AND (SELECT true FROM hub.events r WHERE r.queue = q.id AND r.state = 'r' ORDER BY r.priority DESC, r.position LIMIT 1) IS NULL
      ) END AS own,
      clock_timestamp() AS looked_at
    FROM (SELECT DISTINCT type FROM unnest(events)) e
  ) x;
  -- What is decided one after another may have to start before the rest.
  IF cardinality(alone_types) > 0 THEN leasable := '{}'; END IF;
  WITH stored AS (
    INSERT INTO hub.events (position, queue, state, priority, accepted_at, due_at, is_run, id, request_id, cause_id, key,
      depth, delay_ms, replays, trace, parent, body, owner, token, started_at)
    SELECT positions[n], q.id, CASE WHEN e."delayMs" > 0 THEN 'd' WHEN is_started THEN 'a' ELSE 'r' END::"char", e.priority, t,
      CASE WHEN e."delayMs" > 0 THEN t + ceil(e."delayMs") END, q.retains_runs, e.id, e."requestId", e."causeId", e.key,
      e.depth, e."delayMs", e.replays, e.trace, e.parent, e.body,
      CASE WHEN is_started THEN p_member END, CASE WHEN is_started THEN nextval('hub.tokens') END, CASE WHEN is_started THEN t END
    FROM (SELECT *, ordinality AS n FROM unnest(events) WITH ORDINALITY) e, LATERAL (
      SELECT id, retains_runs, starts[n] = 1 AND id = ANY(leasable) AS is_started FROM hub.queues
      WHERE type = e.type AND is_subscribed AND (e.service IS NULL OR e.service = hub.queues.service AND retains_runs)
      OFFSET 0
    ) q
    WHERE e."dedupeId" IS NULL AND (e.overlap IS NULL AND e.replaces IS NULL OR e.key IS NULL) AND e.type <> ALL(alone_types)
    RETURNING position, queue, state, seq, token, is_run
  )
  SELECT coalesce(array_agg(queue), '{}'), coalesce(array_agg(queue) FILTER (WHERE state = 'a'), '{}'),
    coalesce(array_agg(queue) FILTER (WHERE state <> 'a'), '{}'), coalesce(array_agg(DISTINCT position), '{}'),
    json_agg(json_build_array(array_position(positions, position) - 1, seq, token, queue, is_run)) FILTER (WHERE state = 'a')
  INTO queues, started, work, placed, leased FROM stored;
  IF cardinality(placed) < cardinality(events) THEN
    FOR i IN SELECT s FROM generate_subscripts(events, 1) s WHERE positions[s] <> ALL(placed) ORDER BY s LOOP
      SELECT * INTO one FROM hub.accept_alone(events[i], sender, t, positions[i]);
      work := work || one.work;
      IF one.receipt IS NOT NULL THEN others := others || json_build_array(i - 1, one.receipt); END IF;
    END LOOP;
  END IF;
  PERFORM hub.count_all(t, queues || started, array_fill('r'::text, ARRAY[cardinality(queues)]) || array_fill('w'::text, ARRAY[cardinality(started)]),
    array_fill(0::float8, ARRAY[cardinality(queues || started)]));
  IF cardinality(work) > 0 THEN
    SELECT array_agg(DISTINCT q) INTO work FROM unnest(work) q;
    PERFORM hub.notify_work(work, origin);
  END IF;
  RETURN json_build_object('work', work, 'others', others, 'leased', coalesce(leased, '[]'), 'floor', positions[1],
    'tookMs', extract(epoch FROM took) * 1000);
END $$;

-- Accepts one event. Returns the queues that have work, and its receipt unless it was simply stored.
CREATE FUNCTION hub.accept_alone(e hub.envelope, sender text, t bigint, p_position bigint, OUT work int[], OUT receipt json)
LANGUAGE plpgsql AS $$
DECLARE
  copied hub.envelope;
  q hub.queues;
  queues int[] := '{}';
  names text[] := '{}';
  earlier text;
  is_awaited boolean;
  is_handled boolean := false;
  is_triggered boolean;
  is_accepted boolean := false;
  waiting text;
  replaced text;
  own int;
BEGIN
  work := '{}';
  IF e."dedupeId" IS NOT NULL THEN
    earlier := hub.remember(e.type, e."dedupeId", e.id, t + ceil(e."windowMs"), t);
  END IF;
  IF earlier IS NULL AND e.replaces IS NOT NULL AND e.key IS NOT NULL THEN
    PERFORM hub.replace(e, t);
  ELSIF earlier IS NULL AND e.overlap IS NOT NULL AND e.key IS NOT NULL THEN
    earlier := hub.remember(hub.overlaps(e.type), e.key, e.id, t, t);
    IF earlier IS NOT NULL THEN PERFORM hub.forget(e); END IF;
  END IF;
  IF e.service IS NOT NULL THEN
    own := hub.queue_of(e.service, e.type);
    UPDATE hub.queues SET is_subscribed = true, settings = settings || '{"retainsRuns":true}'
    WHERE id = own AND NOT (is_subscribed AND settings ? 'retainsRuns');
  END IF;
  is_awaited := earlier IS NULL AND e.recorded IS NULL AND hub.resolve_by_event(e, t);
  FOR q IN
    SELECT * FROM hub.queues WHERE is_subscribed AND (CASE WHEN e.service IS NULL THEN type = e.type ELSE id = own END)
    UNION ALL SELECT * FROM hub.queues WHERE is_subscribed AND e.service IS NULL AND triggers IS NOT NULL AND triggers ? e.type
  LOOP
    is_triggered := q.type <> e.type;
    IF earlier IS NOT NULL THEN
      CONTINUE WHEN is_triggered;
      is_handled := true;
      queues := queues || q.id;
      names := names || 'u'::text;
      CONTINUE;
    END IF;
    IF is_triggered THEN copied := hub.triggered(e, q.service, q.type); ELSE copied := e; END IF;
    is_handled := is_handled OR NOT is_triggered;
    replaced := hub.insert_event(copied, q.id, q.settings, t, p_position);
    queues := queues || q.id;
    names := names || CASE WHEN replaced IS NULL THEN 'r' ELSE 'u' END;
    IF is_triggered OR replaced IS NULL THEN is_accepted := true; ELSE waiting := coalesce(waiting, replaced); END IF;
    work := work || q.id;
    IF replaced IS NULL AND NOT is_triggered AND (e."dedupeId" IS NOT NULL OR e.overlap IS NOT NULL) THEN
      UPDATE hub.dedupe_ids SET pending = pending + 1 WHERE type = e.type AND id = e."dedupeId"
        OR type = hub.overlaps(e.type) AND id = e.key AND e.overlap IS NOT NULL;
    END IF;
  END LOOP;
  IF NOT is_handled THEN
    own := hub.queue_of(sender, e.type);
    IF earlier IS NOT NULL THEN
      queues := queues || own;
      names := names || 'u'::text;
    ELSE
      queues := queues || own || own;
      names := names || ARRAY['r', 'c'];
    END IF;
  END IF;
  PERFORM hub.count_all(t, queues, names, array_fill(0::float8, ARRAY[cardinality(names)]));
  IF earlier IS NULL AND NOT is_handled AND NOT is_accepted AND NOT is_awaited THEN
    -- An event that nobody received may be repeated: its services may start later.
    PERFORM hub.forget(e);
    receipt := json_build_object('id', e.id, 'deduplicated', false, 'unsubscribed', true);
  ELSIF earlier IS NOT NULL OR NOT is_accepted AND waiting IS NOT NULL THEN
    receipt := json_build_object('id', coalesce(earlier, waiting), 'deduplicated', true);
  END IF;
END $$;

-- Records an entry of a run. A suspended run becomes ready.
CREATE FUNCTION hub.record_entry(p_seq bigint, p_token bigint, p_key text, p_value text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE ev hub.events;
BEGIN
  SELECT * INTO ev FROM hub.events WHERE seq = p_seq FOR UPDATE;
  INSERT INTO hub.entries VALUES (p_seq, ev.entries + 1, p_token, p_key, p_value);
  UPDATE hub.events SET entries = ev.entries + 1, crashes = 0, is_cause = false, state = CASE WHEN ev.state = 's' THEN 'r' ELSE ev.state END
  WHERE seq = p_seq;
  PERFORM hub.changed(ev.queue);
  IF ev.state = 's' THEN PERFORM hub.notify('w' || ev.queue); END IF;
  IF (p_token = 0 AND ev.state = 'a') OR EXISTS (SELECT FROM hub.watchers WHERE seq = p_seq AND kind = 'c') THEN
    PERFORM hub.notify('c' || p_seq);
  END IF;
END $$;

-- Removes a wait and records its resolution, unless another condition did. @param resolution the first fields of its JSON
CREATE FUNCTION hub.resolve(p_seq bigint, p_key text, resolution text, t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE since bigint;
BEGIN
  PERFORM FROM hub.events WHERE seq = p_seq FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM hub.waits w WHERE w.seq = p_seq AND w.key = p_key RETURNING w.since INTO since;
  IF since IS NULL THEN RETURN; END IF;
  PERFORM hub.record_entry(p_seq, 0, p_key, format('{%s,"since":%s,"at":%s}', resolution, since, greatest(t, since)));
END $$;

-- Resolves the waits that the event matches, or keeps it for their runs. Returns true if a run received it.
CREATE FUNCTION hub.resolve_by_event(e hub.envelope, t bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  run bigint;
  each text;
  conditions record;
  is_matched boolean := false;
  resolution text := format('"by":"event","id":%s,"payload":%s', to_json(e.id), e.body);
BEGIN
  FOR run IN
    SELECT DISTINCT seq FROM hub.waits WHERE event_type = e.type AND (event_key IS NULL OR event_key = e.key) ORDER BY seq
  LOOP
    PERFORM FROM hub.events WHERE seq = run FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    is_matched := true;
    SELECT coalesce(bool_or(is_inbox AND NOT is_reason), false) AS is_received, coalesce(bool_or(is_reason), false) AS is_reason,
      coalesce(array_agg(key ORDER BY since, key) FILTER (WHERE NOT is_inbox AND is_judged), '{}') AS judged,
      coalesce(array_agg(key ORDER BY since, key) FILTER (WHERE NOT is_inbox AND NOT is_judged), '{}') AS plain
    INTO conditions FROM hub.waits WHERE seq = run AND event_type = e.type AND (event_key IS NULL OR event_key = e.key);
    IF NOT conditions.is_received THEN
      FOREACH each IN ARRAY conditions.plain LOOP PERFORM hub.resolve(run, each, resolution, t); END LOOP;
      CONTINUE WHEN NOT conditions.is_reason AND conditions.judged = '{}';
    ELSIF NOT conditions.is_reason AND conditions.judged = '{}' AND conditions.plain <> '{}' THEN
      -- One of the waits of a run that receives the event takes it.
      PERFORM hub.resolve(run, conditions.plain[1], resolution, t);
      CONTINUE;
    END IF;
    PERFORM hub.keep_event(run, e, CASE WHEN NOT conditions.is_received THEN conditions.judged END, t);
  END LOOP;
  RETURN is_matched;
END $$;

-- Keeps an event for a run until one of its waits takes it. Beyond the limits the oldest is dropped.
CREATE FUNCTION hub.keep_event(run bigint, e hub.envelope, deciding text[], t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  excess int;
  last_dropped bigint;
  latest text;
  new_number bigint;
BEGIN
  INSERT INTO hub.kept_events (seq, type, key, id, request_id, deciding, body)
  VALUES (run, e.type, e.key, e.id, e."requestId", deciding, e.body) RETURNING number INTO new_number;
  -- A join would repeat the sums per row where the planner does not know how many there are.
  SELECT max(number) INTO last_dropped FROM (
    SELECT number, count(*) OVER newer AS n, sum(octet_length(body)) OVER newer AS bytes
    FROM hub.kept_events WHERE seq = run WINDOW newer AS (ORDER BY number DESC)
  ) sized WHERE n > 1 AND (n > 1000 OR bytes > 1048576);
  WITH dropped AS (DELETE FROM hub.kept_events WHERE seq = run AND number <= last_dropped RETURNING number, type)
  SELECT count(*), (array_agg(type ORDER BY number DESC))[1] INTO excess, latest FROM dropped;
  IF excess > 0 THEN
    UPDATE hub.events SET dropped = dropped + excess WHERE seq = run;
    PERFORM hub.report_dropped(run, latest, t);
  END IF;
  -- The earlier ones are settled.
  PERFORM hub.settle(run, new_number, t);
END $$;

-- Reports to a connection of the service that a run drops events, once per minute.
CREATE FUNCTION hub.report_dropped(run bigint, event_type text, t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ev hub.events;
  reported_to bigint;
BEGIN
  SELECT * INTO ev FROM hub.events WHERE seq = run AND (drop_reported_at IS NULL OR drop_reported_at <= t - 60000);
  IF NOT FOUND THEN RETURN; END IF;
  SELECT max(m.member) INTO reported_to FROM hub.member_types m JOIN hub.members c ON c.id = m.member
  WHERE m.queue = ev.queue AND c.alive_until >= t;
  IF reported_to IS NULL THEN RETURN; END IF;
  UPDATE hub.events SET drop_reported_at = t WHERE seq = run;
  INSERT INTO hub.drop_reports VALUES (reported_to, json_build_object('runType',
    (SELECT type FROM hub.queues WHERE id = ev.queue), 'runId', ev.id, 'eventType', event_type, 'dropped', ev.dropped));
END $$;

CREATE FUNCTION hub.reason_name(type text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'cancel ' || type $$;

-- Waits that may take a kept event.
CREATE FUNCTION hub.takers(k hub.kept_events) RETURNS SETOF hub.waits LANGUAGE sql STABLE AS $$
  SELECT w.* FROM hub.waits w WHERE w.seq = k.seq AND w.event_type = k.type AND (w.event_key IS NULL OR w.event_key = k.key)
    AND NOT w.is_inbox AND NOT k.is_taken AND NOT w.key = ANY(k.refused_by)
    AND (k.deciding IS NULL OR w.is_judged AND w.key = ANY(k.deciding))
$$;

-- Conditions under which a kept event cancels its run.
CREATE FUNCTION hub.reasons(k hub.kept_events) RETURNS SETOF hub.waits LANGUAGE sql STABLE AS $$
  SELECT w.* FROM hub.waits w WHERE w.seq = k.seq AND w.event_type = k.type AND (w.event_key IS NULL OR w.event_key = k.key)
    AND w.is_reason AND NOT hub.reason_name(k.type) = ANY(k.refused_by)
$$;

-- Passes the events that a run has kept, from a number on, to its waits, and drops those that nothing takes any more. A
-- suspended run becomes ready if its service decides about one; a delivery reads the offers again.
CREATE FUNCTION hub.settle(p_seq bigint, from_number bigint, t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ev hub.events;
  k hub.kept_events;
  taker text;
BEGIN
  LOOP
    -- A wait that is judged decides about one event at a time: what it may take comes later.
    SELECT x.number, first.key INTO k.number, taker FROM hub.kept_events x, LATERAL (
      SELECT key, is_judged FROM hub.takers(x) ORDER BY since, key LIMIT 1
    ) first
    WHERE x.seq = p_seq AND x.number >= from_number AND x.deciding IS NULL AND NOT first.is_judged ORDER BY x.number LIMIT 1;
    EXIT WHEN NOT FOUND;
    UPDATE hub.kept_events SET is_taken = true WHERE number = k.number RETURNING * INTO k;
    PERFORM hub.resolve(p_seq, taker, format('"by":"event","id":%s,"payload":%s', to_json(k.id), k.body), t);
  END LOOP;
  DELETE FROM hub.kept_events x WHERE x.seq = p_seq AND x.number >= from_number AND NOT EXISTS (SELECT FROM hub.reasons(x))
    AND (x.is_taken OR x.deciding IS NOT NULL AND NOT EXISTS (SELECT FROM hub.takers(x)));
  SELECT * INTO ev FROM hub.events WHERE seq = p_seq;
  PERFORM hub.changed(ev.queue);
  IF ev.state = 'a' THEN
    PERFORM hub.notify('c' || p_seq);
  ELSIF ev.state = 's' AND hub.has_offers(p_seq) THEN
    UPDATE hub.events SET state = 'r' WHERE seq = p_seq;
    PERFORM hub.notify('w' || ev.queue);
  ELSIF ev.state = 'd' AND EXISTS (SELECT FROM hub.offers(p_seq) WHERE wait IS NULL AND NOT is_judged) THEN
    -- It need not wait for its delay.
    UPDATE hub.events SET state = 'r', due_at = NULL WHERE seq = p_seq;
    PERFORM hub.notify('w' || ev.queue);
  END IF;
END $$;

-- Conditions with the kept events about which the service of a run decides.
CREATE FUNCTION hub.offers(p_seq bigint) RETURNS TABLE (number bigint, condition text, wait text, is_judged boolean)
LANGUAGE sql STABLE AS $$
  SELECT k.number, hub.reason_name(k.type), NULL, r.is_judged FROM hub.kept_events k, LATERAL hub.reasons(k) r
  WHERE k.seq = p_seq
  UNION ALL
  SELECT k.number, w.key, w.key, true FROM hub.kept_events k, LATERAL (
    SELECT * FROM hub.takers(k) ORDER BY since, key LIMIT CASE WHEN k.deciding IS NULL THEN 1 END
  ) w WHERE k.seq = p_seq AND w.is_judged
$$;

CREATE FUNCTION hub.has_offers(p_seq bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM hub.offers(p_seq))
$$;

-- The offers of a run: per condition the first one.
CREATE FUNCTION hub.offers_json(p_seq bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('kept', o.number::text, 'wait', o.wait, 'isJudged', o.is_judged, 'id', k.id,
    'type', k.type, 'body', k.body) ORDER BY o.number), '[]')
  FROM (SELECT DISTINCT ON (condition) * FROM hub.offers(p_seq) ORDER BY condition, number) o
  JOIN hub.kept_events k ON k.number = o.number
$$;
