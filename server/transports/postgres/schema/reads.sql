-- Reads. Each returns one JSON value of one snapshot.

CREATE FUNCTION hub.entries_json(p_seq bigint, from_number int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_array(key, value) ORDER BY number), '[]') FROM hub.entries
  WHERE seq = p_seq AND number > from_number
$$;

CREATE FUNCTION hub.waits_json(p_seq bigint, max_waits int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('key', key, 'since', since, 'dueAt', due_at, 'eventType', event_type,
    'eventKey', event_key, 'shownKey', shown_key, 'runId', child_id, 'isApproval', is_approval) ORDER BY since, key), '[]')
  FROM (SELECT * FROM hub.waits WHERE seq = p_seq AND NOT is_inbox ORDER BY since, key LIMIT max_waits) w
$$;

-- Entries of a run after a number, and its offers.
CREATE FUNCTION hub.news_json(p_seq bigint, from_number int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('entries', hub.entries_json(p_seq, from_number), 'offers', hub.offers_json(p_seq))
$$;

-- A pending event; of a run with its waits, and with its entries after a number.
CREATE FUNCTION hub.event_json(e hub.events, with_body boolean, from_number int) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE is_run boolean;
BEGIN
  IF NOT with_body THEN e.body := NULL; END IF;
  RETURN (SELECT json_build_object('service', q.service, 'type', q.type, 'event', row_to_json(e), 'body', e.body,
    'isRun', run.is, 'entries', CASE WHEN run.is AND from_number IS NOT NULL THEN hub.entries_json(e.seq, from_number) END,
    'waits', CASE WHEN run.is THEN hub.waits_json(e.seq, NULL) END,
    'kept', CASE WHEN e.has_inbox THEN (SELECT count(*) FROM hub.kept_events WHERE seq = e.seq) END)
  FROM hub.queues q, LATERAL (SELECT e.is_run OR q.retains_runs AS is) run WHERE q.id = e.queue);
END $$;

CREATE FUNCTION hub.ended_json(e hub.ended, with_body boolean, from_number int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('service', q.service, 'type', q.type, 'event', e.event, 'isRun', e.is_run, 'status', e.status,
    'endedAt', e.ended_at, 'error', e.error, 'step', e.step, 'result', e.result, 'waits', e.waits,
    'isDead', e.is_dead AND coalesce(e.dead_until > hub.now_ms(), true), 'body', CASE WHEN with_body THEN e.body END,
    'entries', CASE WHEN e.is_run AND from_number IS NOT NULL THEN hub.entries_json(e.seq, from_number) END)
  FROM hub.queues q WHERE q.id = e.queue
$$;

-- Ended events that are retained: those that exceed the newest ones of a queue, which the next fold drops, are not. Some types
-- limit the age of their runs, and dead letters have one.
CREATE FUNCTION hub.is_retained(e hub.ended) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT (e.is_recent AND (e.status = 'f' OR e.number > coalesce((SELECT number FROM hub.ended n
      WHERE n.queue = e.queue AND n.is_recent AND n.status <> 'f' ORDER BY number DESC OFFSET 50 LIMIT 1), 0)))
    OR (e.is_dead AND coalesce(e.dead_until > hub.now_ms(), true)) OR (e.is_run AND (
    coalesce(e.ended_at > hub.now_ms() - (SELECT (settings -> 'retain' ->> 'ageMs')::float8 FROM hub.queues WHERE id = e.queue), true)
    OR EXISTS (SELECT FROM hub.watchers w WHERE w.seq = e.seq AND w.kind = 'x')))
$$;

-- Pending events of a request. One statement for each index.
CREATE FUNCTION hub.pending_of(p_request text) RETURNS SETOF hub.events LANGUAGE sql STABLE AS $$
  SELECT * FROM hub.events WHERE hashtextextended(id, 0) = hashtextextended(p_request, 0) AND id = p_request AND request_id = p_request
  UNION ALL
  SELECT * FROM hub.events WHERE hashtextextended(request_id, 0) = hashtextextended(p_request, 0) AND request_id = p_request AND request_id <> id
$$;

-- Ended events of a request.
CREATE FUNCTION hub.ended_of(p_request text) RETURNS SETOF hub.ended LANGUAGE sql STABLE AS $$
  SELECT * FROM hub.ended WHERE hashtextextended(id, 0) = hashtextextended(p_request, 0) AND id = p_request AND request_id = p_request
  UNION ALL
  SELECT * FROM hub.ended WHERE hashtextextended(request_id, 0) = hashtextextended(p_request, 0) AND request_id = p_request AND request_id <> id
$$;

CREATE FUNCTION hub.find_events(p_id text, p_request text, with_body boolean, max_events int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(found), '[]') FROM (
    (SELECT hub.event_json(e, with_body, 0) AS found FROM hub.events e
      WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id LIMIT max_events)
    UNION ALL
    (SELECT hub.event_json(e, with_body, 0) FROM hub.pending_of(p_request) e ORDER BY position LIMIT max_events)
    UNION ALL
    (SELECT hub.ended_json(e, with_body, 0) FROM hub.ended e
      WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND hub.is_retained(e) LIMIT max_events)
    UNION ALL
    (SELECT hub.ended_json(e, with_body, 0) FROM hub.ended_of(p_request) e WHERE hub.is_retained(e) ORDER BY number LIMIT max_events)
  ) all_events
$$;

-- Runs that keep an event until one of their waits takes it.
CREATE FUNCTION hub.keepers(p_id text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('type', k.type, 'service', q.service, 'runType', q.type, 'runId', e.id)), '[]')
  FROM hub.kept_events k JOIN hub.events e ON e.seq = k.seq JOIN hub.queues q ON q.id = e.queue
  WHERE hashtextextended(k.id, 0) = hashtextextended(p_id, 0) AND k.id = p_id AND NOT k.is_taken
$$;

CREATE FUNCTION hub.recent_events(p_type text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(found), '[]') FROM hub.queues q, LATERAL (
    (SELECT hub.event_json(e, false, 0) AS found FROM hub.events e WHERE e.queue = q.id ORDER BY position DESC LIMIT 50)
    UNION ALL
    (SELECT hub.ended_json(e, false, 0) FROM hub.ended e WHERE e.queue = q.id AND is_recent AND status <> 'f'
      ORDER BY number DESC LIMIT 50)
    UNION ALL
    (SELECT hub.ended_json(e, false, 0) FROM hub.ended e WHERE e.queue = q.id AND is_recent AND status = 'f')
    UNION ALL
    (SELECT hub.ended_json(e, false, 0) FROM hub.ended e WHERE e.queue = q.id AND is_run AND hub.is_retained(e) AND status = 'f'
      ORDER BY number DESC LIMIT 50)
    UNION ALL
    (SELECT hub.ended_json(e, false, 0) FROM hub.ended e WHERE e.queue = q.id AND is_run AND hub.is_retained(e) AND status <> 'f'
      ORDER BY accepted_at DESC LIMIT 50)
  ) each WHERE q.type = p_type
$$;

-- Runs of a service below a number, the highest first, or dead letters whose runs are no longer retained; each after its number.
CREATE FUNCTION hub.run_page(p_service text, p_type text, max_runs int, is_dead_part boolean, below bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_array(n, found) ORDER BY n DESC), '[]') FROM hub.queues q, LATERAL (
    (SELECT e.seq AS n, hub.event_json(e, false, 0) AS found FROM hub.events e
      WHERE NOT is_dead_part AND e.queue = q.id AND e.seq < below ORDER BY e.seq DESC LIMIT max_runs)
    UNION ALL
    (SELECT e.seq, hub.ended_json(e, false, 0) FROM hub.ended e
      WHERE NOT is_dead_part AND e.queue = q.id AND e.is_run AND e.seq < below AND hub.is_retained(e) ORDER BY e.seq DESC LIMIT max_runs)
    UNION ALL
    (SELECT e.number, hub.ended_json(e, false, 0) FROM hub.ended e
      WHERE is_dead_part AND e.queue = q.id AND e.is_dead AND NOT e.is_run AND e.number < below AND hub.is_retained(e)
      ORDER BY e.number DESC LIMIT max_runs)
    ORDER BY n DESC LIMIT max_runs
  ) page WHERE q.service = p_service AND q.type = p_type
