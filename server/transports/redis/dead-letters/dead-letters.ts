import { randomUUID } from 'node:crypto';
import { workflowOf } from '../../delivery.js';
import { NotSubscribedError } from '../../errors.js';
import type { DeadLetterFilter } from '../../event-record.js';
import type { DeadLetterRecord, DeadLetterStore } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { readArray, readNumber, readOptional, readString } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { requestArguments } from '../events/stored-events.js';
import { decodeAnyEnvelope, decodeError } from '../jobs/event-codec.js';
import { encodeName, jobIdOf, serviceTypeOf, typeOf } from '../names.js';

/** Returns the latest dead letters of a service type, newest first. */
async function readDeadLetters(
  commands: CommandClient,
  serviceType: string,
  limit: number,
  { requestId, since = 0, until = Number.MAX_SAFE_INTEGER }: DeadLetterFilter,
): Promise<DeadLetterRecord[]> {
  const request = requestId === undefined ? ['', ''] : requestArguments(requestId);
  const found: DeadLetterRecord[] = [];
  let last: string | undefined = '';
  while (last !== undefined && found.length < limit) {
    const args = [serviceType, limit - found.length, since, until, ...request, last];
    const [deadLetters, stoppedAt] = readArray(await commands.runScript(scripts.readDeadLetters, args));
    found.push(...readArray(deadLetters).map((deadLetter) => readDeadLetter(typeOf(serviceType), deadLetter)));
    last = readOptional(stoppedAt, readString);
  }
  return found;
}

function readDeadLetter(type: string, deadLetter: unknown): DeadLetterRecord {
  const [jobId, data, at, attempt, error, step] = readArray(deadLetter);
  return {
    envelope: decodeAnyEnvelope(readString(jobId), type, readString(data)).envelope,
    at: readNumber(at),
    attempt: readNumber(attempt),
    error: decodeError(readString(error)),
    step: readOptional(step, readString),
  };
}

/**
 * Replays a dead letter of a service; `false` if there is none with this id.
 *
 * @throws {NotSubscribedError} if the service no longer subscribes to the type; the dead letter is retained
 */
async function replay(commands: CommandClient, service: string, id: string): Promise<boolean> {
  // The token makes a repetition harmless if the reply is lost with the connection.
  const args = [randomUUID(), commands.repeatWithinMs, encodeName(service), jobIdOf(id)];
  const reply = await commands.runRemembered(scripts.replay, args);
  if (typeof reply === 'string') {
    const type = typeOf(reply);
    throw new NotSubscribedError(service, [workflowOf(type) ?? type], []);
  }
  return readNumber(reply) === 1;
}

/** Returns the dead letters on Redis. @param own service of the connection */
export function redisDeadLetters(commands: CommandClient, own: string): DeadLetterStore {
  return {
    list: (type, limit, filter = {}) =>
      readDeadLetters(commands, serviceTypeOf(filter.service ?? own, type), limit, filter),
    replay: (id, service = own) => replay(commands, service, id),
  };
}
