-- Events of the transactions of callers.

CREATE TABLE hub.identity (id text PRIMARY KEY DEFAULT gen_random_uuid()::text);
INSERT INTO hub.identity DEFAULT VALUES;

-- Rows are inserted by transactions of callers, and taken by the process that sees them first. `events` has the items of a
-- JSON array. Transactions do not commit in the order of `number`, nor of `tx`. A row that no process could accept has the
-- `error`, and stays.
CREATE TABLE hub.inbox (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
  sender text NOT NULL,
  events text NOT NULL,
  error text
);
CREATE INDEX inbox_order ON hub.inbox (tx, number) WHERE error IS NULL;

-- Takes events that are committed, in one order for all processes: one call at a time. `p_from` is the `from` of an earlier
-- reply, below which every transaction had ended and was read: the rows that were deleted there are not visited again.
-- Returns the number of rows taken and of those that could not be accepted, and whether more are left.
CREATE FUNCTION hub.receive(p_from text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  open_tx xid8;
  from_tx xid8 := p_from::xid8;
  is_waiting boolean;
  each record;
  numbers bigint[] := '{}';
  last_tx xid8;
  bytes bigint := 0;
  owner text;
  items text[] := '{}';
  refused int := 0;
  is_more boolean := false;
BEGIN
  -- A promoted replica may lack transactions, whose ids it uses again.
  IF from_tx > pg_snapshot_xmin(pg_current_snapshot()) THEN from_tx := '0'; END IF;
  SELECT pg_snapshot_xmin(pg_current_snapshot()),
    EXISTS (SELECT FROM hub.inbox WHERE tx >= from_tx AND error IS NULL ORDER BY tx LIMIT 1) INTO open_tx, is_waiting;
  IF NOT is_waiting THEN RETURN json_build_object('from', open_tx::text, 'taken', 0, 'refused', 0, 'isMore', false); END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('hub_channel', 6));
  open_tx := NULL;
  FOR each IN
    SELECT pg_snapshot_xmin(pg_current_snapshot()) AS open_tx, number, tx, sender, events
    FROM hub.inbox WHERE tx >= from_tx AND error IS NULL ORDER BY tx, number LIMIT 1001
  LOOP
    open_tx := each.open_tx;
    bytes := bytes + octet_length(each.events);
    IF cardinality(numbers) = 1000 OR bytes > 4194304 AND cardinality(numbers) > 0 THEN
      is_more := true;
      EXIT;
    END IF;
    IF each.sender IS DISTINCT FROM owner THEN
      refused := refused + hub.accept_rows(numbers[cardinality(numbers) - cardinality(items) + 1:], items, owner);
      items := '{}';
    END IF;
    owner := each.sender;
    items := items || each.events;
    numbers := numbers || each.number;
    last_tx := each.tx;
  END LOOP;
  refused := refused + hub.accept_rows(numbers[cardinality(numbers) - cardinality(items) + 1:], items, owner);
  DELETE FROM hub.inbox WHERE number = ANY(numbers) AND error IS NULL;
  RETURN json_build_object('from', CASE WHEN is_more THEN least(open_tx, last_tx) ELSE coalesce(open_tx, from_tx) END::text,
    'taken', cardinality(numbers), 'refused', refused, 'isMore', is_more);
END $$;

-- Accepts the events of rows of one service. A row that cannot be accepted must not keep others: it is marked. Returns the
-- number of these.
CREATE FUNCTION hub.accept_rows(numbers bigint[], items text[], sender text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  refused int := 0;
  problem text;
BEGIN
  IF cardinality(items) = 0 THEN RETURN 0; END IF;
  BEGIN
    PERFORM hub.accept(('[' || array_to_string(items, ',') || ']')::json, sender);
    RETURN 0;
  EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    problem := SQLERRM;
  END;
  IF cardinality(items) = 1 THEN
    UPDATE hub.inbox SET error = problem WHERE number = numbers[1];
    RETURN 1;
  END IF;
  FOR i IN 1 .. cardinality(items) LOOP
    refused := refused + hub.accept_rows(numbers[i:i], items[i:i], sender);
  END LOOP;
  RETURN refused;
END $$;

-- An ended event has completed, as far as it is retained.
CREATE FUNCTION hub.is_completed(p_seq bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT to_json(coalesce((SELECT status = 'c' FROM hub.ended WHERE seq = p_seq ORDER BY number DESC LIMIT 1), false))
$$;
