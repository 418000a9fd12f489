import { createHash } from 'node:crypto';
import { UnsupportedVersionError } from '../redis-errors.js';

/** Versions of BullMQ whose scripts {@link adaptScript} knows. */
export const supportedBullmq = '6.7';

// SHA-256 of the script that finds the jobs of lost processes. The scripts of Hubline lease jobs as this very text
// expects it, and count the losses that it notes.
const moveStalledHashes: readonly string[] = ['dad86d89b50d825fb9ad1e95ef0ca9ae459ba16e837663fdbfc7be6de003debb'];

// Redis stops a script at its first write when memory is used up, unless the script has freed some before. The
// scripts of BullMQ that consumers run lead to freed memory, so that Redis must not stop them.
const runWhenFull = "redis.call('DEL', KEYS[1] .. ':nothing')\n";

/**
 * Returns a script of BullMQ as consumers run it.
 *
 * @param name of the command, such as `moveStalledJobsToWait:6.7.0`
 * @throws {UnsupportedVersionError} if the installed BullMQ has another `moveStalledJobsToWait`
 */
export function adaptScript(name: string, lua: string): string {
  const isKnown = moveStalledHashes.includes(createHash('sha256').update(lua).digest('hex'));
  if (name.startsWith('moveStalledJobsToWait:') && !isKnown) throw new UnsupportedVersionError(name, supportedBullmq);
  return runWhenFull + lua;
}
