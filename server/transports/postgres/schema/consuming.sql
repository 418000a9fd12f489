-- Connections, and the leases of their deliveries.

-- Makes settings those of a queue, for its backlog too.
CREATE FUNCTION hub.apply_settings(p_queue int, p_settings jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hub.queues SET settings = p_settings WHERE id = p_queue AND settings <> p_settings;
  IF FOUND THEN
    -- Keys may have other limits.
    DELETE FROM hub.waiting_keys WHERE queue = p_queue;
    PERFORM hub.await_turns(p_queue);
    PERFORM hub.changed(p_queue);
    PERFORM hub.notify('w' || p_queue);
  END IF;
END $$;

-- Queues of a connection with slots of their own, and those with any limit.
CREATE FUNCTION hub.slotted(p_member bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(q.id), '[]') FROM hub.member_types m JOIN hub.queues q ON q.id = m.queue WHERE m.member = p_member AND q.has_slots
$$;
CREATE FUNCTION hub.limited(p_member bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(q.id), '[]') FROM hub.member_types m JOIN hub.queues q ON q.id = m.queue WHERE m.member = p_member AND q.is_limited
$$;

-- Adds a connection with its subscriptions, each `{"type","settings"}`, and removes those that have died: one that lives for
-- less than a heartbeat takes their events too. Returns its id, its queues by type, and those with limits.
CREATE FUNCTION hub.join_member(
  p_service text, p_description text, p_state text, ttl_ms float8, subscriptions json, declared json, former_ms bigint
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  new_member bigint;
  each record;
  found int;
  queues json;
  backlogs int[];
BEGIN
  -- One at a time, so that the last one decides the settings.
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel', 1));
  -- The tables may be those of another server, whose transactions had other numbers: the next fold reads all that was counted.
  DELETE FROM hub.folded WHERE id IN (SELECT id FROM hub.folded FOR UPDATE SKIP LOCKED);
  PERFORM hub.leave(dead.id, 1, former_ms) FROM (SELECT id FROM hub.members WHERE alive_until < hub.now_ms() ORDER BY id) dead;
  INSERT INTO hub.members (service, is_consumer, alive_until, description, state)
  VALUES (p_service, json_array_length(subscriptions) > 0, hub.now_ms() + ttl_ms, p_description, p_state)
  RETURNING id INTO new_member;
  SELECT coalesce(array_agg(DISTINCT q.id), '{}') INTO backlogs FROM json_array_elements(subscriptions) s
  JOIN hub.queues q ON q.service = p_service AND (s -> 'settings' -> 'triggers')::jsonb ? q.type
  WHERE q.is_subscribed AND NOT q.was_handled;
  FOR each IN SELECT value ->> 'type' AS type, (value -> 'settings')::jsonb AS settings FROM json_array_elements(subscriptions)
  LOOP
    found := hub.queue_of(p_service, each.type);
    UPDATE hub.queues SET is_subscribed = true, was_handled = true WHERE id = found AND NOT (is_subscribed AND was_handled);
    INSERT INTO hub.member_types VALUES (new_member, found, each.settings);
    PERFORM hub.apply_settings(found, each.settings);
  END LOOP;
  FOREACH found IN ARRAY backlogs LOOP PERFORM hub.feed_triggers(found); END LOOP;
  FOR each IN
    SELECT value ->> 'type' AS type, json_array_elements_text(value -> 'subscribers') AS service
    FROM json_array_elements(declared)
  LOOP
    -- A service whose workflows alone receive the type needs no copies.
    CONTINUE WHEN EXISTS (SELECT FROM hub.queues WHERE service = each.service AND is_subscribed AND triggers ? each.type);
    found := hub.queue_of(each.service, each.type);
    UPDATE hub.queues SET is_subscribed = true WHERE id = found AND NOT is_subscribed;
  END LOOP;
  PERFORM hub.changed(0);
  SELECT coalesce(json_object_agg(q.type, q.id), '{}') INTO queues
  FROM hub.member_types m JOIN hub.queues q ON q.id = m.queue WHERE m.member = new_member;
  RETURN json_build_object('member', new_member, 'queues', queues, 'slotted', hub.slotted(new_member), 'limited', hub.limited(new_member));
END $$;

-- Starts the runs of the events that were kept for a service before it subscribed to their type. If it does not handle the
-- type, these events end, and no further copies are kept.
CREATE FUNCTION hub.feed_triggers(p_queue int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  q hub.queues;
  run hub.queues;
  ev hub.events;
  e hub.envelope;
BEGIN
  SELECT * INTO q FROM hub.queues WHERE id = p_queue;
  FOR ev IN SELECT * FROM hub.events WHERE queue = p_queue ORDER BY position FOR UPDATE LOOP
    e := (ev.id, q.type, ev.request_id, ev.depth, greatest(0, ev.due_at - t), ev.priority, ev.replays, NULL, NULL, ev.trace,
      ev.key, ev.cause_id, NULL, NULL, NULL, ev.body, NULL, NULL, NULL, NULL);
    FOR run IN SELECT * FROM hub.queues WHERE service = q.service AND is_subscribed AND triggers ? q.type LOOP
      PERFORM hub.insert_event(hub.triggered(e, run.service, run.type), run.id, run.settings, t);
      PERFORM hub.count_all(t, ARRAY[run.id], ARRAY['r'], ARRAY[0::float8]);
      PERFORM hub.notify('w' || run.id);
    END LOOP;
    IF NOT q.was_handled THEN
      PERFORM hub.finish(ev, 'c', NULL, NULL, t);
      PERFORM hub.count_all(t, ARRAY[p_queue], ARRAY['c'], ARRAY[0::float8]);
    END IF;
  END LOOP;
  UPDATE hub.queues SET is_subscribed = false WHERE id = p_queue AND NOT was_handled;
END $$;

-- Starts nothing of some types of a service. It waits for claims and acceptances that are under way.
CREATE FUNCTION hub.pause(p_service text, p_revision bigint, p_types jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM hub.members WHERE service = p_service ORDER BY id FOR UPDATE;
  INSERT INTO hub.pauses AS p VALUES (p_service, p_revision, p_types) ON CONFLICT (service) DO UPDATE
    SET revision = excluded.revision, types = excluded.types WHERE p.revision <= excluded.revision;
  PERFORM hub.notify_work((SELECT array_agg(id) FROM hub.queues WHERE service = p_service));
END $$;

-- Returns running events to their queues, without an outcome. Returns their number.
CREATE FUNCTION hub.release_events(p_member bigint, seqs bigint[], crash int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  released int[];
BEGIN
  WITH freed AS (
    UPDATE hub.events SET state = 'r', owner = NULL, started = NULL,
      -- The first loss counts always, a later one only if the handler had started.
      crashes = crashes + CASE WHEN crashes = 0 OR started IS NOT NULL THEN crash ELSE 0 END,
      is_cause = is_cause OR crash > 0 AND coalesce(started = 'a', false), attempts = hub.keep_attempt(attempts,
      format('{"attempt":%s,"startedAt":%s,"endedAt":%s,"isInterrupted":true}', attempt, started_at, t))
    WHERE owner = p_member AND state = 'a' AND (seqs IS NULL OR seq = ANY(seqs)) RETURNING queue
  )
  SELECT coalesce(array_agg(queue), '{}') INTO released FROM freed;
  PERFORM hub.count_all(t, released, array_fill('~'::text, ARRAY[cardinality(released)]),
    array_fill(0::float8, ARRAY[cardinality(released)]));
  IF cardinality(released) > 0 THEN
    PERFORM hub.notify_work((SELECT array_agg(DISTINCT q) FROM unnest(released) q));
  END IF;
  RETURN cardinality(released);
END $$;

-- Removes a connection that closes or that has died.
CREATE FUNCTION hub.leave(p_member bigint, crash int, former_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  gone hub.members;
  each int;
  latest jsonb;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel', 1));
  -- One that was taken for dead may have renewed its life meanwhile.
  DELETE FROM hub.members WHERE id = p_member AND (crash = 0 OR alive_until < hub.now_ms()) RETURNING * INTO gone;
  IF gone.id IS NULL THEN RETURN; END IF;
  PERFORM hub.release_events(p_member, NULL, crash);
  DELETE FROM hub.overdue WHERE member = p_member;
  DELETE FROM hub.drop_reports WHERE member = p_member;
  DELETE FROM hub.schedule_members WHERE member = p_member;
  IF gone.is_consumer THEN
    DELETE FROM hub.stopped_members WHERE service = gone.service
      AND (ended_at <= t - former_ms OR description = gone.description);
    INSERT INTO hub.stopped_members VALUES (gone.service, gone.description, t);
  END IF;
  FOR each IN DELETE FROM hub.member_types WHERE member = p_member RETURNING queue LOOP
    SELECT settings INTO latest FROM hub.member_types WHERE queue = each ORDER BY member DESC LIMIT 1;
    IF latest IS NOT NULL THEN PERFORM hub.apply_settings(each, latest); END IF;
    PERFORM hub.notify('w' || each);
  END LOOP;
  PERFORM hub.changed(0);
END $$;

-- Extends the life of a connection, and removes those that have died. Returns null if the connection itself was removed;
-- otherwise `leased`, the tokens that it still leases; `slotted` and `limited`, its queues with limits; and what it may not
-- know yet: `changed`, the runs with an entry or an
-- offer; `ended`, the tokens whose events ended from outside, with the reasons; `dropped`, the reports of its runs; `work`, the
-- queues with ready events, of which a notification may have been lost, and the time until the next ones are due.
-- @param known events that it runs, with the number of their entries in `entries`
CREATE FUNCTION hub.heartbeat(
  p_member bigint, p_description text, p_state text, ttl_ms float8, former_ms bigint, known bigint[], entries int[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  dead bigint;
  unknown bigint[];
  queues int[];
  due bigint;
  reply json;
BEGIN
  -- Taken before any row, as `leave` does.
  IF EXISTS (SELECT FROM hub.members WHERE alive_until < hub.now_ms() AND id <> p_member) THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel', 1));
  END IF;
  UPDATE hub.members SET alive_until = hub.now_ms() + ttl_ms, description = p_description, state = p_state WHERE id = p_member;
  IF NOT FOUND THEN RETURN NULL; END IF;
  FOR dead IN SELECT id FROM hub.members WHERE alive_until < hub.now_ms() AND id <> p_member ORDER BY id LOOP
    PERFORM hub.leave(dead, 1, former_ms);
  END LOOP;
  -- The reply of a claim or an acceptance was lost with its connection.
  SELECT array_agg(seq) INTO unknown FROM hub.events
  WHERE owner = p_member AND state = 'a' AND seq <> ALL(known) AND started_at <= hub.now_ms() - ttl_ms;
  IF unknown IS NOT NULL THEN PERFORM hub.release_events(p_member, unknown, 0); END IF;
  SELECT coalesce(array_agg(queue), '{}') INTO queues FROM hub.member_types WHERE member = p_member;
  due := hub.next_due(queues);
  WITH reported AS (DELETE FROM hub.drop_reports WHERE member = p_member RETURNING report)
  SELECT json_build_object(
    'work', (SELECT coalesce(json_agg(id), '[]') FROM unnest(queues) x(id)
      WHERE (SELECT true FROM hub.events e WHERE e.queue = x.id AND e.state = 'r' ORDER BY priority DESC, position LIMIT 1)),
    'wakeInMs', CASE WHEN due IS NOT NULL THEN greatest(0, due - hub.now_ms()) END,
    'slotted', hub.slotted(p_member), 'limited', hub.limited(p_member),
    'leased', (SELECT coalesce(json_agg(token), '[]') FROM hub.events WHERE owner = p_member AND state = 'a'),
    'changed', (SELECT coalesce(json_agg(e.seq), '[]') FROM unnest(known, entries) k(seq, entries) JOIN hub.events e ON e.seq = k.seq
      WHERE e.is_run AND (e.entries > k.entries OR e.has_inbox AND hub.has_offers(e.seq))),
    'ended', (SELECT coalesce(json_agg(json_build_array(token, reason)), '[]') FROM hub.overdue
      WHERE member = p_member AND reason IS NOT NULL),
    'dropped', (SELECT coalesce(json_agg(report), '[]') FROM reported))
  INTO reply;
  RETURN reply;
END $$;

-- Time at which the next events and runs of queues are due.
CREATE FUNCTION hub.next_due(p_queues int[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT min(least(
      (SELECT due_at FROM hub.events WHERE queue = x.id AND state = 'd' ORDER BY due_at LIMIT 1),
      (SELECT due_at FROM hub.waits WHERE queue = x.id AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)))
    FROM unnest(p_queues) x(id));
END $$;

-- Leases events to a connection. Returns them in this order, and their lowest position.
CREATE FUNCTION hub.lease(seqs bigint[], p_member bigint, t bigint, OUT deliveries json[], OUT floor bigint) LANGUAGE plpgsql AS $$
DECLARE
  queues int[];
  names text[];
  waited float8[];
BEGIN
  deliveries := '{}';
  IF cardinality(seqs) = 0 THEN RETURN; END IF;
  WITH found AS MATERIALIZED (
    SELECT x.seq, x.place, e.started_at, q.type, q.retains_runs, q.settings ? 'perKey' AND e.key IS NOT NULL AS takes_key
    FROM unnest(seqs) WITH ORDINALITY x(seq, place) JOIN hub.events e ON e.seq = x.seq JOIN hub.queues q ON q.id = e.queue
  ), leased AS (
    UPDATE hub.events e SET state = 'a', owner = p_member, token = nextval('hub.tokens'), started_at = t,
      is_run = is_run OR retains_runs, holds_key = holds_key OR takes_key
    FROM found WHERE e.seq = found.seq
    RETURNING e.seq, e.token, e.queue, e.position, e.accepted_at, e.attempt, e.crashes, e.is_cause, e.is_admitted, e.id, e.request_id,
      e.cause_id, e.key, e.depth, e.delay_ms, e.priority, e.replays, e.trace, e.parent, e.body, e.is_run, e.entries, e.has_inbox,
      found.started_at, found.place, found.type
  )
  SELECT array_agg(queue), array_agg(CASE WHEN started_at IS NULL THEN 'w' ELSE '~' END), array_agg(greatest(0, t - accepted_at - CASE WHEN replays = 0 THEN delay_ms ELSE 0 END)),
    array_agg(json_build_object('type', type, 'isRun', is_run, 'body', body,
      'entries', CASE WHEN is_run AND entries > 0 THEN hub.entries_json(seq, 0) END,
      'offers', CASE WHEN has_inbox THEN hub.offers_json(seq) END,
      'event', json_build_object('seq', seq, 'token', token, 'queue', queue, 'attempt', attempt, 'crashes', crashes, 'is_cause', is_cause,
        'id', id, 'request_id', request_id, 'cause_id', cause_id, 'key', key, 'depth', depth, 'delay_ms', delay_ms,
        'priority', priority, 'replays', replays, 'is_admitted', is_admitted, 'trace', trace, 'parent', parent)) ORDER BY place), min(position)
  INTO queues, names, waited, deliveries, floor FROM leased;
  PERFORM hub.count_all(t, queues, names, waited);
END $$;

-- Time at which a start counts. Above 100 starts, those within a hundredth of the window count at its end: the log stays short,
-- and allows up to 1 % less.
CREATE FUNCTION hub.start_group(rate jsonb, started bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  span float8 := (rate ->> 'perMs')::float8 / 100;
BEGIN
  RETURN CASE WHEN (rate ->> 'max')::bigint > 100 THEN ceil(ceil(started / span) * span) ELSE started END;
END $$;

-- Number of starts that a rate allows now, and the time of the next one if there is none. Starts up to `cut_at` are not known:
-- while they may be in the window, it allows none.
CREATE FUNCTION hub.rate_room(p_queue int, p_scope text, rate jsonb, t bigint, OUT room int, OUT open_at bigint)
LANGUAGE plpgsql AS $$
DECLARE
  log hub.turns;
  per_ms float8 := (rate ->> 'perMs')::float8;
  left_starts bigint := (rate ->> 'max')::bigint;
BEGIN
  SELECT * INTO log FROM hub.turns WHERE queue = p_queue AND scope = p_scope;
  FOR i IN REVERSE coalesce(cardinality(log.starts), 0)..1 LOOP
    EXIT WHEN log.starts[i] + per_ms <= t;
    left_starts := left_starts - log.counts[i];
    open_at := CASE WHEN left_starts <= 0 THEN ceil(log.starts[i] + per_ms) END;
    EXIT WHEN open_at IS NOT NULL;
  END LOOP;
  IF open_at IS NULL AND log.cut_at + per_ms > t THEN open_at := ceil(log.cut_at + per_ms); END IF;
  room := CASE WHEN open_at IS NULL THEN least(left_starts, 1000000000) ELSE 0 END;
END $$;

-- Notes starts of a type or a key, if a rate counts them. Returns its turn, which is the latest.
CREATE FUNCTION hub.note_starts(p_queue int, p_scope text, rate jsonb, p_count int, t bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  latest bigint := nextval('hub.tokens');
  log hub.turns;
  at bigint := hub.start_group(rate, t);
  total bigint;
  n int;
  first int := 1;
BEGIN
  IF rate IS NULL THEN
    INSERT INTO hub.turns VALUES (p_queue, p_scope, latest) ON CONFLICT (queue, scope) DO UPDATE SET turn = latest;
    RETURN latest;
  END IF;
  SELECT * INTO log FROM hub.turns WHERE queue = p_queue AND scope = p_scope FOR UPDATE;
  n := coalesce(cardinality(log.starts), 0);
  -- The clock may have been set back.
  IF log.starts[n] >= at THEN
    log.counts[n] := log.counts[n] + p_count;
  ELSE
    n := n + 1;
    log.starts[n] := at;
    log.counts[n] := p_count;
  END IF;
  total := (SELECT sum(c) FROM unnest(log.counts) c);
  WHILE total - log.counts[first] >= (rate ->> 'max')::bigint OR n - first >= 200 LOOP
    total := total - log.counts[first];
    log.cut_at := log.starts[first];
    first := first + 1;
  END LOOP;
  INSERT INTO hub.turns VALUES (p_queue, p_scope, latest, log.starts[first:], log.counts[first:], log.cut_at)
  ON CONFLICT (queue, scope) DO UPDATE
    SET turn = excluded.turn, starts = excluded.starts, counts = excluded.counts, cut_at = excluded.cut_at;
  RETURN latest;
END $$;

-- Takes back a start of a type or a key, if it is known.
CREATE FUNCTION hub.uncount_start(p_queue int, p_scope text, rate jsonb, started bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  log hub.turns;
  i int;
BEGIN
  -- Only what it changes is locked.
  SELECT * INTO log FROM hub.turns
  WHERE queue = p_queue AND scope = p_scope AND hub.start_group(rate, started) = ANY(starts) FOR UPDATE;
  i := array_position(log.starts, hub.start_group(rate, started));
  IF i IS NULL THEN RETURN; END IF;
  log.counts[i] := log.counts[i] - 1;
  IF log.counts[i] = 0 THEN
    log.starts := log.starts[:i - 1] || log.starts[i + 1:];
    log.counts := log.counts[:i - 1] || log.counts[i + 1:];
  END IF;
  UPDATE hub.turns SET starts = log.starts, counts = log.counts WHERE queue = p_queue AND scope = p_scope;
END $$;

-- Takes back the starts of events that were filtered, in the order in which `pick` counts them: that of the type last.
CREATE FUNCTION hub.uncount_starts(filtered hub.events[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  each record;
BEGIN
  FOR each IN
    SELECT f.queue, x.scope, x.rate, f.started_at FROM unnest(filtered) f JOIN hub.queues q ON q.id = f.queue
    CROSS JOIN LATERAL (VALUES
      ('=' || f.key, q.settings -> 'perKey' -> 'rate'),
      ('', q.settings -> 'rate')
    ) x(scope, rate)
    WHERE x.scope IS NOT NULL AND x.rate IS NOT NULL
    ORDER BY f.queue, x.scope = '', x.scope
  LOOP
    PERFORM hub.uncount_start(each.queue, each.scope, each.rate, each.started_at);
  END LOOP;
END $$;

-- Time after which a connection looks again for ready events that another transaction held: what released them may be no
-- lease, and tells nobody.
CREATE FUNCTION hub.lock_retry_ms() RETURNS int LANGUAGE sql AS $$ SELECT 5 + floor(random() * 20)::int $$;

-- Adds a key to those that wait for their turn, if the keys of its queue take turns.
CREATE FUNCTION hub.await_turn(p_queue int, p_key text, p_position bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO hub.waiting_keys (queue, key, turn, position)
  SELECT p_queue, p_key, coalesce((SELECT turn FROM hub.turns WHERE queue = p_queue AND scope = '=' || p_key), 0), p_position
  FROM hub.queues WHERE id = p_queue AND has_keys
$$;

-- Adds the keys of a queue with ready events that do not wait for their turn: those of before its settings, those that have
-- no free slot, and those of transactions during which the settings changed.
CREATE FUNCTION hub.await_turns(p_queue int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.await_turn(p_queue, e.key, min(e.position)) FROM hub.events e JOIN hub.queues q ON q.id = e.queue
  WHERE e.queue = p_queue AND q.has_keys AND e.state = 'r' AND e.key IS NOT NULL
    AND NOT EXISTS (SELECT FROM hub.waiting_keys w WHERE w.queue = p_queue AND w.key = e.key)
  GROUP BY e.key;
END $$;

CREATE FUNCTION hub.on_ready() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.await_turn(NEW.queue, NEW.key, NEW.position);
  RETURN NULL;
END $$;
CREATE TRIGGER events_become_ready AFTER INSERT OR UPDATE OF state ON hub.events FOR EACH ROW
  WHEN (NEW.state = 'r' AND NEW.key IS NOT NULL) EXECUTE FUNCTION hub.on_ready();

-- A slot of a key is free. Its turn decides about its place.
CREATE FUNCTION hub.on_freed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.await_turn(OLD.queue, OLD.key, 0);
  RETURN NULL;
END $$;
CREATE TRIGGER events_end AFTER DELETE ON hub.events FOR EACH ROW WHEN (OLD.holds_key) EXECUTE FUNCTION hub.on_freed();
CREATE TRIGGER events_suspend AFTER UPDATE OF state ON hub.events FOR EACH ROW
  WHEN (OLD.holds_key AND OLD.state = 'a' AND NEW.state <> ALL ('{a,r}')) EXECUTE FUNCTION hub.on_freed();
CREATE TRIGGER overdue_end AFTER DELETE ON hub.overdue FOR EACH ROW WHEN (OLD.key IS NOT NULL) EXECUTE FUNCTION hub.on_freed();

-- Leases at most `n` events of a queue with limits or keys. Its row is locked: one connection at a time. `open_at` is the
-- time at which it may lease more.
CREATE FUNCTION hub.pick(p_queue int, p_member bigint, n int, version int, t bigint, OUT deliveries json[], OUT floor bigint, OUT open_at bigint)
LANGUAGE plpgsql AS $$
DECLARE
  s jsonb;
  room record;
  seqs bigint[];
  heads bigint[];
  leased record;
  left_n int := n;
  locked_at bigint;
  head record;
  latest bigint;
  has_looked boolean;
  each record;
BEGIN
  deliveries := '{}';
  SELECT settings INTO s FROM hub.queues WHERE id = p_queue FOR UPDATE;
  IF s ? 'concurrency' THEN
    left_n := least(left_n, (s ->> 'concurrency')::bigint
      - (SELECT count(*) FROM hub.events WHERE queue = p_queue AND state = 'a')
      - (SELECT count(*) FROM hub.overdue WHERE queue = p_queue));
  END IF;
  IF s ? 'rate' THEN
    SELECT * INTO room FROM hub.rate_room(p_queue, '', s -> 'rate', t);
    left_n := least(left_n, room.room);
    open_at := room.open_at;
  END IF;
  IF left_n <= 0 THEN RETURN; END IF;
  IF NOT s ? 'perKey' THEN
    SELECT coalesce(array_agg(seq), '{}') INTO seqs FROM (
      SELECT seq FROM hub.events WHERE queue = p_queue AND state = 'r' AND needs <= version
      ORDER BY priority DESC, position LIMIT left_n FOR NO KEY UPDATE SKIP LOCKED
    ) next;
    SELECT x.deliveries, x.floor INTO deliveries, floor FROM hub.lease(seqs, p_member, t) x;
    IF cardinality(seqs) < left_n AND (
      SELECT true FROM hub.events WHERE queue = p_queue AND state = 'r' AND needs <= version ORDER BY priority DESC, position LIMIT 1
    ) THEN
      locked_at := t;
    END IF;
  ELSE
    -- Each pass looks at the keys that waited longest for their turn, and takes one event of each. Events without a key take
    -- their turns together.
    UPDATE hub.waiting_keys w SET open_at = NULL WHERE w.queue = p_queue AND w.open_at <= t;
    LOOP
      heads := '{}';
      has_looked := false;
      FOR each IN
        SELECT * FROM (
          (SELECT key, turn, position FROM hub.waiting_keys w WHERE w.queue = p_queue AND w.open_at IS NULL AND w.needs <= version
            ORDER BY turn, position LIMIT left_n)
          UNION ALL
          (SELECT NULL, coalesce((SELECT turn FROM hub.turns WHERE queue = p_queue AND scope = '-'), 0), position FROM hub.events e
            WHERE e.queue = p_queue AND e.key IS NULL AND e.state = 'r' AND e.needs <= version ORDER BY priority DESC, position LIMIT 1)
        ) waiting ORDER BY turn, position LIMIT left_n
      LOOP
        IF each.key IS NULL THEN
          SELECT seq INTO head FROM hub.events e WHERE e.queue = p_queue AND e.key IS NULL AND e.state = 'r' AND e.needs <= version
          ORDER BY priority DESC, position LIMIT 1;
        ELSE
          DELETE FROM hub.waiting_keys w WHERE w.queue = p_queue AND w.key = each.key;
          -- An earlier row was of this key too.
          CONTINUE WHEN NOT FOUND;
          has_looked := true;
          latest := (SELECT turn FROM hub.turns WHERE queue = p_queue AND scope = '=' || each.key);
          IF latest > each.turn THEN
            INSERT INTO hub.waiting_keys VALUES (p_queue, each.key, latest, each.position);
            CONTINUE;
          END IF;
          SELECT * INTO head FROM (
            (SELECT seq, holds_key FROM hub.events e WHERE e.queue = p_queue AND e.key = each.key AND holds_key AND state = 'r'
              AND e.needs <= version ORDER BY priority DESC, position LIMIT 1)
            UNION ALL
            (SELECT seq, holds_key FROM hub.events e WHERE e.queue = p_queue AND e.key = each.key AND state = 'r' AND NOT holds_key
              AND e.needs <= version ORDER BY priority DESC, position LIMIT 1)
          ) first LIMIT 1;
          IF head.seq IS NULL THEN
            INSERT INTO hub.waiting_keys SELECT p_queue, each.key, each.turn, each.position, min(e.needs) FROM hub.events e
            WHERE e.queue = p_queue AND e.key = each.key AND state = 'r' HAVING min(e.needs) > version;
            CONTINUE;
          END IF;
          IF (s -> 'perKey' ->> 'concurrency')::bigint <=
            (SELECT count(*) FROM hub.events e WHERE e.queue = p_queue AND e.key = each.key AND e.holds_key
              AND (e.state = 'a' OR NOT head.holds_key))
            + (SELECT count(*) FROM hub.overdue o WHERE o.queue = p_queue AND o.key = each.key)
          THEN
            -- A slot that becomes free adds the key again. One may be held by a run that waits for a newer version.
            INSERT INTO hub.waiting_keys SELECT p_queue, each.key, each.turn, each.position, min(e.needs) FROM hub.events e
            WHERE e.queue = p_queue AND e.key = each.key AND state = 'r' AND holds_key HAVING min(e.needs) > version;
            CONTINUE;
          END IF;
          IF s -> 'perKey' ? 'rate' THEN
            SELECT * INTO room FROM hub.rate_room(p_queue, '=' || each.key, s -> 'perKey' -> 'rate', t);
            IF room.room = 0 THEN
              INSERT INTO hub.waiting_keys VALUES (p_queue, each.key, each.turn, each.position, 0, room.open_at);
              CONTINUE;
            END IF;
          END IF;
        END IF;
        PERFORM FROM hub.events WHERE seq = head.seq AND state = 'r' FOR NO KEY UPDATE SKIP LOCKED;
        IF FOUND THEN
          heads := heads || head.seq;
          latest := hub.note_starts(p_queue, coalesce('=' || each.key, '-'), CASE WHEN each.key IS NOT NULL THEN s -> 'perKey' -> 'rate' END, 1, t);
        ELSE
          locked_at := t;
          has_looked := false;
          latest := each.turn;
        END IF;
        IF each.key IS NOT NULL THEN
          INSERT INTO hub.waiting_keys SELECT p_queue, each.key, latest, each.position WHERE locked_at IS NOT NULL
            OR EXISTS (SELECT FROM hub.events e WHERE e.queue = p_queue AND e.key = each.key AND state = 'r' AND e.seq <> head.seq);
        END IF;
      END LOOP;
      SELECT * INTO leased FROM hub.lease(heads, p_member, t);
      deliveries := deliveries || leased.deliveries;
      floor := least(floor, leased.floor);
      left_n := left_n - cardinality(heads);
      EXIT WHEN left_n <= 0 OR cardinality(heads) = 0 AND NOT has_looked;
    END LOOP;
    open_at := least(open_at, (SELECT w.open_at FROM hub.waiting_keys w WHERE w.queue = p_queue AND w.open_at IS NOT NULL
      ORDER BY w.open_at LIMIT 1));
  END IF;
  IF s ? 'rate' AND cardinality(deliveries) > 0 THEN
    PERFORM hub.note_starts(p_queue, '', s -> 'rate', cardinality(deliveries), t);
    SELECT r.open_at INTO open_at FROM hub.rate_room(p_queue, '', s -> 'rate', t) r;
  END IF;
  open_at := least(open_at, locked_at + hub.lock_retry_ms());
END $$;

-- Leases events to a connection: of some of its queues, in turns that begin with the first one. `running` has the number
-- of its handlers per queue in `busy`. Returns deliveries, the queues that may have more for it, and the time until the next
-- ones may be due; null if it was removed. Its commit may be lost with the server: an event is then ready again.
-- @param p_floor position before which it looks for no event of a queue without limits: rows of events that have ended stay in
-- the index while any transaction lasts. Returns also the lowest position that it leased, of queues
-- with limits too, and how long it looked at the others.
-- Whether a queue has ready events is asked with an order and a limit everywhere, whatever the statistics say: EXISTS may become
-- a join that reads all of them, and without the order an index may serve that has suspended runs too. With OFFSET 0 each queue is
-- looked up by itself: a connection may handle thousands.
CREATE FUNCTION hub.claim(
  p_member bigint, concurrency int, p_queues int[], busy int[], running int[], p_floor bigint DEFAULT 0
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  shared int;
  deliveries json[] := '{}';
  lowest bigint;
  seqs bigint[];
  more record;
  wake bigint;
  each record;
  room int;
  waiting int;
  own_service text;
  paused jsonb;
  open_queues int[];
  shared_queues int[];
  limited_queues int[];
  share_of int[];
  rest int[] := '{}';
  began timestamptz;
  took interval;
BEGIN
  SELECT service INTO own_service FROM hub.members WHERE id = p_member FOR KEY SHARE;
  IF own_service IS NULL THEN RETURN NULL; END IF;
  -- After the lock, for which it may have waited until a pause took effect.
  SELECT types INTO paused FROM hub.pauses WHERE service = own_service;
  PERFORM set_config('synchronous_commit', 'off', true);
  wake := hub.next_due(p_queues);
  IF wake <= t THEN wake := hub.promote_due(p_queues, t); END IF;
  began := clock_timestamp();
  SELECT coalesce(array_agg(x.id ORDER BY place) FILTER (WHERE NOT q.is_limited), '{}'),
    coalesce(array_agg(x.id ORDER BY x.id) FILTER (WHERE q.is_limited), '{}')
  INTO shared_queues, limited_queues FROM unnest(p_queues) WITH ORDINALITY x(id, place),
    LATERAL (SELECT * FROM hub.queues WHERE id = x.id OFFSET 0) q
  WHERE (paused IS NULL OR NOT (paused = '"all"' OR paused ? q.type))
    AND (SELECT true FROM hub.events e WHERE e.queue = x.id AND e.state = 'r'
      AND e.position >= CASE WHEN q.is_limited THEN 0 ELSE p_floor END ORDER BY priority DESC, position LIMIT 1);
  took := clock_timestamp() - began;
  shared := concurrency;
  IF cardinality(busy) > 0 THEN
    SELECT concurrency - coalesce(sum(x.running), 0) INTO shared
    FROM unnest(busy, running) x(id, running) WHERE (SELECT NOT q.has_slots FROM hub.queues q WHERE q.id = x.id);
  END IF;
  IF cardinality(limited_queues) > 0 THEN
    SELECT cardinality(shared_queues) + count(*) INTO waiting FROM hub.queues q WHERE q.id = ANY(limited_queues) AND NOT q.has_slots;
    FOR each IN
      SELECT q.id, coalesce(x.running, 0) AS running, coalesce((m.settings ->> 'version')::int, 1) AS version, q.has_slots,
        q.settings ? 'concurrency' AS is_bounded
      FROM unnest(limited_queues) l(id) LEFT JOIN unnest(busy, running) x(id, running) ON x.id = l.id,
        LATERAL (SELECT * FROM hub.queues WHERE id = l.id OFFSET 0) q,
        LATERAL (SELECT settings FROM hub.member_types WHERE queue = l.id AND member = p_member OFFSET 0) m ORDER BY q.id
    LOOP
      room := CASE WHEN each.is_bounded THEN 2147483647 WHEN each.has_slots THEN concurrency - each.running ELSE ceil(shared::float8 / greatest(waiting, 1))::int END;
      SELECT * INTO more FROM hub.pick(each.id, p_member, room, each.version, t);
      deliveries := deliveries || more.deliveries;
      lowest := least(lowest, more.floor);
      wake := least(wake, more.open_at);
      IF room <= 0 OR cardinality(more.deliveries) >= room THEN rest := rest || each.id; END IF;
      IF NOT each.has_slots THEN
        shared := shared - cardinality(more.deliveries);
        waiting := waiting - 1;
      END IF;
    END LOOP;
  END IF;
  IF shared > 0 AND cardinality(shared_queues) > 0 THEN
    share_of := ARRAY[shared];
    IF cardinality(shared_queues) > 1 THEN
      WITH waiting AS (
        SELECT x.id, place, row_number() OVER (PARTITION BY x.id) AS turn
        FROM unnest(shared_queues) WITH ORDINALITY x(id, place),
        LATERAL (SELECT coalesce((settings ->> 'version')::int, 1) AS version FROM hub.member_types WHERE queue = x.id AND member = p_member OFFSET 0) m, LATERAL (
          SELECT FROM hub.events WHERE queue = x.id AND state = 'r' AND position >= p_floor AND needs <= m.version ORDER BY priority DESC, position LIMIT shared
        ) found
      )
      SELECT coalesce(array_agg(id ORDER BY place), '{}'), coalesce(array_agg(share ORDER BY place), '{}') INTO open_queues, share_of
      FROM (SELECT id, place, count(*) AS share FROM (SELECT * FROM waiting ORDER BY turn, place LIMIT shared) taken GROUP BY 1, 2) x;
    ELSE
      open_queues := shared_queues;
    END IF;
    began := clock_timestamp();
    SELECT coalesce(array_agg(next.seq ORDER BY next.turn, place), '{}') INTO seqs
    FROM unnest(open_queues, share_of) WITH ORDINALITY x(id, share, place),
      LATERAL (SELECT coalesce((settings ->> 'version')::int, 1) AS version FROM hub.member_types WHERE queue = x.id AND member = p_member OFFSET 0) m, LATERAL (
      SELECT seq, row_number() OVER () AS turn FROM (
        SELECT seq FROM hub.events WHERE queue = x.id AND state = 'r' AND position >= p_floor AND needs <= m.version
        ORDER BY priority DESC, position LIMIT x.share FOR NO KEY UPDATE SKIP LOCKED
      ) locked
    ) next;
    took := took + (clock_timestamp() - began);
    more := hub.lease(seqs, p_member, t);
    deliveries := deliveries || more.deliveries;
    lowest := least(lowest, more.floor);
    shared := shared - cardinality(seqs);
    IF shared > 0 AND EXISTS (
      SELECT FROM unnest(shared_queues) x(id),
        LATERAL (SELECT coalesce((settings ->> 'version')::int, 1) AS version FROM hub.member_types WHERE queue = x.id AND member = p_member OFFSET 0) m
      WHERE (
        SELECT true FROM hub.events WHERE queue = x.id AND state = 'r' AND position >= p_floor AND needs <= m.version ORDER BY priority DESC, position LIMIT 1
      )
    ) THEN
      wake := least(wake, t + hub.lock_retry_ms());
    END IF;
  END IF;
  IF shared <= 0 THEN
    began := clock_timestamp();
    rest := rest || ARRAY(SELECT x.id FROM unnest(shared_queues) x(id)
      WHERE (SELECT true FROM hub.events e WHERE e.queue = x.id AND e.state = 'r' AND e.position >= p_floor
        ORDER BY priority DESC, position LIMIT 1));
    took := took + (clock_timestamp() - began);
  END IF;
  RETURN json_build_object('wakeInMs', CASE WHEN wake IS NOT NULL THEN greatest(0, wake - hub.now_ms()) END, 'rest', rest,
    'floor', lowest, 'tookMs', extract(epoch FROM took) * 1000, 'deliveries', array_to_json(deliveries));
END $$;

-- Makes events and runs ready whose time has come: a portion with each call. Returns the time of the next ones.
CREATE FUNCTION hub.promote_due(p_queues int[], t bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE each record;
BEGIN
  FOR each IN
    WITH due AS (
      SELECT seq FROM hub.events WHERE queue = ANY(p_queues) AND state = 'd' AND due_at <= t
      ORDER BY queue, due_at LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), ready AS (
      UPDATE hub.events e SET state = 'r', due_at = NULL, in_window = false FROM due WHERE e.seq = due.seq RETURNING e.queue
    )
    SELECT DISTINCT queue FROM ready
  LOOP
    PERFORM hub.changed(each.queue);
  END LOOP;
  FOR each IN
    SELECT seq, key, is_judged FROM hub.waits WHERE queue = ANY(p_queues) AND due_at <= t ORDER BY queue, due_at LIMIT 1000
  LOOP
    PERFORM hub.resolve(each.seq, each.key, '"by":"time"', t);
    IF each.is_judged THEN PERFORM hub.settle(each.seq, 0, t); END IF;
  END LOOP;
  RETURN hub.next_due(p_queues);
END $$;

CREATE FUNCTION hub.free_slot(p_token bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE freed int;
BEGIN
  DELETE FROM hub.overdue WHERE token = p_token RETURNING queue INTO freed;
  IF freed IS NOT NULL THEN PERFORM hub.notify('w' || freed); END IF;
END $$;

-- Notes that the handler of an event that was lost before starts, alone in its process or shared with others.
CREATE FUNCTION hub.note_start(p_seq bigint, p_token bigint, place text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hub.events SET started = left(place, 1)::"char" WHERE seq = p_seq AND token = p_token AND state = 'a';
END $$;
