import { createHash } from 'node:crypto';
import type { ConsumeOptions, Logger } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { dataLayout, otherLayout, otherLayoutError } from '../connection/data-epoch.js';
import { prelude } from '../connection/keys.js';
import { readArray, readNumber, readString } from '../connection/reply.js';
import { LuaFragment, Script, type ScriptArgument } from '../connection/script.js';
import { maxTypesPerScript } from '../connection/script-limits.js';
import { serviceTypeOf, sharedQueue } from '../names.js';
import { withoutArguments } from '../redis-errors.js';
import { counters } from '../statistics/counters.js';
import { retainedDescriptions } from './retained-descriptions.js';
import {
  announceSettlementScript,
  readServedQueues,
  type ServedQueue,
  servedQueuesScript,
  settleScript,
  typeSettings,
} from './settlement.js';
import { liveHandlers, subscribed } from './subscription-fragments.js';

const heartbeatIntervalMs = 5_000;
// A process may miss three heartbeats.
const lifetimeMs = 16_000;

export interface MembershipParts {
  readonly service: string;
  /** Id of this process, with which the tokens of its leases start. */
  readonly processId: string;
  readonly commands: CommandClient;
  readonly logger: Logger;
  /** Returns the number of handlers that run. */
  readonly active: () => number;
}

type MembershipOptions = Pick<ConsumeOptions, 'subscriptions' | 'declared' | 'describe' | 'describeProcess'>;

/**
 * Registration of this process on Redis: its subscriptions, its description and its heartbeat. Whenever a process of
 * the service joins, leaves or is found dead, one of its processes settles the service.
 */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #options: MembershipOptions;
  readonly #service: string;
  readonly #id: string;
  #startOrder: number | undefined;
  /** Hash of the description that Redis has of this process. */
  #described = '';
  #timer: NodeJS.Timeout | undefined;
  #heartbeat: Promise<void> | undefined;
  #onHeartbeat = (): void => {};
  #onRegisteredAgain = (): void => {};

  constructor(parts: MembershipParts, options: MembershipOptions) {
    this.#parts = parts;
    this.#id = parts.processId;
    this.#options = options;
    this.#service = sharedQueue(parts.service);
  }

  /**
   * Registers the process. From now on events of its subscriptions are kept for the service, with or without a running
   * process.
   *
   * @throws {UnexpectedDataError} if the data has the layout of another build
   */
  async join(): Promise<void> {
    const startOrder = await this.#run(startOrderScript, []);
    if (startOrder === null) throw otherLayoutError();
    this.#startOrder = readNumber(startOrder);
    await this.#register();
    this.#timer = setInterval(() => {
      this.#heartbeat ??= this.#keepAlive();
    }, heartbeatIntervalMs);
  }

  /** Id of this process in the registration. */
  get id(): string {
    return this.#id;
  }

  /** @param listener called after each heartbeat */
  onHeartbeat(listener: () => void): void {
    this.#onHeartbeat = listener;
  }

  /** @param listener called after the registration had expired: what others kept for the process may be gone */
  onRegisteredAgain(listener: () => void): void {
    this.#onRegisteredAgain = listener;
  }

  /** Returns the worker queues that this process has to serve by now. */
  async servedQueues(): Promise<readonly ServedQueue[]> {
    return readServedQueues(await this.#run(servedQueuesScript, [this.#service, this.#id]));
  }

  /** Registers the process again if Redis has lost its registration. */
  async rejoin(): Promise<void> {
    await this.#beat();
    this.#onHeartbeat();
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#onHeartbeat = () => {};
    // A heartbeat in flight could register the process again after it has left.
    await this.#heartbeat;
    try {
      const change = await this.#run(leaveScript, [this.#id, this.#service]);
      if (change !== null) await this.#settle(String(readNumber(change)));
    } catch (error) {
      const seconds = lifetimeMs / 1_000;
      this.#parts.logger.warn(
        { err: withoutArguments(error) },
        `could not deregister this process; it expires within ${seconds} s`,
      );
    }
  }

  async #keepAlive(): Promise<void> {
    try {
      await this.#beat();
      this.#onHeartbeat();
    } catch (error) {
      this.#parts.logger.debug({ err: withoutArguments(error) }, 'heartbeat failed; the next one follows');
    } finally {
      this.#heartbeat = undefined;
    }
  }

  async #beat(): Promise<void> {
    const { description, hash, head } = this.#description();
    const reply = await this.#run(heartbeatScript, [...head, this.#service]);
    // If the registration has expired, the service may have been retired since: it subscribes again.
    if (reply === null) {
      await this.#register();
      this.#onRegisteredAgain();
      return;
    }
    const [isDescribed, changes, settled] = readArray(reply);
    if (isDescribed === 0) await this.#describe(description, hash);
    this.#described = hash;
    // Also if the process that began the settlement has died.
    if (changes !== settled) await this.#settle(readString(changes));
  }

  async #register(): Promise<void> {
    const { subscriptions, declared = [] } = this.#options;
    const { description, hash, head } = this.#description();
    const rows = subscriptions.map((subscription) => {
      const { serviceType, json } = typeSettings(this.#parts.service, subscription);
      return [serviceType, json];
    });
    for (const portion of portions(rows)) {
      if ((await this.#run(registerScript, [...head, ...portion])) === 0) await this.#describe(description, hash);
    }
    this.#described = hash;
    const kept = declared.flatMap(({ type, subscribers }) =>
      subscribers.map((service) => [serviceTypeOf(service, type), type]),
    );
    if (kept.length > 0) for (const portion of portions(kept)) await this.#run(declareScript, portion);
    if (!this.#isConsumer) return;
    const entry = [this.#service, this.#id, this.#startOrder ?? 0];
    await this.#settle(String(readNumber(await this.#run(enterScript, entry))));
  }

  async #settle(change: string): Promise<void> {
    let cursor = '0';
    do cursor = readString(await this.#run(settleScript, [this.#service, cursor]));
    while (cursor !== '0');
    await this.#run(announceSettlementScript, [this.#service, change]);
  }

  get #isConsumer(): boolean {
    return this.#options.subscriptions.length > 0;
  }

  /** Service whose events this process handles; empty if it handles none. */
  get #consumerOf(): string {
    return this.#isConsumer ? this.#service : '';
  }

  #description(): { readonly description: string; readonly hash: string; readonly head: readonly ScriptArgument[] } {
    const description = this.#options.describe?.() ?? '{}';
    const hash = createHash('sha1').update(description).digest('hex');
    const state = this.#options.describeProcess?.(this.#parts.active()) ?? '';
    return { description, hash, head: [this.#id, lifetimeMs, hash, state, this.#consumerOf] };
  }

  async #describe(description: string, hash: string): Promise<void> {
    await this.#run(describeScript, [hash, description, lifetimeMs, this.#consumerOf, this.#described]);
  }

  #run(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    return this.#parts.commands.runScript(script, args);
  }
}

