import { describe, expect, it } from 'vitest';
import type { Overview, TransportManager } from '../../transport.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed } from '../outcome.js';

/** Tests that services without a running process stay visible. */
export function describeStoppedServices({ consume, next, until }: ContractStage): void {
  const text = (service: string, version = 1): string => JSON.stringify({ service, version });
  const stopped = (service: string, version = 1): object => ({ service, version, isStopped: true });
  const running = (service: string, version = 1): object => ({ service, version });
  const seen = async ({ transport }: Consumption): Promise<unknown[]> =>
    (await transport.fleet.registered()).map((description) => JSON.parse(description)).sort(byText);

  describe('a service whose last process has ended', () => {
    it('keeps its types, counts, failures and runs visible, and shows no process', async () => {
      const observer = await consume([], { service: 'watch', description: text('watch') });
      const shop = await consume(['a', { type: 'run', retainsRuns: true }], { description: text('shop') });
      await observer.transport.publish([envelope('a'), envelope('run')]);
      const deliveries = [await next(shop), await next(shop)];
      for (const delivery of deliveries) {
        await delivery.commit(delivery.envelope.type === 'a' ? failed('card declined') : completed());
      }
      const revision = await observer.transport.counts.revision();
      await shop.transport.close({ drainMs: 0 });
      await observer.transport.publish([envelope('a')]);
      expect(await observer.transport.counts.revision()).not.toBe(revision);
      expect(await seen(observer)).toEqual([stopped('shop'), running('watch')].sort(byText));
      expect(await observer.transport.fleet.processes()).toHaveLength(1);
      expect(await overview(observer.transport)).toMatchObject({
        counts: [{ total: { received: 2, failed: 1, pending: 1 }, services: [{ service: 'shop' }] }, {}],
        runs: [[{ service: 'shop', status: 'completed' }]],
      });
      expect(await observer.transport.counts.failures('a')).toMatchObject([{ message: 'card declined' }]);
      expect((await overview(observer.transport)).registered.map((json) => JSON.parse(json)).sort(byText)).toEqual(
        await seen(observer),
      );
    });

    it('shows all its processes that ended together, and none that ended while others continued', async () => {
      const observer = await consume([], { service: 'watch', description: text('watch') });
      const one = await consume(['a'], { description: text('shop', 1) });
      const two = await consume(['b'], { description: text('shop', 2) });
      const mail = await consume(['a'], { service: 'mail', description: text('mail') });
      await one.transport.close({ drainMs: 0 });
      const others = [running('mail'), running('watch')];
      expect(await seen(observer)).toEqual([running('shop', 2), ...others].sort(byText));
      await two.transport.close({ drainMs: 0 });
      expect(await seen(observer)).toEqual([stopped('shop', 1), stopped('shop', 2), ...others].sort(byText));
      await mail.transport.close({ drainMs: 0 });
      const again = await consume(['a'], { description: text('shop', 3) });
      await until(async () => (await seen(observer)).length === 3);
      expect(await seen(observer)).toEqual([running('shop', 3), stopped('mail'), running('watch')].sort(byText));
      await again.transport.close({ drainMs: 0 });
    });
  });

  function overview({ lookup }: TransportManager): Promise<Overview> {
    return lookup.overview({ types: ['a', 'run'], runTypes: ['run'], runLimit: 9 });
  }
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
