import { approvalsFirst } from '../../event-record.js';
import type { OpenWait, RunRecord, RunWait } from '../../transport.js';
import { prelude } from '../connection/keys.js';
import { readArray, readHash, readNumber, readOptional, readString, unexpected } from '../connection/reply.js';
import { LuaFragment, Script, type ScriptArgument } from '../connection/script.js';
import { checkedMs } from '../connection/script-limits.js';
import { attempts, readAttempts } from '../jobs/attempts.js';
import { decodeAnyEnvelope, decodeError, emitArguments, envelopeArguments, keyArgument } from '../jobs/event-codec.js';
import { encodeName, eventIdOf, serviceOf, typeOf } from '../names.js';
import { serviceTypes } from '../statistics/count-records.js';
import { runRetention } from './run-records.js';
import { suspendedRuns } from './suspended-runs.js';

/**
 * `readRun(serviceType, id, parts, from)` returns a run, with its entries from a position on if there is one: with `'shown'` what observers read, without payload, result and
 * outputs, which may be large; with `'result'` its result too; with `'all'` everything.
 */
export const oneRun: LuaFragment = new LuaFragment(
  `
local function checkpointsSince(runKey, from)
  local checkpoints = {}
  for _, name in ipairs(call('LRANGE', runKey .. ':order', from, -1)) do
    checkpoints[#checkpoints + 1] = name
    checkpoints[#checkpoints + 1] = call('HGET', runKey .. ':checkpoints', name)
  end
  return checkpoints
end

local function packedAttempts(record)
  for index = 1, #record[1], 2 do
    if record[1][index] == 'attempts' then return record[1][index + 1] end
  end
  return ''
end

-- Those of a suspended run that is packed; false if it is none.
local function packedParts(serviceType, id, parts, from)
  local record = suspendedRun(serviceType, id)
  if not record then return false end
  local fields, checkpoints, outputs = {}, {}, {}
  for index = 1, #record[2], 2 do fields[record[2][index]] = record[2][index + 1] end
  for index = (from or 0) * 3 + 1, #record[5], 3 do
    local name, checkpoint, output = unpack(record[5], index, index + 2)
    checkpoints[#checkpoints + 1] = name
    checkpoints[#checkpoints + 1] = checkpoint
    if parts == 'all' and output ~= '' then
      outputs[#outputs + 1] = name
      outputs[#outputs + 1] = output
    end
  end
  for index = 2, #record[6], 2 do record[6][index] = cjson.encode(record[6][index]) end
  return { parts == 'all' and record[3] or shownData(record), fields.acceptedAt, fields.attempt, 'suspended', false, false,
    checkpoints, outputs, record[6], packedAttempts(record) }
end

local function readRun(serviceType, id, parts, from)
  local runKey = key('run', serviceType, id)
  local data = parts == 'all' and 'data' or 'shown'
  local run = call('HMGET', runKey, data, 'acceptedAt', 'attempt', 'status', 'endedAt', 'queue', 'openWaits', 'attempts')
  if not run[1] then
    run = packedParts(serviceType, id, parts, from)
    return run and { serviceType, id, run }
  end
  local queue, openWaits, attempts = unpack(run, 6, 8)
  local record = not run[4] and suspendedRun(serviceType, id)
  if record then run[4] = 'suspended' end
  run[6] = (parts ~= 'shown' or run[4] == 'failed') and call('HGET', runKey, 'value')
  if not run[4] and call('LPOS', queue .. 'active', id) then run[4] = 'active' end
  run[7] = from and checkpointsSince(runKey, from) or call('HGETALL', runKey .. ':checkpoints')
  run[9] = run[5] and cjson.decode(openWaits or '[]') or call('HGETALL', runKey .. ':waits')
  run[8] = parts == 'all' and call('HGETALL', runKey .. ':outputs') or {}
  if record then
    run[10] = packedAttempts(record)
  else
    run[10] = run[5] and (attempts or '') or attemptsOf(queue .. id)
  end
  return { serviceType, id, run }
end
`,
  [attempts, prelude, suspendedRuns],
);