$$;

CREATE FUNCTION hub.latest_runs(p_types text[], max_runs int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg((
    SELECT coalesce(json_agg(found ORDER BY accepted_at DESC), '[]') FROM (
      SELECT found, accepted_at FROM hub.queues q, LATERAL (
        (SELECT hub.event_json(e, true, 0) AS found, e.accepted_at, e.position AS n FROM hub.events e
          WHERE e.queue = q.id ORDER BY position DESC LIMIT max_runs)
        UNION ALL
        (SELECT hub.ended_json(e, true, 0), e.accepted_at, 0 FROM hub.ended e
          WHERE e.queue = q.id AND is_run AND hub.is_retained(e) ORDER BY accepted_at DESC LIMIT max_runs)
      ) each WHERE q.type = t.type AND (found ->> 'isRun')::boolean ORDER BY accepted_at DESC, n DESC LIMIT max_runs
    ) latest
  ) ORDER BY t.place), '[]') FROM unnest(p_types) WITH ORDINALITY t(type, place)
$$;

CREATE FUNCTION hub.waiting_runs(p_types text[], max_runs int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg((
    SELECT coalesce(json_agg(hub.event_json(e, true, 0)), '[]') FROM hub.events e WHERE e.seq IN (
      SELECT seq FROM hub.queues q, LATERAL (
        (SELECT seq FROM (SELECT seq, min(since) AS since FROM hub.waits w WHERE w.queue = q.id AND is_approval GROUP BY seq
          ORDER BY min(since) LIMIT max_runs) asking)
        UNION
        (SELECT seq FROM hub.events s WHERE s.queue = q.id AND s.state = 's' LIMIT max_runs)
      ) each WHERE q.type = t.type
    )
  ) ORDER BY t.place), '[]') FROM unnest(p_types) WITH ORDINALITY t(type, place)
