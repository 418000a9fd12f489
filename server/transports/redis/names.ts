/**
 * How names are written in keys. Names are any text, and BullMQ takes no `:` in a queue's name or a
 * job's id, nor an id of digits alone.
 */

/** One service's share of one type. */
export function unitOf(service: string, type: string): string {
  return `${encodeURIComponent(service)}/${encodeURIComponent(type)}`;
}

export function serviceOf(unit: string): string {
  return decodeURIComponent(unit.slice(0, unit.indexOf('/')));
}

export function typeOf(unit: string): string {
  return decodeURIComponent(unit.slice(unit.indexOf('/') + 1));
}

// A job lies beside its queue's own keys; none of those begins so.
const jobPrefix = 'e-';

export function jobIdOf(eventId: string): string {
  return jobPrefix + encodeURIComponent(eventId);
}

export function eventIdOf(jobId: string): string {
  return decodeURIComponent(jobId.slice(jobPrefix.length));
}

/** Types, as one argument of a script, which parts them at the commas. */
export function typeList(types: readonly string[]): string {
  return types.map(encodeURIComponent).join(',');
}

/** The queue of all types of a service that have none of their own. */
export function sharedLane(service: string): string {
  return encodeURIComponent(service);
}

/** What stands before the keys of a queue, and of its jobs. */
export function laneKey(prefix: string, lane: string): string {
  return `${prefix}:lane:${lane}:`;
}
