-- Ends of attempts, events and runs.

CREATE TYPE hub.outcome AS (
  seq bigint, token bigint, status text, "durationMs" float8, "delayMs" float8, version int, seen int, "isCancelled" boolean,
  "isFiltered" boolean, error json, step text, result text, "followUps" json, "isOverdue" boolean
);
-- The outcome of an event that another one, or its parent, cancels. By name: a field may be added to the type.
CREATE FUNCTION hub.cancelled(error json, follow_ups json) RETURNS hub.outcome LANGUAGE sql IMMUTABLE AS $$
  SELECT json_populate_record(NULL::hub.outcome, json_build_object('status', 'failed', 'durationMs', 0, 'isCancelled', true,
    'error', error, 'followUps', follow_ups, 'isOverdue', false))
$$;
-- Limits of a process.
CREATE TYPE hub.limits AS ("maxDeadLetters" bigint, "maxDeadLetterAgeMs" float8);

-- Ends an event. Its attempt is over. A run that its service refused is retained as an event, or until those who wait for
-- it have read its end. @param status c completed, i filtered, f failed, x cancelled
CREATE FUNCTION hub.finish(ev hub.events, p_status text, o hub.outcome, limits hub.limits, t bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  sender text := (SELECT service FROM hub.queues WHERE id = ev.queue);
  is_dead boolean := p_status = 'f' AND limits."maxDeadLetters" > 0;
  body text;
  open_waits json;
  parent bigint;
BEGIN
  IF ev.is_run THEN
    open_waits := hub.waits_json(ev.seq, 100);
    DELETE FROM hub.waits WHERE seq = ev.seq;
    DELETE FROM hub.kept_events WHERE seq = ev.seq;
    ev.is_run := p_status <> 'i' OR EXISTS (SELECT FROM hub.watchers WHERE seq = ev.seq AND kind = 'x');
  END IF;
  body := CASE WHEN ev.is_run OR is_dead THEN ev.body END;
  DELETE FROM hub.events WHERE seq = ev.seq;
  IF ev.dedupe IS NOT NULL OR ev.skips THEN
    UPDATE hub.dedupe_ids d SET pending = pending - 1 FROM hub.queues q WHERE q.id = ev.queue
      AND (d.type = q.type AND d.id = ev.dedupe OR d.type = hub.overlaps(q.type) AND d.id = ev.key AND ev.skips);
    DELETE FROM hub.dedupe_ids d USING hub.queues q WHERE q.id = ev.queue AND d.pending <= 0 AND d.until <= t
      AND (d.type = q.type AND d.id = ev.dedupe OR d.type = hub.overlaps(q.type) AND d.id = ev.key AND ev.skips);
  END IF;
  ev.body := NULL;
  INSERT INTO hub.ended (seq, queue, id, request_id, status, accepted_at, ended_at, is_recent, is_run, is_dead, dead_until,
    error, step, result, waits, event, body)
  VALUES (ev.seq, ev.queue, ev.id, ev.request_id, p_status::"char", ev.accepted_at, t, NOT ev.is_run, ev.is_run, is_dead,
    CASE WHEN is_dead THEN t + limits."maxDeadLetterAgeMs" END, o.error, o.step, o.result, open_waits, row_to_json(ev), body);
  IF p_status = 'f' THEN
    INSERT INTO hub.failures (queue, record) VALUES (ev.queue, json_build_object('id', ev.id, 'at', t, 'attempt', ev.attempt,
      'requestId', ev.request_id, 'step', o.step, 'error', o.error));
    DELETE FROM hub.failures WHERE queue = ev.queue
      AND number <= (SELECT number FROM hub.failures WHERE queue = ev.queue ORDER BY number DESC OFFSET 20 LIMIT 1);
  END IF;
  IF EXISTS (SELECT FROM hub.watchers WHERE seq = ev.seq AND kind = 'x') THEN PERFORM hub.notify('x' || ev.seq); END IF;
  IF ev.parent IS NOT NULL THEN
    SELECT seq INTO parent FROM hub.events e JOIN hub.queues q ON q.id = e.queue
    WHERE hashtextextended(e.id, 0) = hashtextextended(ev.parent ->> 'id', 0) AND e.id = ev.parent ->> 'id' AND q.type = ev.parent ->> 'type' AND q.service = sender;
    IF parent IS NOT NULL THEN
      PERFORM hub.resolve(parent, ev.parent ->> 'wait', format('"by":"run","id":%s,%s', to_json(ev.id),
        CASE WHEN p_status IN ('c', 'i') THEN '"status":"completed","result":' || coalesce(o.result, 'null')
        ELSE '"status":"failed","error":' || o.error END), t);
    END IF;
  END IF;
END $$;

-- Drops ended events, other than failed ones, that exceed the retention of a queue: as many as were added, or all. It looks at
-- the newest ones first, and no further, since those that were dropped stay in the index while any transaction lasts; now and
-- then also at those before, which two that dropped the same ones have left. A transaction of a handler that must be
-- serializable leaves them to others, with which it would conflict.
CREATE FUNCTION hub.trim_recent(p_queue int, added bigint DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE beyond bigint[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN RETURN; END IF;
  beyond := ARRAY(SELECT number FROM hub.ended WHERE queue = p_queue AND is_recent AND status <> 'f'
    ORDER BY number DESC OFFSET 50 LIMIT added);
  IF cardinality(beyond) = 0 THEN RETURN; END IF;
  IF added IS NOT NULL AND random() < 0.1 THEN
    beyond := beyond || ARRAY(SELECT number FROM hub.ended WHERE queue = p_queue AND is_recent AND status <> 'f'
      AND number < beyond[cardinality(beyond)] AND number > beyond[cardinality(beyond)] - 1000);
  END IF;
  WITH gone AS (
    DELETE FROM hub.ended WHERE number = ANY(ARRAY(
      SELECT number FROM hub.ended WHERE number = ANY(beyond) FOR UPDATE SKIP LOCKED
    )) RETURNING id
  )
  DELETE FROM hub.log_entries l USING gone, hub.queues q WHERE q.id = p_queue AND l.log = ANY (hub.run_logs(q.service, gone.id));
END $$;

-- Drops what exceeds the retention of a queue, apart from what another transaction drops: events that end at the same time do not
-- wait for each other. Without limits, as when an event is replaced, dead letters are kept.
-- @param by_age drops also runs that are older than their type allows, and looks at all runs for it. Until then, reads leave
-- them out.
CREATE FUNCTION hub.retain(p_queue int, limits hub.limits, t bigint, by_age boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  keep jsonb := (SELECT settings -> 'retain' FROM hub.queues WHERE id = p_queue);
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN RETURN; END IF;
  PERFORM hub.trim_recent(p_queue);
  UPDATE hub.ended SET is_recent = false WHERE number IN (
    SELECT number FROM hub.ended WHERE queue = p_queue AND is_recent AND status = 'f'
      AND number <= (SELECT number FROM hub.ended WHERE queue = p_queue AND is_recent AND status = 'f'
        ORDER BY number DESC OFFSET 50 LIMIT 1) ORDER BY number FOR UPDATE SKIP LOCKED);
  -- One statement for each condition, which an index serves: that of the order, or of the time.
  UPDATE hub.ended SET is_dead = false, body = CASE WHEN is_run THEN body END WHERE number IN (
    SELECT number FROM hub.ended WHERE queue = p_queue AND is_dead AND dead_until <= t FOR UPDATE SKIP LOCKED);
  IF limits."maxDeadLetters" IS NOT NULL THEN
    UPDATE hub.ended SET is_dead = false, body = CASE WHEN is_run THEN body END WHERE number IN (
      SELECT number FROM hub.ended WHERE queue = p_queue AND is_dead
        AND number <= (SELECT number FROM hub.ended WHERE queue = p_queue AND is_dead
          ORDER BY number DESC OFFSET limits."maxDeadLetters" LIMIT 1) ORDER BY number FOR UPDATE SKIP LOCKED);
  END IF;
  -- A run can end before the process that started it has the chance to ask for its result.
  WITH beyond AS MATERIALIZED (
    (SELECT number FROM hub.ended WHERE queue = p_queue AND is_run AND status = 'c'
      AND number <= (SELECT number FROM hub.ended WHERE queue = p_queue AND is_run AND status = 'c'
        ORDER BY number DESC OFFSET coalesce((keep ->> 'completed')::bigint, 50) LIMIT 1) ORDER BY number)
    UNION ALL
    (SELECT number FROM hub.ended WHERE queue = p_queue AND is_run AND status <> 'c'
      AND number <= (SELECT number FROM hub.ended WHERE queue = p_queue AND is_run AND status <> 'c'
        ORDER BY number DESC OFFSET coalesce((keep ->> 'failed')::bigint, 200) LIMIT 1) ORDER BY number)
    UNION ALL
    SELECT number FROM hub.ended WHERE by_age AND keep ? 'ageMs' AND queue = p_queue AND is_run AND ended_at <= t - (keep ->> 'ageMs')::float8
  ), free AS MATERIALIZED (
    SELECT number FROM hub.ended WHERE number IN (SELECT number FROM beyond) FOR UPDATE SKIP LOCKED
  ), evicted AS (
    UPDATE hub.ended e SET is_run = false, readable_until = e.accepted_at + 10000 WHERE number IN (SELECT number FROM free)
      AND NOT EXISTS (SELECT FROM hub.watchers w WHERE w.seq = e.seq AND w.kind = 'x') RETURNING id, is_dead
  )
  DELETE FROM hub.log_entries l USING evicted, hub.queues q
  WHERE q.id = p_queue AND NOT evicted.is_dead AND l.log = ANY (hub.run_logs(q.service, evicted.id));
  WITH free AS MATERIALIZED (
    SELECT number FROM hub.ended WHERE queue = p_queue AND NOT (is_recent OR is_run OR is_dead)
      AND coalesce(readable_until, 0) <= t FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM hub.ended USING free WHERE ended.number = free.number RETURNING seq, id
  ), outputs AS (
    DELETE FROM hub.log_entries l USING gone, hub.queues q WHERE q.id = p_queue AND l.log = ANY (hub.run_logs(q.service, gone.id))
  )
  DELETE FROM hub.entries USING gone WHERE entries.seq = gone.seq AND NOT EXISTS (SELECT FROM hub.events e WHERE e.seq = gone.seq);
END $$;

-- Records the outcomes of deliveries of a connection. Returns a result for each.
CREATE FUNCTION hub.conclude(p_member bigint, sender text, outcomes json, limits hub.limits) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  o hub.outcome;
  ev hub.events;
  all_outcomes hub.outcome[];
  results text[];
  done int[];
  filtered hub.events[] := '{}';
  has_follow_ups boolean;
  beyond bigint[] := '{}';
  follow_ups json;
  queues int[];
  names text[] := '{}';
  amounts float8[];
  ended int[] := '{}';
  freed int[] := '{}';
  each int;
  i int;
BEGIN
  SELECT array_agg(x), bool_or(json_array_length(x."followUps") > 0) INTO all_outcomes, has_follow_ups
  FROM json_populate_recordset(NULL::hub.outcome, outcomes) x;
  results := array_fill('ok'::text, ARRAY[cardinality(all_outcomes)]);
  IF cardinality(all_outcomes) > 50 THEN
    -- Events that have 50 newer ones of their queue in this call: the retention would drop them.
    SELECT coalesce(array_agg(seq), '{}') INTO beyond FROM (
      SELECT x.seq, row_number() OVER (PARTITION BY e.queue ORDER BY x.ordinality DESC) AS age FROM unnest(all_outcomes) WITH ORDINALITY x,
        LATERAL (SELECT queue FROM hub.events WHERE seq = x.seq AND token = x.token OFFSET 0) e
      WHERE x.status = 'completed'
    ) y WHERE age > 50;
  END IF;
  -- Events that nothing else depends on end together.
  WITH gone AS (
    DELETE FROM hub.events e USING (
      SELECT x.seq, x.token, x."durationMs", x.ordinality AS n FROM unnest(all_outcomes) WITH ORDINALITY x
      WHERE x.status = 'completed' AND NOT x."isOverdue" AND x."isFiltered" IS NOT TRUE OFFSET 0
    ) c
    -- Found by its number: the index by owners has the rows of leases that have ended while any transaction lasts.
    WHERE e.seq = c.seq AND e.token = c.token AND e.owner IS NOT DISTINCT FROM p_member AND e.state = 'a' AND NOT e.is_run AND e.dedupe IS NULL
      AND NOT e.skips AND e.parent IS NULL AND NOT e.holds_key AND e.needs = 0 AND NOT e.has_inbox
    RETURNING e.seq, e.queue, e.id, e.request_id, e.cause_id, e.attempt, e.attempts, e.accepted_at, e.started_at, e.depth, e.delay_ms,
      e.priority, e.replays, c."durationMs", c.n
  ), kept AS (
    INSERT INTO hub.ended (seq, queue, id, request_id, status, accepted_at, ended_at, is_recent, is_run, is_dead, event)
    SELECT seq, queue, id, request_id, 'c', accepted_at, t, true, false, false, json_build_object('seq', seq, 'id', id,
      'request_id', request_id, 'cause_id', cause_id, 'attempt', attempt, 'attempts', attempts, 'accepted_at', accepted_at,
      'started_at', started_at, 'depth', depth, 'delay_ms', delay_ms, 'priority', priority, 'replays', replays)
    FROM gone WHERE seq <> ALL(beyond) ORDER BY n
  )
  SELECT coalesce(array_agg(n), '{}'), coalesce(array_agg(queue), '{}'), coalesce(array_agg("durationMs"), '{}')
  INTO done, queues, amounts FROM gone;
  IF cardinality(done) > 0 THEN
    IF has_follow_ups THEN
      SELECT json_agg(f ORDER BY x.ordinality, f.ordinality) INTO follow_ups FROM unnest(all_outcomes) WITH ORDINALITY x, json_array_elements(x."followUps") WITH ORDINALITY f(f)
      WHERE x.ordinality = ANY(done);
      IF follow_ups IS NOT NULL THEN PERFORM hub.accept(follow_ups, sender); END IF;
    END IF;
    freed := ARRAY(SELECT q.id FROM hub.queues q WHERE q.id = ANY(queues) AND q.is_limited);
    names := array_fill('e'::text, ARRAY[cardinality(queues)]);
  END IF;
  FOR i IN 1..cardinality(all_outcomes) LOOP
    CONTINUE WHEN i = ANY(done);
    o := all_outcomes[i];
    SELECT * INTO ev FROM hub.events WHERE seq = o.seq AND token = o.token AND owner = p_member AND state = 'a' FOR UPDATE;
    IF ev.seq IS NULL THEN
      results[i] := CASE WHEN EXISTS (SELECT FROM hub.events WHERE seq = o.seq) THEN 'fenced' ELSE 'already' END;
      CONTINUE;
    END IF;
    IF o."isOverdue" AND NOT ev.is_run THEN
      INSERT INTO hub.overdue VALUES (ev.token, p_member, ev.queue, ev.key);
    END IF;
    queues := queues || ev.queue;
    names := names || '~'::text;
    amounts := amounts || 0::float8;
    IF o."isFiltered" THEN
      filtered := filtered || ev;
    ELSIF NOT o.status = ANY('{suspended,released}') AND NOT coalesce(o."isCancelled", false) THEN
      queues := queues || ev.queue;
      names := names || 'd'::text;
      amounts := amounts || o."durationMs";
    END IF;
    IF o.status = 'suspended' THEN
      UPDATE hub.events SET owner = NULL, crashes = 0, started = NULL, is_cause = false,
        state = CASE WHEN ev.entries > o.seen OR ev.has_inbox AND hub.has_offers(ev.seq) THEN 'r' ELSE 's' END WHERE seq = ev.seq;
    ELSIF o.status IN ('retry', 'released') THEN
      IF o.status = 'retry' THEN
        queues := queues || ev.queue;
        names := names || 't'::text;
        amounts := amounts || 0::float8;
      END IF;
      UPDATE hub.events SET owner = NULL, started = NULL, crashes = CASE WHEN o.status = 'retry' THEN 0 ELSE ev.crashes END,
        is_cause = ev.is_cause AND o.status <> 'retry',
        state = CASE WHEN o."delayMs" > 0 AND o.version IS NULL THEN 'd' ELSE 'r' END,
        due_at = CASE WHEN o."delayMs" > 0 AND o.version IS NULL THEN t + ceil(o."delayMs") END,
        needs = greatest(ev.needs, o.version),
        attempt = CASE WHEN o.status = 'retry' THEN ev.attempt + 1 ELSE ev.attempt END,
        attempts = CASE WHEN o.status = 'retry' AND NOT ev.is_run THEN hub.keep_attempt(ev.attempts, format(
          '{"attempt":%s,"startedAt":%s,"endedAt":%s,"error":%s}', ev.attempt, ev.started_at, t, o.error)) ELSE ev.attempts END
      WHERE seq = ev.seq;
    ELSE
      queues := queues || ev.queue;
      names := names || CASE WHEN o."isFiltered" THEN 'i' WHEN o.status = 'completed' THEN 'c' WHEN o."isCancelled" THEN 'x' ELSE 'f' END;
      amounts := amounts || 0::float8;
      PERFORM hub.finish(ev, names[cardinality(names)], o, limits, t);
      IF NOT ev.queue = ANY(ended) THEN ended := ended || ev.queue; END IF;
      IF json_array_length(o."followUps") > 0 THEN PERFORM hub.accept(o."followUps", sender); END IF;
    END IF;
    -- A slot of a key or type may be free, or the event may be ready, for another connection too.
    IF (ev.needs > 0 OR o.status = ANY('{released,retry,suspended}') OR ev.holds_key
        OR EXISTS (SELECT FROM hub.queues WHERE id = ev.queue AND is_limited))
      AND NOT ev.queue = ANY(freed) THEN
      freed := freed || ev.queue;
    END IF;
  END LOOP;
  PERFORM hub.count_all(t, queues, names, amounts);
  FOREACH each IN ARRAY ended LOOP PERFORM hub.retain(each, limits, t); END LOOP;
  IF cardinality(filtered) > 0 THEN PERFORM hub.uncount_starts(filtered); END IF;
  IF cardinality(freed) > 0 THEN PERFORM hub.notify_work(freed); END IF;
  RETURN array_to_json(results);
END $$;

-- Records outcomes as `conclude` does, and claims for the slots that they free. Returns the replies of both as `results` and
-- `claimed`; without the latter if the claim failed, since nothing takes outcomes back.
CREATE FUNCTION hub.conclude_and_claim(
  p_member bigint, sender text, outcomes json, limits hub.limits,
  p_claiming bigint, concurrency int, p_queues int[], busy int[], running int[], p_floor bigint
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  results json;
  durability text := current_setting('synchronous_commit');
  may_claim boolean;
  claimed json;
BEGIN
  -- Before any event, as whoever removes the connection does.
  PERFORM FROM hub.members WHERE id = p_claiming FOR KEY SHARE SKIP LOCKED;
  may_claim := FOUND;
  results := hub.conclude(p_member, sender, outcomes, limits);
  IF NOT may_claim THEN RETURN json_build_object('results', results, 'claimed', NULL); END IF;
  BEGIN
    claimed := hub.claim(p_claiming, concurrency, p_queues, busy, running, p_floor);
  EXCEPTION WHEN OTHERS THEN
    claimed := NULL;
  END;
  -- Outcomes are not lost with the server.
  PERFORM set_config('synchronous_commit', durability, true);
  RETURN json_build_object('results', results, 'claimed', claimed);
END $$;

-- Ends an event from outside, and the child runs that it waits for. @param reason JSON of an error for a running handler
CREATE FUNCTION hub.end_event(p_seq bigint, o hub.outcome, reason json, limits hub.limits, is_cancel boolean) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  ev hub.events;
  child record;
  status text := CASE WHEN o.status = 'completed' THEN 'c' WHEN o."isCancelled" THEN 'x' ELSE 'f' END;
  following hub.outcome;
  own_service text;
BEGIN
  SELECT * INTO ev FROM hub.events WHERE seq = p_seq FOR UPDATE;
  IF ev.seq IS NULL THEN RETURN 'already'; END IF;
  IF is_cancel AND (ev.state = 's' OR ev.state = 'a' AND ev.is_run) THEN RETURN 'fenced'; END IF;
  SELECT q.service INTO own_service FROM hub.queues q WHERE q.id = ev.queue;
  FOR child IN SELECT e.seq, w.on_cancel FROM hub.waits w
    JOIN hub.queues q ON q.type = w.child_type AND q.service = own_service
    JOIN hub.events e ON e.queue = q.id AND hashtextextended(e.id, 0) = hashtextextended(w.child_id, 0) AND e.id = w.child_id
    WHERE w.seq = ev.seq AND o.status = 'failed' ORDER BY e.seq
  LOOP
    -- It would resolve a wait of its parent, which ends with it.
    UPDATE hub.events SET parent = NULL WHERE seq = child.seq;
    following := hub.cancelled(o.error, coalesce(child.on_cancel, '[]'));
    PERFORM hub.end_event(child.seq, following, reason, limits, false);
  END LOOP;
  PERFORM hub.finish(ev, status, o, (0, NULL)::hub.limits, t);
  PERFORM hub.count_all(t,
    CASE WHEN status = 'x' THEN ARRAY[ev.queue] ELSE ARRAY[ev.queue, ev.queue] END,
    CASE WHEN status = 'x' THEN ARRAY['x'] ELSE ARRAY[status, 'd'] END,
    CASE WHEN status = 'x' THEN ARRAY[0::float8] ELSE ARRAY[0::float8, o."durationMs"] END);
  PERFORM hub.retain(ev.queue, limits, t);
  IF json_array_length(o."followUps") > 0 THEN PERFORM hub.accept(o."followUps", own_service); END IF;
  IF ev.state = 'a' THEN
    -- Until the handler has returned.
    INSERT INTO hub.overdue VALUES (ev.token, ev.owner, ev.queue, ev.key, reason);
    PERFORM hub.notify('x' || ev.seq || ' ' || reason::text);
  END IF;
  PERFORM hub.notify('w' || ev.queue);
  RETURN 'ok';
END $$;

-- Ends a run of a service.
CREATE FUNCTION hub.end_run(p_service text, p_type text, p_id text, outcome json, reason json, limits hub.limits) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  found bigint := hub.find_pending(p_service, p_type, p_id);
BEGIN
  IF found IS NULL THEN
    RETURN to_json(CASE WHEN EXISTS (SELECT FROM hub.ended e JOIN hub.queues q ON q.id = e.queue
      WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND q.type = p_type AND q.service = p_service AND e.is_run) THEN 'already'::text ELSE 'fenced' END);
  END IF;
  RETURN to_json(hub.end_event(found, json_populate_record(NULL::hub.outcome, outcome), reason, limits, false));
END $$;

CREATE FUNCTION hub.find_pending(p_service text, p_type text, p_id text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT e.seq FROM hub.events e JOIN hub.queues q ON q.id = e.queue
  WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND q.service = p_service AND (p_type IS NULL OR q.type = p_type) LIMIT 1
$$;

-- Accepts the event of a dead letter again.
CREATE FUNCTION hub.replay(p_service text, p_id text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  dead hub.ended;
  ev hub.events;
BEGIN
  DELETE FROM hub.ended e USING hub.queues q WHERE q.id = e.queue AND q.service = p_service
    AND hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND e.is_dead
    AND (e.dead_until IS NULL OR e.dead_until > t) RETURNING e.* INTO dead;
  IF dead.seq IS NULL THEN RETURN to_json(false); END IF;
  ev := json_populate_record(NULL::hub.events, dead.event);
  INSERT INTO hub.events (seq, queue, priority, accepted_at, is_run, id, request_id, cause_id, key, depth, delay_ms, replays,
    trace, parent, receives, cancel_on, body, entries, needs, skips, is_admitted)
  VALUES (ev.seq, ev.queue, ev.priority, t, ev.is_run, ev.id, ev.request_id, ev.cause_id, ev.key, ev.depth, ev.delay_ms,
    ev.replays + 1, ev.trace, ev.parent, ev.receives, ev.cancel_on, dead.body, ev.entries, ev.needs, ev.skips, ev.is_admitted);
  IF ev.skips THEN
    -- A key that is in use stands for the event that has it as well.
    INSERT INTO hub.dedupe_ids AS d SELECT hub.overlaps(type), ev.key, ev.id, t, 1 FROM hub.queues WHERE id = ev.queue
    ON CONFLICT (type, id) DO UPDATE SET pending = greatest(d.pending, 0) + 1,
      event = CASE WHEN d.pending > 0 THEN d.event ELSE excluded.event END;
  END IF;
  PERFORM hub.open_inbox(ev.seq, ev.queue, ev.receives, ev.cancel_on, t);
  PERFORM hub.count_all(t, ARRAY[ev.queue], ARRAY['r'], ARRAY[0::float8]);
  PERFORM hub.notify('w' || ev.queue);
  RETURN to_json(true);
END $$;

-- Records that the service of an event admits it.
CREATE FUNCTION hub.admit(p_seq bigint, p_token bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE was_admitted boolean;
BEGIN
  SELECT is_admitted INTO was_admitted FROM hub.events WHERE seq = p_seq AND token = p_token AND state = 'a' FOR UPDATE;
  IF was_admitted IS NULL THEN RETURN to_json('fenced'::text); END IF;
  UPDATE hub.events SET is_admitted = true WHERE seq = p_seq AND NOT is_admitted;
  RETURN to_json(CASE WHEN was_admitted THEN 'already'::text ELSE 'ok' END);
END $$;

-- Records an entry of a run and accepts what it emitted. Returns the result and the entries after the known ones.
CREATE FUNCTION hub.checkpoint(p_seq bigint, p_token bigint, known int, p_key text, p_value text, emits json, sender text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  result text := 'ok';
  recorded_by bigint;
BEGIN
  PERFORM FROM hub.events WHERE seq = p_seq AND token = p_token AND state = 'a' FOR UPDATE;
  IF NOT FOUND THEN RETURN json_build_object('result', 'fenced', 'entries', '[]'::json); END IF;
  SELECT token INTO recorded_by FROM hub.entries WHERE seq = p_seq AND key = p_key;
  IF recorded_by IS NOT NULL THEN
    result := CASE WHEN recorded_by = p_token THEN 'already' ELSE 'fenced' END;
  ELSE
    PERFORM hub.record_entry(p_seq, p_token, p_key, p_value);
    IF json_array_length(emits) > 0 THEN PERFORM hub.accept(emits, sender); END IF;
  END IF;
  RETURN json_build_object('result', result, 'entries', hub.entries_json(p_seq, known));
END $$;

CREATE TYPE hub.wait AS (
  key text, "delayMs" float8, event json, run json, "onCancel" json, "isRetry" boolean, "isApproval" boolean,
  "isJudged" boolean
);

-- Stores waits of a run, each with its child run.
CREATE FUNCTION hub.add_waits(p_seq bigint, p_token bigint, waits json, sender text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  ev hub.events;
  w hub.wait;
  child hub.envelope;
  child_queue int;
  queues int[];
  names text[] := '{~}';
  is_new boolean;
BEGIN
  SELECT * INTO ev FROM hub.events WHERE seq = p_seq AND token = p_token AND state = 'a' FOR UPDATE;
  IF ev.seq IS NULL THEN RETURN to_json('fenced'::text); END IF;
  queues := ARRAY[ev.queue];
  FOR w IN SELECT * FROM json_populate_recordset(NULL::hub.wait, waits) LOOP
    CONTINUE WHEN EXISTS (SELECT FROM hub.entries WHERE seq = p_seq AND key = w.key);
    is_new := NULL;
    INSERT INTO hub.waits VALUES (p_seq, w.key, ev.queue, t, false, false, coalesce(w."isJudged", false), t + ceil(w."delayMs"),
      w.event ->> 'type', w.event ->> 'key', w.event ->> 'shownKey', w.run ->> 'type', w.run ->> 'id', w."onCancel",
      coalesce(w."isApproval", false))
    ON CONFLICT DO NOTHING RETURNING true INTO is_new;
    CONTINUE WHEN is_new IS NULL;
    IF w."isRetry" THEN
      queues := queues || ev.queue;
      names := names || 't'::text;
    END IF;
    IF w.run IS NOT NULL THEN
      child := json_populate_record(NULL::hub.envelope, w.run);
      child."dedupeId" := NULL;
      child.overlap := NULL;
      child_queue := hub.queue_of(sender, child.type);
      PERFORM hub.insert_event(child, child_queue, (SELECT settings - 'debounce' FROM hub.queues WHERE id = child_queue), t);
      queues := queues || child_queue;
      names := names || 'r'::text;
      PERFORM hub.notify('w' || child_queue);
    END IF;
    IF w."isJudged" AND NOT ev.has_inbox THEN
      -- A run that receives nothing keeps events for this wait alone.
      UPDATE hub.events SET has_inbox = true WHERE seq = p_seq RETURNING * INTO ev;
    END IF;
    IF w.event IS NOT NULL AND ev.has_inbox THEN PERFORM hub.settle(p_seq, 0, t); END IF;
  END LOOP;
  PERFORM hub.count_all(t, queues, names, array_fill(0::float8, ARRAY[cardinality(names)]));
  IF EXISTS (SELECT FROM hub.watchers WHERE seq = p_seq AND kind = 'c') THEN PERFORM hub.notify('c' || p_seq); END IF;
  RETURN to_json('ok'::text);
END $$;

-- Records the verdict on an offer. Returns the result, the entries after the known ones, and the offers that are left.
CREATE FUNCTION hub.decide(
  p_seq bigint, p_token bigint, known int, p_kept bigint, p_wait text, verdict text, entry text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  k hub.kept_events;
  is_open boolean;
BEGIN
  PERFORM FROM hub.events WHERE seq = p_seq AND token = p_token AND state = 'a' FOR UPDATE;
  IF NOT FOUND THEN RETURN json_build_object('result', 'fenced', 'entries', '[]'::json, 'offers', '[]'::json); END IF;
  SELECT * INTO k FROM hub.kept_events WHERE seq = p_seq AND number = p_kept;
  is_open := FOUND AND (p_wait IS NULL OR EXISTS (SELECT FROM hub.waits WHERE seq = p_seq AND key = p_wait));
  IF is_open THEN
    IF verdict = 'failed' AND p_wait IS NOT NULL THEN
      DELETE FROM hub.waits WHERE seq = p_seq AND key = p_wait;
      PERFORM hub.record_entry(p_seq, 0, p_wait, entry);
    ELSIF verdict = 'taken' AND p_wait IS NOT NULL THEN
      PERFORM hub.resolve(p_seq, p_wait, format('"by":"event","id":%s,"payload":%s', to_json(k.id), k.body), t);
      k.is_taken := k.is_taken OR k.deciding IS NULL;
    END IF;
    UPDATE hub.kept_events SET is_taken = k.is_taken, refused_by = refused_by || coalesce(p_wait, hub.reason_name(k.type))
    WHERE number = p_kept;
  END IF;
  PERFORM hub.settle(p_seq, 0, t);
  RETURN json_build_object('result', CASE WHEN is_open THEN 'ok' ELSE 'already' END,
    'entries', hub.entries_json(p_seq, known), 'offers', hub.offers_json(p_seq));
END $$;

-- Registers callers for the ends of runs, each `[service, type, id]`. Returns the key of each; null if it is not pending.
CREATE FUNCTION hub.watch_ends(runs json, p_watcher text) RETURNS json LANGUAGE sql AS $$
  SELECT coalesce(json_agg(hub.watch_run(r ->> 0, r ->> 1, r ->> 2, 'x', p_watcher) ORDER BY n), '[]')
  FROM json_array_elements(runs) WITH ORDINALITY AS x(r, n)
$$;

-- Returns runs that have ended to a caller that is registered for them; null for those that are pending.
CREATE FUNCTION hub.take_ends(seqs bigint[], p_watcher text, limits hub.limits) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  found json;
  each int;
BEGIN
  SELECT json_agg((SELECT hub.ended_json(e, true, 0) FROM hub.ended e WHERE e.seq = s.seq AND e.is_run LIMIT 1) ORDER BY n)
  INTO found FROM unnest(seqs) WITH ORDINALITY AS s(seq, n);
  DELETE FROM hub.watchers w WHERE w.seq = ANY(seqs) AND kind = 'x' AND watcher = p_watcher
    AND NOT EXISTS (SELECT FROM hub.events e WHERE e.seq = w.seq);
  FOR each IN SELECT DISTINCT queue FROM hub.ended WHERE seq = ANY(seqs) AND is_run LOOP
    PERFORM hub.retain(each, limits, hub.now_ms());
  END LOOP;
  RETURN found;
END $$;

-- A pending event of a service, unless it is a run that runs or is suspended.
CREATE FUNCTION hub.find_cancellable(p_service text, p_id text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT hub.event_json(e, true, NULL) FROM hub.events e JOIN hub.queues q ON q.id = e.queue
  WHERE hashtextextended(e.id, 0) = hashtextextended(p_id, 0) AND e.id = p_id AND q.service = p_service AND NOT (e.state = 's' OR e.state = 'a' AND e.is_run) LIMIT 1
$$;

CREATE FUNCTION hub.cancel_event(outcome json, reason json, limits hub.limits) RETURNS json LANGUAGE plpgsql AS $$
DECLARE o hub.outcome := json_populate_record(NULL::hub.outcome, outcome);
BEGIN
  RETURN to_json(hub.end_event(o.seq, o, reason, limits, true));
END $$;
