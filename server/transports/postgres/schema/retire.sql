-- End of subscriptions of services that will not return.

-- Ends subscriptions of a service, to all types or to some, and discards what they leave behind. Returns a `Retirement` of
-- services.ts, of which only `done` changed anything.
CREATE FUNCTION hub.retire(p_service text, p_types text[], may_discard boolean, p_error json, limits hub.limits) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  t bigint := hub.now_ms();
  retired int[];
  running text;
  pending bigint;
  dead bigint;
  each bigint;
  discarded hub.outcome;
BEGIN
  -- No connection joins meanwhile.
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel', 1));
  SELECT array_agg(id) INTO retired FROM hub.queues
  WHERE service = p_service AND is_subscribed AND (p_types IS NULL OR type = ANY(p_types));
  IF retired IS NULL THEN
    RETURN json_build_object('status', 'none', 'services',
      (SELECT coalesce(json_agg(DISTINCT service), '[]') FROM hub.queues WHERE is_subscribed));
  END IF;
  SELECT q.type INTO running FROM hub.member_types m JOIN hub.members c ON c.id = m.member JOIN hub.queues q ON q.id = m.queue
  WHERE m.queue = ANY(retired) AND c.alive_until >= t LIMIT 1;
  IF running IS NOT NULL THEN RETURN json_build_object('status', 'running', 'type', running); END IF;
  -- Emits that are under way hold it.
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel', 7));
  PERFORM FROM hub.queues WHERE id = ANY(retired) ORDER BY id FOR UPDATE;
  SELECT count(*) INTO pending FROM hub.events WHERE queue = ANY(retired);
  SELECT count(*) INTO dead FROM hub.ended WHERE queue = ANY(retired) AND is_dead AND coalesce(dead_until > t, true);
  IF pending + dead > 0 AND NOT may_discard THEN
    RETURN json_build_object('status', 'pending', 'events', pending, 'deadLetters', dead);
  END IF;
  UPDATE hub.queues SET is_subscribed = false, was_handled = false, settings = settings - 'triggers' WHERE id = ANY(retired);
  discarded := json_populate_record(NULL::hub.outcome, json_build_object('status', 'failed', 'durationMs', 0,
    'isCancelled', false, 'error', p_error, 'followUps', '[]'::json, 'isOverdue', false));
  FOR each IN SELECT seq FROM hub.events WHERE queue = ANY(retired) ORDER BY seq LOOP
    PERFORM hub.end_event(each, discarded, p_error, limits, false);
  END LOOP;
  UPDATE hub.ended SET is_dead = false, body = CASE WHEN is_run THEN body END WHERE queue = ANY(retired) AND is_dead;
  FOREACH each IN ARRAY retired LOOP PERFORM hub.retain(each::int, limits, t); END LOOP;
  PERFORM hub.changed(0);
  RETURN json_build_object('status', 'done', 'events', pending, 'deadLetters', dead);
END $$;
