import type { RunRecord } from '../../transport.js';
import { serviceTypes } from '../counting/service-types.js';
import { attempts } from '../lookup/attempts.js';
import { readAttempts } from '../lookup/read-attempts.js';
import { serviceOf, typeOf } from '../names.js';
import { decodeError } from '../outcomes/outcome-codec.js';
import { runRetention } from '../outcomes/run-fragments.js';
import { decodeAnyEnvelope } from '../publishing/envelope-codec.js';
import { readCheckpoints } from '../runs/checkpoint-codec.js';
import { suspendedRuns } from '../runs/suspended-runs.js';
import { readWaits } from '../runs/wait-codec.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readNumber, readOptional, readString, unexpected } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';

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
