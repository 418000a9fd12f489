import type { CommitResult } from '../../transport.js';

/** Reads what a script that records answered. */
export function readCommitResult(answer: unknown): CommitResult {
  if (answer === 'ok' || answer === 'already' || answer === 'fenced') return answer;
  throw new TypeError(`Redis answered ${JSON.stringify(answer)} where a commit result was expected`);
}
