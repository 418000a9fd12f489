import { expect, it } from 'vitest';
import { readCommitResult } from '../consuming/lease-recorder.js';
import { decodeError, outcomeArguments } from './event-codec.js';

it('decodes an encoded error', () => {
  const error = { name: 'TypeError', message: 'no "x"', code: 'ERR_X' };
  const args = outcomeArguments({ status: 'failed', durationMs: 1, error, followUps: [] }, 2, 'shop');
  expect(args.slice(0, 2)).toEqual(['failed', 2]);
  expect(decodeError(String(args[5]))).toEqual(error);
});

it('rejects a reply that is no commit result', () => {
  const error = { code: 'ERR_UNEXPECTED_DATA', message: expect.stringContaining('"later" instead of a commit result') };
  expect(() => readCommitResult('later')).toThrow(expect.objectContaining(error));
});
