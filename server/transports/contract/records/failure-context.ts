import { describe, expect, it } from 'vitest';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { failed } from '../outcome.js';

/** Tests that records of failures name the request and the step. */
export function describeFailureContext({ consume, next }: ContractStage): void {
  describe('the record of a failure', () => {
    it('has the request and, for a run, the step, and so has the dead letter', async () => {
      const shop = await consume([{ type: 'run', retainsRuns: true }]);
      await shop.transport.publish([envelope('run', { requestId: 'r-1' })]);
      await (await next(shop)).commit({ ...failed('no'), step: 'pick' });
      expect(await shop.transport.counts.failures('run')).toMatchObject([
        { requestId: 'r-1', step: 'pick', attempt: 1 },
      ]);
      expect(await shop.transport.deadLetters.list('run', 1)).toMatchObject([
        { envelope: { requestId: 'r-1' }, step: 'pick', attempt: 1 },
      ]);
    });

    it('has no step for an event', async () => {
      const shop = await consume(['a']);
      await shop.transport.publish([envelope('a', { requestId: 'r-2' })]);
      await (await next(shop)).commit(failed('no'));
      const [failure] = await shop.transport.counts.failures('a');
      expect(failure).toMatchObject({ requestId: 'r-2' });
      expect(failure).not.toHaveProperty('step');
    });
  });
}
