/**
 * Encoding of names in keys. A name is any text, but BullMQ allows no `:` in the name of a queue or the id of a job,
 * and no job id of digits alone.
 *
 * @module
 */
import { InvalidOptionError } from '../../errors.js';

/**
 * Returns a name as a part of a key.
 *
 * @throws {InvalidOptionError} if it has an unpaired surrogate, which no store can hold
 */
export function encodeName(name: string): string {
  try {
    return encodeURIComponent(name);
  } catch {
    throw new InvalidOptionError('a name or an id', 'a string without unpaired surrogates', name);
  }
}

/** Returns the name of one service's share of one type. */
export function serviceTypeOf(service: string, type: string): string {
  return `${encodeName(service)}/${encodeName(type)}`;
}

/** Returns the service of a service type. */
export function serviceOf(serviceType: string): string {
  return decodeURIComponent(serviceType.slice(0, serviceType.indexOf('/')));
}

/** Returns the type of a service type. */
export function typeOf(serviceType: string): string {
  return decodeURIComponent(serviceType.slice(serviceType.indexOf('/') + 1));
}

// Jobs and the other keys of a queue share a prefix; no other key of a queue starts like this.
const jobPrefix = 'e-';

/** Returns the id of the job that carries an event. */
export function jobIdOf(eventId: string): string {
  return jobPrefix + encodeName(eventId);
}

/** Returns the id of the event that a job carries. */
export function eventIdOf(jobId: string): string {
  return decodeURIComponent(jobId.slice(jobPrefix.length));
}

/** Returns types as one argument of a script. */
export function typeList(types: readonly string[]): string {
  return types.map(encodeName).join(',');
}

/** Returns the name of the worker queue that the types of a service share. */
export function sharedQueue(service: string): string {
  return encodeName(service);
}

/** Returns the name of a run in a map of runs of many types. */
export function runKeyOf(serviceType: string, jobId: string): string {
  return `${serviceType}:${jobId}`;
}
