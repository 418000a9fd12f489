import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../model/message.js';
import { resumeExchange } from './resume-exchange.js';
import { expectWellPaired } from './well-paired.fixture.js';

const question = (content: string, idempotencyKey?: string): Message => {
  return { role: 'user', content, ...(idempotencyKey !== undefined && { idempotencyKey }) };
};
const answer = (content: string): Message => ({ role: 'assistant', content });
const call = (id: string): Message[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name: 't', arguments: '' }] },
  { role: 'tool', toolCallId: id, content: 'r' },
];

describe('the exchange of a key', () => {
  test.each<[string, Message[]]>([
    ['a conversation without it', [question('x', 'other'), answer('y'), question('k')]],
    ['an empty conversation', []],
    ['a message with the key that is no question', [{ ...answer('y'), idempotencyKey: 'k' }]],
  ])('is absent in %s', (_, messages) => {
    expect(resumeExchange(messages, 'k')).toBeUndefined();
  });

  test('keeps its position at the end', () => {
    const messages = [question('x'), answer('y'), question('q', 'k'), ...call('1')];
    expect(resumeExchange(messages, 'k')).toEqual(messages);
  });

  test('moves to the end, after later questions', () => {
    const [before, own, since] = [[question('x')], [question('q', 'k'), ...call('1')], [question('z'), answer('y')]];
    expect(resumeExchange([...before, ...own, ...since], 'k')).toEqual([...before, ...since, ...own]);
  });

  test('is complete, with every message and every call with its result', () => {
    const anyExchange = fc
      .tuple(fc.option(fc.constantFrom('k', 'l', 'm'), { nil: undefined }), fc.nat(3), fc.boolean())
      .map(([key, calls, isAnswered]) => ({ key, calls, isAnswered }));
    fc.assert(
      fc.property(fc.array(anyExchange, { maxLength: 6 }), (exchanges) => {
        const messages = exchanges.flatMap(({ key, calls, isAnswered }, index) => [
          question(`${index}`, key),
          ...Array.from({ length: calls }, (_, turn) => call(`${index}.${turn}`)).flat(),
          ...(isAnswered ? [answer(`${index}`)] : []),
        ]);
        const resumed = resumeExchange(messages, 'k');
        const last = exchanges.findLastIndex(({ key }) => key === 'k');
        expect(resumed === undefined).toBe(last === -1);
        if (resumed === undefined) return;
        expectWellPaired(resumed);
        expect(new Set(resumed)).toEqual(new Set(messages));
        expect(resumed.findLast(({ role }) => role === 'user')?.content).toBe(`${last}`);
      }),
    );
  });
});
