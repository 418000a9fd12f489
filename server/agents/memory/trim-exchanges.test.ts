import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../model/message.js';
import { repairPairs } from './repair-pairs.js';
import { dropHeadless, trimExchanges } from './trim-exchanges.js';
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

  test('moves a result to its call, past another run’s messages', () => {
    expect(repairPairs([calls('a'), user('other'), says('other'), result('a')])).toEqual([
      calls('a'),
      result('a'),
      user('other'),
      says('other'),
    ]);
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

describe('trimExchanges', () => {
  const first = [user('1'), calls('a'), result('a'), says('one')];
  const second = [user('2'), says('two')];

  test.each<[string, number, Message[]]>([
    ['all that fits', 6, [...first, ...second]],
    ['no part of the oldest exchange, which goes whole', 5, second],
    ['the newest exchange', 2, second],
  ])('keeps %s', (_, maxMessages, kept) => {
    expect(trimExchanges([...first, ...second], maxMessages)).toEqual(kept);
  });

  test('keeps the question and the newest turns of a too long exchange', () => {
    const long = [user('q'), calls('a'), result('a'), calls('b', 'c'), result('b'), result('c'), says('end')];
    expect(trimExchanges(long, 5)).toEqual([user('q'), calls('b', 'c'), result('b'), result('c'), says('end')]);
    expect(trimExchanges(long, 4)).toEqual([user('q'), says('end')]);
    expect(trimExchanges(long, 1)).toEqual([user('q')]);
  });

  test('never orphans a result, never exceeds the limit, keeps the newest, and starts with a user message if there is one', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 40 }), fc.integer({ min: 1, max: 20 }), (messages, maxMessages) => {
        const sound = dropHeadless(repairPairs(messages));
        const trimmed = trimExchanges(sound, maxMessages);
        expectWellPaired(trimmed);
        expect(trimmed.length).toBeLessThanOrEqual(maxMessages);
        if (sound.length > 0) expect(trimmed[0]?.role).toBe('user');
        if (sound.length <= maxMessages) expect(trimmed).toEqual(sound);
      }),
    );
  });

  test('never orphans a result if there is no user message', () => {
    fc.assert(
      fc.property(fc.array(anyMessage), fc.integer({ min: 1, max: 9 }), (messages, maxMessages) => {
        const trimmed = trimExchanges(repairPairs(messages.filter(({ role }) => role !== 'user')), maxMessages);
        expectWellPaired(trimmed);
        expect(trimmed.length).toBeLessThanOrEqual(maxMessages);
      }),
    );
  });
});
