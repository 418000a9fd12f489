import type { Envelope, FailedOutcome } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { prelude } from '../connection/keys.js';
import { readArray, readNumber, readString } from '../connection/reply.js';
import { LuaFragment, Script } from '../connection/script.js';
import { decodeEnvelope, outcomeArguments } from '../jobs/event-codec.js';
import { encodeName, jobIdOf, typeOf } from '../names.js';
import type { RedisSettings } from '../redis-options.js';
import { counters } from '../statistics/counters.js';
import { runTrees } from './attempt-ends.js';

/** Parts of a connection that {@link cancel} uses. */
export interface CancelParts {
  readonly service: string;
  readonly commands: CommandClient;
  readonly settings: RedisSettings;
}

/** Ends an event of a service that waits; `false` if no event with this id does. */
export async function cancel(
  { service, commands, settings }: CancelParts,
  id: string,
  conclude: (envelope: Envelope) => FailedOutcome,
): Promise<boolean> {
  const jobId = jobIdOf(id);
  // Repeated if the event has changed in between, such as by an event that replaced its payload.
  for (;;) {
    const found = await commands.runScript(findWaitingScript, [encodeName(service), jobId]);
    if (found === null) return false;
    const [queue = '', serviceType = '', data = ''] = readArray(found).map(readString);
    const outcome = conclude(decodeEnvelope(jobId, typeOf(serviceType), JSON.parse(data)));
    const args = [queue, jobId, serviceType, data, ...outcomeArguments(outcome, 1, service)];
    // Not repeated after a lost reply: a repetition would report that no such event waits.
    const reply = await commands.run((client) => cancelScript.run(client, settings.prefix, args));
    if (readNumber(reply) === 1) return true;
  }
}

/** `standsWaiting(serviceType, queue, id)`: if a job waits for its start, its delay or its retry. */
const waiting = new LuaFragment(
  `
local function standsWaiting(serviceType, queue, id)
  for _, kind in ipairs({ 'gate', 'delayed' }) do
    if call('ZSCORE', key(kind, serviceType), id) then return true end
  end
  local lineKey = call('HGET', queue .. id, 'key') or ''
  if call('ZSCORE', key('line', serviceType, lineKey), id) then return true end
  return call('LPOS', queue .. 'wait', id) and true or false
end
`,
  [prelude],
);

const findWaitingScript: Script = new Script({
  name: 'findWaiting',
  access: 'reads',
  purpose: 'Finds an event of a service that waits.',
  argv: 'service, job id',
  reply: 'queue, service type, data of the job; nothing if no such event waits',
  includes: [prelude, waiting],
  lua: `
local service, id = take(), take()
local names = call('SMEMBERS', key('subscribed', service))
names[#names + 1] = service
for _, name in ipairs(names) do
  local queue = queueKey(name)
  local serviceType, data = unpack(call('HMGET', queue .. id, 'serviceType', 'data'))
  if serviceType and standsWaiting(serviceType, queue, id) then return { queue, serviceType, data } end
end
return nil
`,
});

const cancelScript: Script = new Script({
  name: 'cancel',
  access: 'works',
  purpose: 'Ends an event, and the child runs that it waits for, if it still waits, and as the caller read it.',
  argv: 'queue, job id, service type, data of the job, outcome',
  reply: '1; 0 if it does not',
  includes: [prelude, counters, runTrees, waiting],
  lua: `
local queue, id, serviceType, data = take(), take(), take(), take()
local outcome = takeOutcome()
if call('HGET', queue .. id, 'data') ~= data or not standsWaiting(serviceType, queue, id) then return 0 end
outcome.attempt = tonumber(call('HGET', queue .. id, 'atm') or 0) + 1
if call('EXISTS', key('run', serviceType, id)) == 1 then
  endTree(serviceType, id, outcome, outcome.value)
else
  withdraw(queue, id, serviceType)
  endAttempt(queue, id, serviceType, false, outcome)
end
arrangeTypes()
writeChanges()
return 1
`,
});