$$;

CREATE FUNCTION hub.read_run(p_service text, p_type text, p_id text, from_number int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT found FROM (
    SELECT hub.event_json(e, true, from_number) AS found FROM hub.events e JOIN hub.queues q ON q.id = e.queue
    WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND q.type = p_type AND q.service = p_service
    UNION ALL
    SELECT hub.ended_json(e, true, from_number) FROM hub.ended e JOIN hub.queues q ON q.id = e.queue
    WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND q.type = p_type AND q.service = p_service AND e.is_run AND hub.is_retained(e)
  ) runs WHERE (found ->> 'isRun')::boolean LIMIT 1
$$;

-- Reads a run that has ended, also one that is readable for a while although it is not retained.
CREATE FUNCTION hub.read_end(p_service text, p_type text, p_id text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  e hub.ended;
  retained json := hub.read_run(p_service, p_type, p_id, 0);
BEGIN
  IF retained IS NOT NULL THEN RETURN retained; END IF;
  SELECT x.* INTO e FROM hub.ended x JOIN hub.queues q ON q.id = x.queue
  WHERE hashtextextended(x.id, 0) = hashtextextended(p_id, 0) AND x.id = p_id AND q.type = p_type AND q.service = p_service
    AND x.readable_until > hub.now_ms() LIMIT 1;
  IF NOT FOUND THEN RETURN NULL; END IF;
  e.is_run := true;
  RETURN hub.ended_json(e, true, 0);
END $$;

-- Registers a caller for the end (x) or the changes (c) of a run, unless it has ended. Returns the key of the run.
CREATE FUNCTION hub.watch_run(p_service text, p_type text, p_id text, p_kind text, p_watcher text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE run bigint := hub.find_pending(p_service, p_type, p_id);
BEGIN
  -- It keeps the run from ending, not from being leased.
  PERFORM FROM hub.events WHERE seq = run FOR KEY SHARE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO hub.watchers VALUES (run, p_kind::"char", p_watcher, hub.now_ms() + 600000) ON CONFLICT DO NOTHING;
  RETURN to_json(run);
END $$;

-- Ends the interest of a caller. What was retained for it alone is dropped.
CREATE FUNCTION hub.unwatch_run(p_seq bigint, p_kind text, p_watcher text, limits hub.limits) RETURNS void LANGUAGE plpgsql AS $$
DECLARE ended_queue int;
BEGIN
  DELETE FROM hub.watchers WHERE seq = p_seq AND kind = p_kind::"char" AND watcher = p_watcher;
  SELECT queue INTO ended_queue FROM hub.ended WHERE seq = p_seq AND is_run;
  IF ended_queue IS NOT NULL THEN PERFORM hub.retain(ended_queue, limits, hub.now_ms()); END IF;
END $$;

-- State of runs that callers watch, by which a change is seen; null for one that has ended.
CREATE FUNCTION hub.run_states(seqs bigint[]) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg((
    SELECT concat_ws(' ', e.entries, e.dropped, (SELECT count(*) FROM hub.waits w WHERE w.seq = e.seq)) FROM hub.events e WHERE e.seq = s.seq
  ) ORDER BY n) FROM unnest(seqs) WITH ORDINALITY s(seq, n)
$$;

-- Keeps the registrations of a caller for ten more minutes.
CREATE FUNCTION hub.renew_watcher(p_watcher text) RETURNS void LANGUAGE sql AS $$
  UPDATE hub.watchers SET until = hub.now_ms() + 600000 WHERE watcher = p_watcher
$$;

CREATE FUNCTION hub.dead_letters(p_service text, p_type text, max_letters int, p_request text, since float8, until float8)
RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(hub.ended_json(e, true, NULL) ORDER BY number DESC), '[]') FROM (
    SELECT e.* FROM hub.ended e JOIN hub.queues q ON q.id = e.queue
    WHERE q.service = p_service AND q.type = p_type AND e.is_dead AND coalesce(e.dead_until > hub.now_ms(), true)
      AND (p_request IS NULL OR e.request_id = p_request) AND (since IS NULL OR e.ended_at >= since)
      AND (until IS NULL OR e.ended_at <= until)
    ORDER BY number DESC LIMIT max_letters
  ) found JOIN hub.ended e USING (number)
$$;

CREATE FUNCTION hub.dead_letter_errors(p_type text, max_letters int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('id', id, 'service', service, 'requestId', request_id,
    'at', ended_at, 'attempt', event -> 'attempt', 'error', error)
    ORDER BY number DESC), '[]') FROM (
    SELECT e.*, q.service FROM hub.ended e JOIN hub.queues q ON q.id = e.queue
    WHERE q.type = p_type AND e.is_dead AND coalesce(e.dead_until > hub.now_ms(), true)
    ORDER BY number DESC LIMIT max_letters
  ) found
$$;

CREATE FUNCTION hub.erase(p_request text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  erased_letters int[];
  erased_runs int[];
  each int;
  run bigint;
  numbers bigint[] := ARRAY(SELECT number FROM hub.ended_of(p_request));
BEGIN
  WITH letters AS (
    UPDATE hub.ended SET is_dead = false, body = CASE WHEN is_run THEN body END
    WHERE number = ANY(numbers) AND is_dead RETURNING queue
  ) SELECT coalesce(array_agg(queue), '{}') INTO erased_letters FROM letters;
  WITH runs AS (
    UPDATE hub.ended SET body = 'null', result = NULL, waits = '[]'
    WHERE number = ANY(numbers) AND is_run RETURNING queue, seq
  ), removed AS (DELETE FROM hub.entries USING runs WHERE entries.seq = runs.seq)
  SELECT coalesce(array_agg(queue), '{}') INTO erased_runs FROM runs;
  DELETE FROM hub.log_entries l USING hub.ended e, hub.queues q
  WHERE e.number = ANY(numbers) AND q.id = e.queue AND l.log = ANY (hub.run_logs(q.service, e.id));
  DELETE FROM hub.ended e USING hub.ended_of(p_request) o WHERE e.number = o.number AND NOT (o.is_recent OR o.is_run OR o.is_dead);
  FOR run IN SELECT DISTINCT seq FROM hub.kept_events WHERE request_id = p_request ORDER BY seq LOOP
    PERFORM FROM hub.events WHERE seq = run FOR UPDATE;
    DELETE FROM hub.kept_events WHERE seq = run AND request_id = p_request;
    PERFORM hub.settle(run, 0, hub.now_ms());
  END LOOP;
  FOR each IN SELECT DISTINCT q FROM unnest(erased_letters || erased_runs) q LOOP PERFORM hub.changed(each); END LOOP;
  RETURN json_build_object('deadLetters', cardinality(erased_letters), 'runs', cardinality(erased_runs),
    'pending', (SELECT count(*) FROM hub.pending_of(p_request)));
END $$;

CREATE TYPE hub.type_counts AS (
  service text, received bigint, completed bigint, filtered bigint, failed bigint, cancelled bigint, retried bigint,
  deduplicated bigint, "lastReceivedAt" bigint, "lastFailedAt" bigint, active bigint, delayed bigint, suspended bigint,
  "awaitingVersion" bigint, approvals bigint, "deadLetters" bigint, "oldestPendingAt" bigint
);

-- A queue without pending events, or without failed ones, has nothing to look for. Sums of bigint are numeric, which is slow.
CREATE FUNCTION hub.counts(p_types text[]) RETURNS json LANGUAGE sql STABLE AS $$
  WITH asked AS MATERIALIZED (
    SELECT q.id, q.type, q.service FROM (SELECT DISTINCT unnest(p_types) AS type) t JOIN hub.queues q USING (type)
  ), found AS MATERIALIZED (
    SELECT q.*, k.*, k.received > k.completed + k.failed AS is_pending
    FROM asked q LEFT JOIN (
      SELECT queue, sum(received)::bigint AS received, sum(completed)::bigint AS completed, sum(filtered)::bigint AS filtered,
        sum(failed)::bigint AS failed, sum(cancelled)::bigint AS cancelled, sum(retried)::bigint AS retried,
        sum(deduplicated)::bigint AS deduplicated, max(last_received_at) AS last_received_at, max(last_failed_at) AS last_failed_at
      FROM hub.all_counters WHERE queue IN (SELECT id FROM asked) GROUP BY queue
    ) k ON k.queue = q.id
  ), counted AS (
    SELECT type, json_agg(c ORDER BY service) AS services FROM (
      SELECT type, ROW(service, coalesce(received, 0), coalesce(completed, 0), coalesce(filtered, 0), coalesce(failed, 0),
        coalesce(cancelled, 0), coalesce(retried, 0), coalesce(deduplicated, 0), last_received_at, last_failed_at,
        s.active, s.delayed, s.suspended,
        (SELECT count(*) FROM hub.events WHERE is_pending AND queue = q.id AND state = 'r' AND needs > 0),
        (SELECT count(*) FROM hub.waits WHERE is_pending AND queue = q.id AND is_approval),
        (SELECT count(*) FROM hub.ended WHERE failed > 0 AND queue = q.id AND is_dead AND coalesce(dead_until > hub.now_ms(), true)),
        (SELECT accepted_at FROM hub.events WHERE is_pending AND queue = q.id ORDER BY position LIMIT 1)
      )::hub.type_counts AS c, service
      FROM found q, LATERAL (
        SELECT count(*) FILTER (WHERE state = 'a') AS active, count(*) FILTER (WHERE state = 'd') AS delayed,
          count(*) FILTER (WHERE state = 's') AS suspended
        FROM hub.events WHERE is_pending AND queue = q.id AND state <> 'r'
      ) s
    ) c
    GROUP BY type
  )
  SELECT coalesce(json_agg(coalesce(services, '[]') ORDER BY place), '[]')
  FROM unnest(p_types) WITH ORDINALITY t(type, place) LEFT JOIN counted USING (type)
$$;

-- Counts of a minute as the reads return them, several with commas between them.
CREATE FUNCTION hub.minute_text(minute bigint, name "char", bucket int, count bigint, longest float8) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws(' ', minute, name, bucket, count, longest)
$$;

-- Histories of types: parts as they are packed, all without names, and the minutes since then.
CREATE FUNCTION hub.history(p_types text[], parts text[]) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('parts', coalesce(packed, '{}'), 'open', coalesce(open, '')) ORDER BY place), '[]')
  FROM unnest(p_types) WITH ORDINALITY t(type, place)
  LEFT JOIN (
    SELECT type, json_object_agg(part, text) AS packed FROM hub.histories
    WHERE type IN (SELECT unnest(p_types)) AND (parts IS NULL OR part = ANY(parts)) GROUP BY type
  ) h USING (type)
  LEFT JOIN (
    SELECT type, string_agg(hub.minute_text(minute, name, bucket, count, longest), ',') AS open FROM hub.all_minutes WHERE type IN (SELECT unnest(p_types)) GROUP BY type
  ) o USING (type)
