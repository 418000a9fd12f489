import { randomUUID } from 'node:crypto';
import { workflowOf } from '../../delivery.js';
import { NotSubscribedError } from '../../errors.js';
import type { CommandClient } from '../connection/command-client.js';
import { counters } from '../counting/counters.js';
import { eventLog } from '../lookup/event-log.js';
import { encodeName, jobIdOf, typeOf } from '../names.js';
import { acceptance } from '../publishing/acceptance.js';
import { prelude } from '../scripts/prelude.js';
import { readNumber } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { deadLetters } from './dead-letter-fragments.js';

const replayScript = new Script({
  name: 'replay',
  access: 'stores',
  purpose:
    'Accepts the event of a dead letter again, for the service of the dead letter alone, by the current route of its type. Repeated with the same token it returns the same and changes nothing.',
  argv: 'token, milliseconds to remember it, service, job id',
  reply: '1; 0 if there is no such dead letter; its service type if the service no longer subscribes to it',
  includes: [prelude, counters, acceptance, deadLetters, eventLog],
  lua: `
local executed, rememberMs = key('executed', take()), take()
if call('EXISTS', executed) == 1 then return 1 end
local service, id = take(), take()
local deadLetter = key('dead-letter', service, id)
local serviceType, data, priority, starts, lineKey =
  unpack(call('HMGET', deadLetter, 'serviceType', 'data', 'priority', 'ats', 'key'))
if not serviceType then return 0 end
local head, depth, replays = string.match(data, '^(.*),"depth":(%d+),"replays":(%d+)}$')
local route = call('HGET', key('routes', typeOf(serviceType)), serviceType)
if not route then return serviceType end

call('DEL', deadLetter)
forgetEnd(serviceType, id)
forgetIndexEnd(serviceType, id, requestIdIn(data))
call('ZREM', key('dead-letters', serviceType), id)
call('ZREM', key('expiring', serviceType), id)
call('DEL', key('run', serviceType, id))
call('PERSIST', key('run', serviceType, id, 'waiters'))
call('LREM', key('ended', serviceType, 'failed'), 1, id)
for _, part in ipairs({ 'order', 'checkpoints', 'outputs' }) do
  if call('EXISTS', deadLetter .. ':' .. part) == 1 then
    call('RENAME', deadLetter .. ':' .. part, key('run', serviceType, id, part))
    call('PERSIST', key('run', serviceType, id, part))
  end
end
local envelope = { head = head, key = lineKey or '', priority = priority, delayMs = 0, replays = replays + 1 }
queueJob(cjson.decode(route), envelope, id, depth)
-- The number of starts tells the leases of an event apart, those before the replay included.
if starts then call('HSET', jobQueue(serviceType, id) .. id, 'ats', starts) end
arrangeTypes()
writeChanges()
call('SET', executed, '', 'PX', rememberMs)
return 1
`,
});

/**
 * Replays a dead letter of a service; `false` if there is none with this id.
 *
 * @throws {NotSubscribedError} if the service no longer subscribes to the type; the dead letter is retained
 */
export async function replay(commands: CommandClient, service: string, id: string): Promise<boolean> {
  // The token makes a repetition harmless if the reply is lost with the connection.
  const args = [randomUUID(), commands.repeatWithinMs, encodeName(service), jobIdOf(id)];
  const reply = await commands.runRemembered(replayScript, args);
  if (typeof reply === 'string') {
    const type = typeOf(reply);
    throw new NotSubscribedError(service, [workflowOf(type) ?? type], []);
  }
  return readNumber(reply) === 1;
}