/** `readRuns()` takes a limit and types, and returns the latest runs per type: the limit holds per service type. */
export const runs: LuaFragment = new LuaFragment(
  `
local function readRuns()
  local limit = takeNumber()
  local reply = {}
  local _, all = serviceTypesOfAll(take())
  for _, ofType in ipairs(all) do
    local runs = {}
    for _, serviceType in ipairs(ofType) do
      for _, id in ipairs(call('ZREVRANGE', key('runs', serviceType), 0, limit - 1)) do
        local run = not isExpired(serviceType, id) and readRun(serviceType, id, 'shown')
        if run then runs[#runs + 1] = run end
      end
    end
    reply[#reply + 1] = runs
  end
  return reply
end
`,
  [prelude, oneRun, runRetention, serviceTypes],
);

export const runScript: Script = new Script({
  name: 'run',
  access: 'reads',
  purpose: 'Reads a run.',
  argv: 'service type, job id',
  reply: 'service type, job id and fields of the run; nothing if it is unknown',
  includes: [prelude, oneRun, runRetention],
  lua: `
local serviceType, id = take(), take()
return not isExpired(serviceType, id) and readRun(serviceType, id, 'all')
`,
});

export const runSinceScript: Script = new Script({
  name: 'runSince',
  access: 'reads',
  purpose: 'Reads a run with its entries from a position on, without payload, result and outputs.',
  argv: 'service type, job id, position',
  reply: 'service type, job id and fields of the run; nothing if it is unknown',
  includes: [prelude, oneRun, runRetention],
  lua: `
local serviceType, id, from = take(), take(), takeNumber()
return not isExpired(serviceType, id) and readRun(serviceType, id, 'shown', from)
`,
});

/** Returns a run as `readRun` returns it in scripts. */
export function readRun(reply: unknown): RunRecord {
  const [serviceTypeValue, idValue, fields] = readArray(reply);
  const [serviceType, jobId] = [readString(serviceTypeValue), readString(idValue)];
  const [data, acceptedAt, attempt, statusValue, endedAt, outcomeValue, checkpoints, outputs, waits, attempts] =
    readArray(fields);
  const { envelope } = decodeAnyEnvelope(jobId, typeOf(serviceType), readString(data));
  const status = readStatus(statusValue);
  const value = readOptional(outcomeValue, readString);
  return {
    id: envelope.id,
    service: serviceOf(serviceType),
    envelope,
    acceptedAt: readNumber(acceptedAt),
    attempt: readNumber(attempt),
    status,
    checkpoints: readCheckpoints(readHash(checkpoints), readHash(outputs)),
    waits: readWaits(readHash(waits)),
    interruptions: readAttempts(readString(attempts)),
    endedAt: readOptional(endedAt, readNumber),
    // Redis stores '' for a run that completed without a result.
    result: status === 'completed' && value !== '' ? value : undefined,
    error: status === 'failed' && value !== undefined ? decodeError(value) : undefined,
  };
}

/** Returns the latest runs per type, newest first, over all services. */
export function readRuns(reply: unknown, limit: number): RunRecord[][] {
  return readArray(reply).map((list) =>
    readArray(list)
      .map(readRun)
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .slice(0, limit),
  );
}

function readStatus(status: unknown): RunRecord['status'] {
  if (status === null || status === undefined) return 'waiting';
  if (status === 'active' || status === 'suspended' || status === 'completed' || status === 'failed') return status;
  throw unexpected('the status of a run', status);
}