/** Returns the arguments of one script each: one list at least. */
function portions(rows: readonly (readonly string[])[]): string[][] {
  const count = Math.max(1, Math.ceil(rows.length / maxTypesPerScript));
  return Array.from({ length: count }, (_, index) =>
    rows.slice(index * maxTypesPerScript, (index + 1) * maxTypesPerScript).flat(),
  );
}

// Processes with the same description share one copy of it, stored under its hash.
const heartbeat = new LuaFragment(
  `
local function registerProcess(process, ttlMs, hash, state, consumerOf)
  if call('GET', key('process', process)) ~= hash then call('INCR', key('revision')) end
  call('SET', key('process', process), hash, 'PX', ttlMs)
  if state ~= '' then call('SET', key('state', process), state, 'PX', ttlMs) end
  if call('ZREMRANGEBYSCORE', key('registrations'), '-inf', now) > 0 then call('INCR', key('revision')) end
  call('ZADD', key('registrations'), now + ttlMs, process)
  return keepDescription(hash, ttlMs, consumerOf)
end

-- Returns the number of changes of the service's members, and the last one that is settled.
local function changesOfMembers(service)
  local changes, settled = unpack(call('HMGET', key('settlement', service), 'changes', 'settled'))
  return changes or '0', settled or '0'
end
`,
  [prelude, retainedDescriptions],
);

const startOrderScript: Script = new Script({
  name: 'startOrder',
  access: 'works',
  purpose: 'Returns the place of a process in the order of starts.',
  argv: 'nothing',
  reply: 'a number that grows with each call; nothing if the data has another layout',
  includes: [prelude, otherLayout],
  lua: `
if hasOtherLayout() then return nil end
return call('INCR', key('sequence'))
`,
});

