import type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord, ScheduleStore } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { type DataEpoch, dataLoss } from '../connection/data-epoch.js';
import { prelude } from '../connection/keys.js';
import { readArray, readNumber, readString, unexpected } from '../connection/reply.js';
import { LuaFragment, Script } from '../connection/script.js';
import { emitArguments } from '../jobs/event-codec.js';
import { liveHandlers } from '../membership/subscription-fragments.js';
import { encodeName, serviceOf, serviceTypeOf, typeOf } from '../names.js';
import { counters } from '../statistics/counters.js';
import { acceptance } from './acceptance.js';

/** Parts of a connection that its schedules use. */
export interface RedisSchedulesParts {
  readonly service: string;
  readonly commands: CommandClient;
  readonly epoch: DataEpoch;
  /** Maximum time to wait for services that register again after a loss of data. */
  readonly timeoutMs: number;
  /** Returns the id under which the process is registered; a schedule is open while the registration lasts. */
  readonly processId: () => string;
}

/** Schedules of the service of a connection, on Redis. */
export class RedisSchedules implements ScheduleStore {
  readonly #parts: RedisSchedulesParts;

  constructor(parts: RedisSchedulesParts) {
    this.#parts = parts;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return readSchedules(await this.#parts.commands.runScript(schedulesScript, []));
  }

  async open(openings: readonly ScheduleOpening[]): Promise<boolean> {
    if (openings.length === 0) return true;
    const { service, commands, processId } = this.#parts;
    const rows = openings.flatMap(({ name, definition, times, position, revision }) => [
      serviceTypeOf(service, name),
      definition,
      times,
      position,
      revision ?? '',
    ]);
    const args = [encodeName(service), processId(), openings.length, ...rows];
    return readNumber(await commands.runScript(openSchedulesScript, args)) === 1;
  }

  /** If the reply of a claim is lost, its repetition returns `already`. */
  async claim({ name, definition, times, dueAt, events }: ScheduleClaim): Promise<ClaimResult> {
    const { service, commands, epoch, timeoutMs, processId } = this.#parts;
    const schedule = serviceTypeOf(service, name);
    const args = [processId(), schedule, definition, times, dueAt, events.length];
    const sent = events.flatMap((envelope) => emitArguments(envelope, service));
    const reply = await epoch.whileKnown(timeoutMs, (id) => commands.runScript(claimScript, [id, ...args, ...sent]));
    return readClaim(reply);
  }
}

/** @throws {UnexpectedDataError} */
function readClaim(reply: unknown): ClaimResult {
  const [status, value] = readArray(reply).map(readString);
  if (status === 'claimed' || status === 'replaced') return { status };
  if (status === 'already') return { status, position: readNumber(value) };
  if (status === 'early') return { status, earlyMs: readNumber(value) };
  throw unexpected('the result of a claim', reply);
}

/**
 * Records of schedules. A `schedule` is `service/name`, both percent-encoded.
 *
 * - `readSchedule(schedule)` returns the record as a table; nothing if there is none
 * - `readSchedules()` returns all records as lists
 * - `writeSchedule(schedule, ...)` sets fields of a record and changes its revision
 * - `addOpener(schedule, process, definition)` adds a process, and removes dead ones
 */
export const scheduleRecords: LuaFragment = new LuaFragment(
  `
local function readSchedule(schedule)
  local changes, definition, times, position, lastDue, removed =
    unpack(call('HMGET', key('schedule', schedule), 'changes', 'definition', 'times', 'position', 'lastDue', 'removed'))
  if not changes then return nil end
  local record = {
    definition = definition, times = times, position = position, lastDue = lastDue or '', removed = removed,
    isOpen = false, isHeld = false,
  }
  local openers = call('HGETALL', key('openers', schedule))
  for index = 1, #openers, 2 do
    if isLive(openers[index]) then
      record.isOpen = true
      if openers[index + 1] == definition then record.isHeld = true end
    end
  end
  -- The death of the last process changes the record too.
  record.revision = string.format('%.0f', changes * 2 + (record.isOpen and 1 or 0))
  return record
end

local function readSchedules()
  local reply = {}
  for _, schedule in ipairs(call('SMEMBERS', key('schedules'))) do
    local record = readSchedule(schedule)
    if record then
      reply[#reply + 1] = {
        schedule, record.definition, record.times, record.position, record.lastDue, record.removed,
        record.isOpen and '1' or '0', record.revision,
      }
    end
  end
  return reply
end

local function writeSchedule(schedule, ...)
  call('HSET', key('schedule', schedule), ...)
  call('HINCRBY', key('schedule', schedule), 'changes', 1)
end

local function addOpener(schedule, process, definition)
  local openers = key('openers', schedule)
  for _, other in ipairs(call('HKEYS', openers)) do
    if not isLive(other) then call('HDEL', openers, other) end
  end
  call('HSET', openers, process, definition)
end
`,
  [liveHandlers, prelude],
);

