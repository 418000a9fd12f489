import type { CommitResult } from '../../transport.js';
import { unexpected } from '../scripts/reply.js';

/** Returns the commit result that a script returned. @throws {UnexpectedDataError} */
export function readCommitResult(reply: unknown): CommitResult {
  if (reply === 'ok' || reply === 'already' || reply === 'fenced') return reply;
  throw unexpected('a commit result', reply);
}
