import { userInfo } from 'node:os';
import { InvalidArgumentError } from 'commander';
import type { ActionOptions } from '../hub/operate/audit.js';
import type { Connection } from './connection.js';
import { ExitError, exitCodes, parseSince, type Terminal } from './terminal.js';

/** Start of a message. */
export const nothingRegistered = 'No process has registered a type here.';

/** Parts that every command uses. */
export interface CommandContext {
  readonly connection: Connection;
  readonly terminal: Terminal;
  /** Print JSON. */
  readonly json: boolean;
  /** Place that the audit names. */
  readonly via: 'cli' | 'mcp';
  /** Aborts at a signal that ends the process, and when nobody reads the output any more. */
  readonly signal: AbortSignal;
}

/** Reads a whole number of 1 or more. @throws {InvalidArgumentError} */
export function readCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return count;
}

// Node fires timers with a longer delay at once.
const maxSeconds = 2_147_483;

/** Reads a number of seconds. @throws {InvalidArgumentError} */
export function readSeconds(text: string): number {
  const seconds = readCount(text);
  if (seconds > maxSeconds) throw new InvalidArgumentError(`It must be at most ${maxSeconds} seconds.`);
  return seconds;
}

/** Reads a port. @throws {InvalidArgumentError} */
export function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return port;
}

/** Reads a moment. @throws {InvalidArgumentError} */
export function readSince(text: string): number {
  const since = parseSince(text, Date.now());
  if (since === undefined) throw new InvalidArgumentError('It must be a duration such as 2h, or a date.');
  return since;
}

/** Asks before a bulk action. @throws {ExitError} unless the user agrees */
export async function confirmBulk(
  { terminal, signal }: Pick<CommandContext, 'terminal' | 'signal'>,
  question: string,
  isConfirmed: boolean,
): Promise<void> {
  if (isConfirmed) return;
  const answer = await terminal.confirm(question, signal);
  if (answer === undefined) throw new ExitError(exitCodes.usage, `${question} Pass --yes to confirm.`);
  if (!answer) throw new ExitError(exitCodes.usage, 'Nothing was changed.');
}

/** Options of a command that acts. */
export interface ActorFlags {
  readonly by?: string;
  readonly reason?: string;
}

/** Returns who acts, for the audit: the name of the option, or else that of the user of the operating system. */
export function actorOf(
  { via }: Pick<CommandContext, 'via'>,
  { by = userName(), reason }: ActorFlags,
): ActionOptions & { readonly by: string } {
  return { by, via, ...(reason !== undefined && { reason }) };
}

/** Returns the name of the user; a container may have a user without one. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