$$;

-- History of all event types. Runs of workflows are not part of its minutes.
CREATE FUNCTION hub.total_history() RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('parts', (SELECT coalesce(json_object_agg(part, text), '{}') FROM hub.histories WHERE type = ''),
    'open', coalesce(string_agg(concat_ws(' ', minute, name, bucket, count, longest), ','), '')) FROM (
    SELECT minute, name, bucket, sum(count) AS count, max(longest) AS longest
    FROM hub.all_minutes WHERE type NOT LIKE U&'workflow\001F%' GROUP BY 1, 2, 3
  ) m
$$;

-- Takes the minutes that are over of some types, and returns them with the histories of these types; nothing while another
-- transaction does so. A fold adds nothing to minutes that have been over for ten seconds, unless its counts are that old: it
-- rarely waits for this transaction, which ends if its process stalls.
CREATE FUNCTION hub.take_minutes(max_types int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  open_minute bigint := (hub.now_ms() - 10000) / 60000;
  read json;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('hub_channel', 5)) THEN RETURN '[]'; END IF;
  PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
  WITH types AS MATERIALIZED (
    SELECT DISTINCT type FROM hub.minutes WHERE minute < open_minute LIMIT max_types
  ), taken AS (
    DELETE FROM hub.minutes m USING types WHERE m.type = types.type AND m.minute < open_minute
    RETURNING m.type, hub.minute_text(minute, name, bucket, count, longest) AS text
  ), found AS (
    SELECT type, string_agg(text, ',') AS open FROM taken GROUP BY type
    UNION ALL
    SELECT '', string_agg(text, ',') FROM taken WHERE type NOT LIKE U&'workflow\001F%' HAVING count(*) > 0
  )
  SELECT coalesce(json_agg(json_build_object('type', type, 'open', open, 'parts', (
    SELECT coalesce(json_object_agg(part, text), '{}') FROM hub.histories h WHERE h.type = found.type
  ))), '[]') INTO read FROM found;
  RETURN read;
