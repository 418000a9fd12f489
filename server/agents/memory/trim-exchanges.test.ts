import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ExchangeMark, estimateMessageTokens, type Message } from '../model/message.js';
import { noUsage } from '../model/token-usage.js';
import { groupExchanges, repairPairs, trimExchanges } from './exchanges.js';
import { expectWellPaired } from './well-paired.fixture.js';

const user = (content: string): Message => ({ role: 'user', content });
const says = (content: string): Message => ({ role: 'assistant', content });
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 't', arguments: '{}' })),
});
const result = (id: string): Message => ({ role: 'tool', toolCallId: id, content: `of ${id}` });

const anyMessage = fc.oneof(
  fc.string().map(user),
  fc.string().map(says),
  fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }).map((ids) => calls(...ids)),
  fc.constantFrom('a', 'b', 'c', 'd').map(result),
);

const trim = (messages: readonly Message[], maxMessages: number, maxTokens = Number.POSITIVE_INFINITY): Message[] => {
  const exchanges = groupExchanges(messages).map(({ id, messages: own }) => ({ id, messages: repairPairs(own) }));
  return trimExchanges(exchanges, { maxMessages, maxTokens });
};

describe('repairPairs', () => {
  test('does not change a well-paired transcript', () => {
    const sound = [user('x'), calls('a', 'b'), result('a'), result('b'), says('y')];
    expect(repairPairs(sound)).toEqual(sound);
  });

  test('adds a result that says so to a call without a result', () => {
    const repaired = repairPairs([user('x'), calls('a', 'b'), result('b')]);
    expect(repaired.map(({ toolCallId }) => toolCallId)).toEqual([undefined, undefined, 'a', 'b']);
    expect(repaired[2]?.content).toContain('no result was recorded');
  });

  test('drops a result without its call', () => {
    expect(repairPairs([result('a'), user('x')])).toEqual([user('x')]);
  });

  test('pairs a reused id with the call before it', () => {
    const twice = [calls('a'), result('a'), user('x'), calls('a'), { ...result('a'), content: 'second' }];
    expect(repairPairs(twice)).toEqual(twice);
  });

  test('makes any sequence well paired, and is idempotent', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 30 }), (messages) => {
        const repaired = repairPairs(messages);
        expectWellPaired(repaired);
        expect(repairPairs(repaired)).toEqual(repaired);
        const spoken = (list: readonly Message[]): Message[] => list.filter(({ role }) => role !== 'tool');
        expect(spoken(repaired)).toEqual(spoken(messages));
      }),
    );
  });
});

describe('groupExchanges', () => {
  const mark = (id: string, index: number): ExchangeMark => ({ id, index, turns: 0, toolCalls: 0, usage: noUsage() });
  const inExchange = (id: string, messages: Message[]): Message[] =>
    messages.map((message, index) => ({ ...message, exchange: mark(id, index) }));

  test('assigns a result without an exchange to the latest one with its call', () => {
    const messages = [user('x'), calls('a'), user('other'), says('other'), result('a')];
    expect(groupExchanges(messages).map((exchange) => exchange.messages)).toEqual([
      [user('x'), calls('a'), result('a')],
      [user('other'), says('other')],
    ]);
  });

  test('separates any interleaving of exchanges, also with equal call ids', () => {
    const exchange = fc
      .nat(4)
      .map((turns) => [
        user('q'),
        ...Array.from({ length: turns }, () => [calls('a', 'b'), result('b'), result('a')]).flat(),
        says('end'),
      ]);
    const interleaved = fc.tuple(fc.array(exchange, { minLength: 1, maxLength: 4 }), fc.infiniteStream(fc.nat()));
    fc.assert(
      fc.property(interleaved, ([exchanges, picks]) => {
        const queues = exchanges.map((messages, index) => inExchange(`e${index}`, messages));
        const expected = new Map(queues.map((messages) => [messages[0]?.exchange?.id, [...messages]]));
        const stored: Message[] = [];
        while (queues.some((queue) => queue.length > 0)) {
          const waiting = queues.filter((queue) => queue.length > 0);
          const next = waiting[(picks.next().value ?? 0) % waiting.length]?.shift();
          if (next !== undefined) stored.push(next);
        }
        const grouped = groupExchanges(stored);
        expect(new Map(grouped.map(({ id, messages }) => [id, messages]))).toEqual(expected);
        for (const { messages } of grouped) expectWellPaired(repairPairs(messages));
      }),
    );
  });
});

describe('trimExchanges', () => {
  const first = [user('1'), calls('a'), result('a'), says('one')];
  const second = [user('2'), says('two')];

  test.each<[string, number, Message[]]>([
    ['everything that fits', 6, [...first, ...second]],
    ['no part of the oldest exchange, which is dropped whole', 5, second],
    ['the newest exchange', 2, second],
  ])('keeps %s', (_, maxMessages, kept) => {
    expect(trim([...first, ...second], maxMessages)).toEqual(kept);
  });

  test('keeps the question and the newest turns of a too long exchange', () => {
    const long = [user('q'), calls('a'), result('a'), calls('b', 'c'), result('b'), result('c'), says('end')];
    expect(trim(long, 5)).toEqual([user('q'), calls('b', 'c'), result('b'), result('c'), says('end')]);
    expect(trim(long, 4)).toEqual([user('q'), says('end')]);
    expect(trim(long, 1)).toEqual([user('q')]);
  });

  test('applies a limit in tokens in the same way', () => {
    const long = [user('q'), says('x'.repeat(400)), says('end')];
    expect(trim([...first, ...long], 100, 50)).toEqual([user('q'), says('end')]);
    expect(trim([...long, ...second], 100, 50)).toEqual(second);
  });

  test('never orphans a result, never exceeds a limit, and keeps the newest question and what fits', () => {
    fc.assert(
      fc.property(
        fc.array(anyMessage, { maxLength: 40 }).map((messages) => [user('first'), ...messages]),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 10, max: 200 }),
        (messages, maxMessages, maxTokens) => {
          const trimmed = trim(messages, maxMessages, maxTokens);
          expectWellPaired(trimmed);
          expect(trimmed.length).toBeLessThanOrEqual(maxMessages);
          expect(trimmed).toContainEqual(messages.findLast(({ role }) => role === 'user'));
          if (trimmed.length > 1) expect(estimateMessageTokens(trimmed)).toBeLessThanOrEqual(maxTokens);
          expect(trimmed[0]?.role).toBe('user');
          const everything = trim(messages, Number.POSITIVE_INFINITY);
          const fits = everything.length <= maxMessages && estimateMessageTokens(everything) <= maxTokens;
          if (fits) expect(trimmed).toEqual(everything);
        },
      ),
    );
  });
});