export const waitingScript: Script = new Script({
  name: 'waiting',
  access: 'reads',
  purpose: 'Reads the runs of several types that wait, those with the oldest approvals first.',
  argv: 'maximum number of runs per service type, types, separated by commas',
  reply: 'a list of runs per type, as readRun returns them, without entries',
  includes: [prelude, oneRun, serviceTypes],
  lua: `
local limit = takeNumber()
local reply = {}
local _, all = serviceTypesOfAll(take())
for _, ofType in ipairs(all) do
  local runs = {}
  for _, serviceType in ipairs(ofType) do
    local known, found = {}, 0
    local function add(id)
      if found == limit or known[id] then return end
      known[id], found = true, found + 1
      runs[#runs + 1] = readRun(serviceType, id, 'shown', 2 ^ 31) or nil
    end
    -- A run may ask for more than one decision.
    local approvals = key('approvals', serviceType)
    for first = 0, call('ZCARD', approvals) - 1, limit do
      if found == limit then break end
      for _, member in ipairs(call('ZRANGE', approvals, first, first + limit - 1)) do add(string.match(member, '^[^:]*')) end
    end
    if found < limit then
      local suspended = call('HSCAN', key('suspended', serviceType), 0, 'COUNT', 2 * limit)[2]
      for index = 1, #suspended, 2 do add(suspended[index]) end
    end
  end
  reply[#reply + 1] = runs
end
return reply
`,
});

/** Returns the reply of {@link waitingScript}: at most `limit` runs per type. */
export function readWaiting(reply: unknown, limit: number): (readonly RunRecord[])[] {
  return readArray(reply).map((runs) => approvalsFirst(readArray(runs).map(readRun)).slice(0, limit));
}

// The rest of a value is a step's output, which may be large and which observers do not read.
const outputKey = ',"output":';
const withoutOutput = 'null}';

/** Divides a checkpoint into what observers read, and the output of its step; `''` if it has none. */
export function splitCheckpoint(value: string): readonly [shown: string, output: string] {
  const end = value.indexOf(outputKey);
  if (end === -1) return [value, ''];
  const from = end + outputKey.length;
  return [value.slice(0, from) + withoutOutput, value.slice(from)];
}

/**
 * Returns checkpoints in the order of their creation.
 *
 * @param stored per key its order, the delivery that stored it, and what observers read
 * @param outputs read apart; a checkpoint whose output is left out has the output `null`
 */
export function readCheckpoints(
  stored: ReadonlyMap<string, string>,
  outputs: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const numbered = [...stored].map(([key, entry]) => {
    const [order = '', delivery = ''] = entry.split(' ', 2);
    const shown = entry.slice(order.length + delivery.length + 2);
    const output = outputs.get(key);
    const value = output === undefined ? shown : shown.slice(0, -withoutOutput.length) + output;
    return { key, order: Number(order), value };
  });
  return new Map(numbered.sort((a, b) => a.order - b.order).map(({ key, value }) => [key, value]));
}

/** Returns a wait as the arguments that `waitScript` reads. */
export function waitArguments(wait: RunWait, service: string): ScriptArgument[] {
  const { key, delayMs, event, run, onCancel = [], isRetry, isApproval } = wait;
  return [
    key,
    delayMs === undefined ? '' : checkedMs(delayMs, 'delayMs of a wait'),
    event === undefined ? '' : encodeName(event.type),
    keyArgument(event?.key),
    isRetry === true ? 'retry' : isApproval === true ? 'approval' : '',
    onCancel.length === 0 ? '' : JSON.stringify(onCancel.map((envelope) => emitArguments(envelope, service))),
    ...(run === undefined ? [''] : ['1', ...envelopeArguments(run, service)]),
  ];
}

/** Returns the open waits of a run in the order of their keys, from the hash in which scripts keep them. */
function readWaits(stored: ReadonlyMap<string, string>): OpenWait[] {
  const waits = [...stored].map(([key, json]) => readWait(key, Object(JSON.parse(json)) as Record<string, unknown>));
  return waits.sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1));
}

function readWait(key: string, { since, dueAt, event, child, isApproval }: Record<string, unknown>): OpenWait {
  const { type, key: eventKey } = Object(event) as Record<string, unknown>;
  const { id } = Object(child) as Record<string, unknown>;
  return {
    key,
    since: Number(since),
    ...(typeof dueAt === 'number' && { dueAt }),
    ...(typeof type === 'string' && { event: { type: decodeURIComponent(type), key: readKey(eventKey) } }),
    ...(typeof id === 'string' && { runId: eventIdOf(id) }),
    ...(isApproval === true && { isApproval }),
  };
}

function readKey(key: unknown): string | undefined {
  return typeof key === 'string' && key !== '' ? decodeURIComponent(key.slice(1)) : undefined;
}
