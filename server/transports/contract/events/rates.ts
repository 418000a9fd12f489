import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs, untilLimit } from '../../../../scripts/property-tests.js';
import type { RateLimit, Subscription } from '../../delivery.js';
import type { Consumption, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, retry } from '../outcome.js';

/** Rate in effect from a time of the transport on. */
interface RateChange {
  readonly at: number;
  readonly rate: RateLimit | undefined;
}

type Command =
  | { readonly do: 'open'; readonly rate: number }
  | { readonly do: 'close' | 'complete' | 'retry' | 'filter'; readonly pick: number }
  | { readonly do: 'publish'; readonly count: number }
  | { readonly do: 'lose' }
  | { readonly do: 'advance'; readonly ms: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('open' as const), rate: fc.nat() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('complete', 'retry', 'filter'), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), pick: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 90 }) }) },
);

/** Tests that no window of a rate has more starts than its `max`. A start is the hand-out by the transport's clock. */
export function describeRates(stage: ContractStage): void {
  const { advance, consume, loseLeases, next, now, until } = stage;

  /** Returns the starts of an event that run or were interrupted: of others, a record has the time of the handler. */
  async function startsOf({ transport }: Consumption, id: string): Promise<readonly number[]> {
    const records = await transport.lookup.find(id);
    return records
      .flatMap(({ attempts }) => attempts)
      .filter(({ endedAt, isInterrupted }) => endedAt === undefined || isInterrupted === true)
      .map(({ startedAt }) => startedAt);
  }

  /** Returns the rates that may have been in effect at a time: in the millisecond of a change, either one. */
  function ratesAt(time: number, changes: readonly RateChange[]): readonly (RateLimit | undefined)[] {
    const last = changes.findLastIndex(({ at }) => at < time);
    const possible = changes.slice(Math.max(last, 0)).filter(({ at }, place) => place === 0 || at <= time + 1);
    return possible.map(({ rate }) => rate);
  }

  /**
   * Each start had room in the window before it, by the rate that was in effect, starts under an earlier rate included:
   * all of a type, and those of a key for the `perMs` under which they started.
   */
  function expectRoom(starts: readonly number[], changes: readonly RateChange[], isOfKey: boolean): void {
    const isCounted = (other: number, start: number): boolean =>
      !isOfKey || ratesAt(other, changes).every((rate) => rate !== undefined && other > start - rate.perMs);
    for (const [index, start] of starts.entries()) {
      const inWindow = ({ perMs }: RateLimit): number =>
        starts.slice(0, index + 1).filter((other) => other > start - perMs && isCounted(other, start)).length;
      const isAllowed = ratesAt(start, changes).some((rate) => rate === undefined || inWindow(rate) <= rate.max);
      expect(isAllowed, `${start - (starts[0] ?? 0)} of ${starts.map((time) => time - (starts[0] ?? 0))}`).toBe(true);
    }
  }

  async function play(rates: readonly Subscription[], keys: readonly string[], commands: readonly Command[]) {
    const observer = await consume([], { service: 'observer' });
    const open: { readonly consumption: Consumption; readonly subscription: Subscription }[] = [];
    const changes: RateChange[] = [];
    const ids: string[] = [];
    /** Times by the id of the event. */
    const starts = new Map<string, Set<number>>();
    const noteStarts = async (id: string): Promise<void> => {
      starts.set(id, new Set([...(starts.get(id) ?? []), ...(await startsOf(observer, id))]));
    };
    // A connection that closes leaves its settings until another one starts or remains.
    let effective: Subscription | undefined;
    const noteRate = async (): Promise<void> => {
      effective = open.at(-1)?.subscription ?? effective;
      changes.push({ at: await now(), rate: effective?.rate ?? effective?.perKey?.rate });
    };
    const subscribe = async (index: number): Promise<void> => {
      const subscription = rates[index % rates.length];
      if (subscription === undefined) return;
      // From here on either rate may be in effect.
      changes.push({ at: await now(), rate: undefined });
      open.push({ consumption: await consume([subscription]), subscription });
      await noteRate();
    };
    await subscribe(0);
    for (const each of commands) {
      if (each.do === 'open') {
        // They, the observer and the listener hold a session each of a pool with ten, and calls need one.
        if (open.length < 7) await subscribe(each.rate);
      } else if (each.do === 'publish') {
        const sent = Array.from({ length: each.count }, () => {
          const key = keys[ids.length % keys.length] ?? '';
          ids.push(`${key} ${ids.length}-${Math.random()}`);
          return envelope('a', { id: ids.at(-1) ?? '', ...(key !== '' && { key }) });
        });
        await observer.transport.publish(sent);
      } else if (each.do === 'advance') {
        await advance(each.ms);
      } else if (each.do === 'lose') {
        await loseLeases();
      } else if (each.do === 'close') {
        if (open.length < 2) continue;
        const [closed] = open.splice(each.pick % open.length, 1);
        changes.push({ at: await now(), rate: undefined });
        await closed?.consumption.transport.close({ drainMs: 0 });
        await noteRate();
      } else {
        const { consumption } = open[each.pick % open.length] ?? {};
        const delivery = consumption?.waiting.shift();
        if (delivery === undefined) continue;
        const filtered = each.do === 'filter' && delivery.attempt === 1;
        // The start of an event that is filtered does not count.
        if (!filtered) await noteStarts(delivery.envelope.id);
        // The record of an event has at most ten attempts.
        const isRetry = each.do === 'retry' && delivery.attempt < 4;
        await delivery.commit(isRetry ? retry(each.pick % 60) : { ...completed(), filtered });
      }
    }
    for (const id of ids) await noteStarts(id);
    for (const key of keys) {
      const ofKey = [...starts].filter(([id]) => id.startsWith(`${key} `)).flatMap(([, times]) => [...times]);
      expectRoom(
        ofKey.sort((a, b) => a - b),
        changes,
        key !== '',
      );
    }
    for (const { consumption } of [...open, { consumption: observer }]) {
      for (const delivery of consumption.waiting.splice(0)) await delivery.commit(completed());
      await consumption.transport.close({ drainMs: 0 });
    }
  }

  describe('a rate', () => {
    const typeRate = (max: number, perMs: number): Subscription => ({ type: 'a', rate: { max, perMs } });
    const keyRate = (max: number, perMs: number): Subscription => ({ type: 'a', perKey: { rate: { max, perMs } } });

    it.each<[string, readonly Subscription[], readonly string[]]>([
      ['', [typeRate(3, 150)], ['']],
      [' of a key', [keyRate(2, 150)], ['one', 'two', 'two']],
      [' that deploys change', [typeRate(3, 150), typeRate(2, 100), typeRate(5, 200), typeRate(4, 300)], ['']],
      [' of a key that deploys change', [keyRate(3, 150), keyRate(2, 150), keyRate(4, 100)], ['one']],
    ])(
      '%s has at most max starts in any window, whatever happens to events and connections',
      async (_, rates, keys) => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(command, { minLength: 20, maxLength: 40 }),
            untilLimit((commands) => play(rates, keys, commands)),
          ),
          // On a real server the smaller ones would take minutes to find.
          { numRuns: runs(3), endOnFailure: true, interruptAfterTimeLimit: 120_000 },
        );
      },
    );

    it.each<[string, Subscription]>([
      ['', typeRate(3, 400)],
      [' of a key', keyRate(3, 400)],
    ])('%s starts max events at once after a pause', async (_, subscription) => {
      const shop = await consume([subscription]);
      const send = async (): Promise<void> => {
        const sent = Array.from({ length: 5 }, () => envelope('a', { key: 'k' }));
        await shop.transport.publish(sent);
      };
      await send();
      await until(() => shop.waiting.length === 5);
      for (const delivery of shop.waiting.splice(0)) await delivery.commit(completed());
      await advance(450);
      const from = await now();
      await send();
      await until(() => shop.waiting.length === 3);
      expect((await now()) - from).toBeLessThan(400);
    });

    it('counts hundreds of starts', async () => {
      const shop = await consume([typeRate(150, 5_000)], { concurrency: 1_000 });
      await shop.transport.publish(Array.from({ length: 400 }, () => envelope('a')));
      await until(() => shop.waiting.length >= 150);
      await advance(100);
      expect(shop.waiting).toHaveLength(150);
      await until(() => shop.waiting.length >= 300);
      await advance(100);
      expect(shop.waiting).toHaveLength(300);
    });

    it('counts earlier starts when it has a higher max and a longer window', async () => {
      const one = await consume([typeRate(2, 100)]);
      const send = async (count: number): Promise<void> => {
        await one.transport.publish(Array.from({ length: count }, () => envelope('a')));
      };
      await send(4);
      for (let ended = 0; ended < 4; ended += 1) await (await next(one)).commit(completed());
      const two = await consume([typeRate(5, 5_000)]);
      await send(6);
      await one.transport.close({ drainMs: 0 });
      await advance(100);
      expect(two.waiting.length).toBeLessThanOrEqual(1);
      await until(() => two.waiting.length >= 4);
    });

    it('takes back the start of a filtered event, and no later one', async () => {
      const shop = await consume([typeRate(1, 400)]);
      await shop.transport.publish([envelope('a'), envelope('a'), envelope('a')]);
      const first = await next(shop);
      const second = await next(shop);
      const [startOfSecond = 0] = await startsOf(shop, second.envelope.id);
      await first.commit({ ...completed(), filtered: true });
      await second.commit(completed());
      const third = await next(shop);
      const [startOfThird = 0] = await startsOf(shop, third.envelope.id);
      expect(startOfThird - startOfSecond).toBeGreaterThanOrEqual(400);
    });

    it('counts the starts of released events again', async () => {
      const one = await consume([typeRate(2, 60_000)]);
      await one.transport.publish([envelope('a'), envelope('a')]);
      await next(one);
      await next(one);
      const two = await consume([typeRate(2, 60_000)]);
      await one.transport.close({ drainMs: 0 });
      await advance(100);
      expect(two.waiting).toHaveLength(0);
    });
  });
}