const registerScript: Script = new Script({
  name: 'register',
  access: 'works',
  purpose: 'Registers a process and the settings of some of the types that it handles. They have no effect yet.',
  argv: 'process id, lifetime in ms, hash of the description, state, service if the process consumes, (service type, settings as JSON)...',
  reply: '0 if the description has yet to be stored, else 1',
  includes: [prelude, heartbeat],
  lua: `
local process = take()
local isDescribed = registerProcess(process, take(), take(), take(), take())
-- Again after a loss of all data.
call('SETNX', key('layout'), ${dataLayout})
while position < #ARGV do
  local serviceType, settings = take(), take()
  call('HSET', key('handlers', serviceType), process, settings)
  call('SADD', key('subscribed', serviceOf(serviceType)), serviceType)
end
return isDescribed
`,
});

const declareScript: Script = new Script({
  name: 'declare',
  access: 'works',
  purpose: 'Keeps events of declared types for services that have not started yet.',
  argv: '(service type, type)...',
  reply: 'nothing',
  includes: [prelude, counters, subscribed],
  lua: `
while position < #ARGV do
  local serviceType, type = take(), take()
  if not isSubscribed(serviceType) then
    subscribe(serviceType, { serviceType = serviceType, type = type })
    changesOf(serviceType)
  end
end
writeChanges()
call('INCR', key('revision'))
`,
});

const enterScript: Script = new Script({
  name: 'enter',
  access: 'works',
  purpose: 'Makes a registered process a member of its service, which is to be settled anew.',
  argv: 'service, process id, place in the order of starts',
  reply: 'number of membership changes',
  includes: [prelude],
  lua: `
local service, process, order = take(), take(), take()
-- After a loss of data the numbers begin anew, and processes that start from now on come after this one.
if tonumber(order) > tonumber(call('GET', key('sequence')) or 0) then call('SET', key('sequence'), order) end
call('ZADD', key('members', service), order, process)
return call('HINCRBY', key('settlement', service), 'changes', 1)
`,
});

const heartbeatScript: Script = new Script({
  name: 'heartbeat',
  access: 'works',
  purpose: 'Extends the registration of a process, and removes dead members of its service.',
  argv: 'process id, lifetime in ms, hash of the description, state, service if the process consumes, service',
  reply:
    'nothing if the process is not registered; else 0 if the description has yet to be stored or 1, number of membership changes, the last one that is settled',
  includes: [prelude, heartbeat, liveHandlers],
  lua: `
local process, ttlMs, hash, state, consumerOf, service = take(), take(), take(), take(), take(), take()
local members = key('members', service)
if not isLive(process) or consumerOf ~= '' and not call('ZSCORE', members, process) then return nil end
for _, member in ipairs(call('ZRANGE', members, 0, -1)) do
  if not isLive(member) then
    call('ZREM', members, member)
    call('ZREM', key('registrations'), member)
    call('HINCRBY', key('settlement', service), 'changes', 1)
    call('INCR', key('revision'))
  end
end
return { registerProcess(process, ttlMs, hash, state, consumerOf), changesOfMembers(service) }
`,
});

const describeScript: Script = new Script({
  name: 'describe',
  access: 'works',
  purpose: 'Stores the description that processes share, in place of the former one of the process.',
  argv: 'hash, description, lifetime in ms, service if the process consumes, hash of the former description or nothing',
  reply: 'nothing',
  includes: [prelude, retainedDescriptions],
  lua: `
local hash, description, ttlMs, consumerOf, former = take(), take(), take(), take(), take()
call('SET', key('description', hash), description, 'PX', ttlMs)
if consumerOf ~= '' then retainDescription(consumerOf, hash, ttlMs, former) end
call('INCR', key('revision'))
`,
});

const leaveScript: Script = new Script({
  name: 'leave',
  access: 'works',
  purpose: 'Removes the registration of a process. Its settings are forgotten by the next settlement.',
  argv: 'process id, service',
  reply: 'number of membership changes; nothing if the process was no member',
  includes: [prelude],
  lua: `
local process, service = take(), take()
call('DEL', key('process', process), key('state', process))
call('ZREM', key('registrations'), process)
call('INCR', key('revision'))
if call('ZREM', key('members', service), process) == 0 then return nil end
return call('HINCRBY', key('settlement', service), 'changes', 1)
`,
});
