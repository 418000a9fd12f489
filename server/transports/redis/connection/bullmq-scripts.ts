import { createHash } from 'node:crypto';
import { takeNext } from '../gate/take-next.js';
import { takePlain } from '../gate/take-plain.js';
import { UnsupportedVersionError } from '../redis-errors.js';
import { type LuaFragment, resolveIncludes } from '../scripts/lua-fragment.js';

/** Versions of BullMQ whose scripts {@link adaptScript} knows. */
export const supportedBullmq = '6.7';

// SHA-256 of the script that `fromTheGate` wraps. It depends on the arguments and the reply of this very text.
const moveToActiveHashes: readonly string[] = ['7d35069db0b831af1bd1b2d5eb8d524e86fc7d3280b8c684a96b6614bad7d79a'];

// Redis stops a script at its first write when memory is used up, unless the script has freed some before. The
// scripts of BullMQ that consumers run lead to freed memory, so that Redis must not stop them.
const runWhenFull = "redis.call('DEL', KEYS[1] .. ':nothing')\n";

/**
 * Returns a script of BullMQ as consumers run it.
 *
 * @param name of the command, such as `moveToActive:6.7.0`
 * @throws {UnsupportedVersionError} if the installed BullMQ has another `moveToActive`
 */
export function adaptScript(name: string, lua: string): string {
  const [script = ''] = name.split(':');
  if (script !== 'moveToActive') return runWhenFull + lua;
  const hash = createHash('sha256').update(lua).digest('hex');
  if (!moveToActiveHashes.includes(hash)) throw new UnsupportedVersionError(name, supportedBullmq);
  return runWhenFull + fromTheGate(lua);
}

// The script first takes the next event from the gates into the queue. Its reply then has the next due time, which
// Hubline's scripts write by the clock of the server, converted to the clock of the process. Of the job it has only the
// fields that Hubline writes: BullMQ would fail to parse another one.
function fromTheGate(lua: string): string {
  return `
local localNow = tonumber(ARGV[2])
local prefix, queueName = string.match(ARGV[1], '^(.-):queue:(.*):$')

local function takeFromGate()
local KEYS = { prefix }
${fragments(takeNext)}
return takeNext(queueName)
end

local function takeFromPlainGate()
local KEYS = { prefix }
${fragments(takePlain)}
local isDone, dueAt = takePlain(queueName)
if not isDone then dueAt = takeFromGate() end
return dueAt, now
end
local dueAt, serverNow = takeFromPlainGate()
ARGV[2] = string.format('%.0f', serverNow)

local function moveToActive()
${lua}
end
local reply = moveToActive()
if reply[1] == 0 and dueAt then reply[4] = math.ceil(dueAt + localNow - serverNow) end
if type(reply[1]) == 'table' then
  local fields = reply[1]
  local job = { 'processedOn', string.format('%.0f', localNow) }
  local isRead = { name = true, data = true, timestamp = true, priority = true, ats = true, atm = true, stc = true }
  for index = 1, #fields, 2 do
    if isRead[fields[index]] then
      job[#job + 1] = fields[index]
      job[#job + 1] = fields[index + 1]
    end
  end
  reply[1] = job
end
return reply
`;
}

function fragments(last: LuaFragment): string {
  return resolveIncludes([last])
    .map(({ lua }) => lua)
    .join('\n');
}