const schedulesScript: Script = new Script({
  name: 'schedules',
  access: 'reads',
  purpose: 'Reads the schedules of all services.',
  argv: 'nothing',
  reply: 'the result of readSchedules',
  includes: [prelude, scheduleRecords],
  lua: `
return readSchedules()
`,
});

/** Returns the result of `readSchedules`. */
export function readSchedules(reply: unknown): ScheduleRecord[] {
  return readArray(reply).map((row) => {
    const [schedule = '', definition = '', times = '', position, lastDue, removed, isOpen, revision] =
      readArray(row).map(readString);
    return {
      service: serviceOf(schedule),
      name: typeOf(schedule),
      definition,
      times,
      position: readNumber(position),
      lastDue: lastDue === '' ? undefined : readNumber(lastDue),
      isOpen: isOpen === '1',
      isRemoved: removed === '1',
      revision: readNumber(revision),
    };
  });
}

const openSchedulesScript: Script = new Script({
  name: 'openSchedules',
  access: 'works',
  purpose:
    'Opens schedules of a service in a process, and marks the other ones of the service as removed, unless one has changed since the process read it.',
  argv: 'service, process, number of schedules, (schedule, definition, times, position, revision or empty)...',
  reply: '1; 0 if one has changed, and nothing is opened',
  includes: [prelude, scheduleRecords],
  lua: `
local service, process = take(), take()
local openings = {}
for index = 1, takeNumber() do
  local opening = { schedule = take(), definition = take(), times = take(), position = take(), revision = take() }
  local record = readSchedule(opening.schedule)
  if (record and record.revision or '') ~= opening.revision then return 0 end
  openings[index] = opening
end
for _, schedule in ipairs(call('SMEMBERS', key('schedules'))) do
  if serviceOf(schedule) == service then writeSchedule(schedule, 'removed', 1) end
end
for _, opening in ipairs(openings) do
  local schedule = opening.schedule
  writeSchedule(schedule,
    'definition', opening.definition, 'times', opening.times, 'position', opening.position, 'removed', 0)
  addOpener(schedule, process, opening.definition)
  call('SADD', key('schedules'), schedule)
end
call('INCR', key('revision'))
return 1
`,
});

const claimScript: Script = new Script({
  name: 'claim',
  access: 'stores',
  purpose: 'Records a due time of a schedule and accepts its events, once over all processes.',
  argv: 'epoch that the caller knows or empty, process, schedule, definition, times, due time, number of events, event...',
  reply:
    'claimed; early, and the milliseconds until the due time; already, and the position; or replaced, each in a list; or a result of dataLoss, and nothing is accepted',
  includes: [prelude, counters, acceptance, dataLoss, scheduleRecords],
  lua: `
local loss = dataLoss(take())
if loss then return loss end
local process, schedule, definition, times, dueAt = take(), take(), take(), take(), takeNumber()
if dueAt > now then return { 'early', string.format('%.17g', dueAt - now) } end
local record = readSchedule(schedule)
if record then
  if record.definition ~= definition and record.isHeld then return { 'replaced' } end
  if dueAt <= tonumber(record.position) then return { 'already', record.position } end
end
for _ = 1, takeNumber() do acceptEmit(takeEmit()) end
local due = string.format('%.17g', dueAt)
writeSchedule(schedule, 'definition', definition, 'times', times, 'position', due, 'lastDue', due,
  'removed', record and record.removed or 0)
addOpener(schedule, process, definition)
call('SADD', key('schedules'), schedule)
arrangeTypes()
writeChanges()
call('INCR', key('revision'))
return { 'claimed' }
`,
});