END $$;

CREATE FUNCTION hub.store_history(p_type text, parts json, first_hour int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO hub.histories SELECT p_type, key, value FROM json_each_text(parts)
  ON CONFLICT (type, part) DO UPDATE SET text = excluded.text;
  DELETE FROM hub.histories WHERE type = p_type AND part ~ '^[0-9]+$' AND part::int < first_hour;
$$;

CREATE FUNCTION hub.failures_of(p_types text[], max_failures int) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(coalesce(latest, '[]') ORDER BY t.place), '[]') FROM unnest(p_types) WITH ORDINALITY t(type, place)
  LEFT JOIN (
    SELECT type, json_agg(record ORDER BY number DESC) AS latest FROM (
      SELECT q.type, f.*, row_number() OVER (PARTITION BY q.type ORDER BY number DESC) AS place FROM hub.queues q, LATERAL (
        SELECT number, record FROM hub.failures WHERE queue = q.id ORDER BY number DESC LIMIT max_failures
      ) f WHERE q.type IN (SELECT unnest(p_types))
    ) newest WHERE place <= max_failures GROUP BY type
  ) found USING (type)
$$;

CREATE FUNCTION hub.revision(p_type text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT to_json(coalesce((
    SELECT sum(changes) FROM hub.all_counters k WHERE p_type IS NULL OR k.queue IN (SELECT id FROM hub.queues WHERE type = p_type)
  ), 0) || '.' || hub.now_ms() / 60000)
$$;

CREATE FUNCTION hub.fleet() RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object(
    'live', (SELECT coalesce(json_agg(json_build_object('description', description, 'state', state) ORDER BY id), '[]')
      FROM hub.members WHERE alive_until >= hub.now_ms()),
    'stopped', (SELECT coalesce(json_agg(description ORDER BY ended_at), '[]') FROM hub.stopped_members s
      WHERE NOT EXISTS (SELECT FROM hub.members m WHERE m.service = s.service AND m.is_consumer AND m.alive_until >= hub.now_ms())
        AND EXISTS (SELECT FROM hub.queues q WHERE q.service = s.service AND q.is_subscribed)))
$$;

CREATE FUNCTION hub.schedules_json() RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_object('service', service, 'name', name, 'definition', definition, 'times', times,
    'position', position, 'lastDue', last_due, 'isRemoved', is_removed, 'revision', revision, 'isOpen', EXISTS (
      SELECT FROM hub.schedule_members m JOIN hub.members ON id = m.member WHERE m.service = s.service AND m.name = s.name
    )) ORDER BY service, name), '[]') FROM hub.schedules s
$$;

-- It reads many types: each table once, whatever a plan for a few would do. A function of SQL would copy its result, which is
-- large, three times.
CREATE FUNCTION hub.overview(p_types text[], run_types text[], max_runs int) RETURNS json LANGUAGE plpgsql STABLE
SET enable_nestloop = off SET jit = off AS $$
BEGIN
  RETURN json_build_object('now', hub.now_ms(), 'fleet', hub.fleet(), 'counts', hub.counts(p_types),
    'histories', hub.history(p_types, ARRAY['minutes']), 'failures', hub.failures_of(p_types, 1),
    'total', hub.total_history(), 'runs', hub.latest_runs(run_types, max_runs), 'schedules', hub.schedules_json());
END $$;

CREATE FUNCTION hub.metrics(p_types text[]) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('now', hub.now_ms(), 'counts', hub.counts(p_types), 'histories', hub.history(p_types, NULL))
$$;
