import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAnswerJson } from './answer-json.js';
import { resolveOutputSchema } from './output-schema.js';

const answer = { sum: 4, note: 'a "quoted" } ]\n```' };
const json = JSON.stringify(answer);
const pretty = JSON.stringify(answer, null, 2);

/** Forms of an answer around its JSON. */
const forms: Record<string, (json: string) => string> = {
  'the JSON alone': (text) => ` ${text}\n`,
  'a block': (text) => `\`\`\`json\n${text}\n\`\`\``,
  'a block without a language': (text) => `\`\`\`\n${text}\n\`\`\``,
  'a block with a title': (text) => `\`\`\`json title="answer.json"\n${text}\n\`\`\``,
  'a block behind another block': (text) => `\`\`\`sh\nrun {it}\n\`\`\`\nThen:\n\`\`\`json\n${text}\n\`\`\``,
  'a block in front of another block': (text) => `\`\`\`json\n${text}\n\`\`\`\nUsed:\n\`\`\`js\nf({ a })\n\`\`\``,
  'a block behind a draft': (text) => `{"sum":3}\n\`\`\`json\n${text}\n\`\`\``,
  'an open block': (text) => `\`\`\`json\n${text}`,
  'text around it': (text) => `Here it is: ${text} Bye.`,
  'a reference in front of it': (text) => `As [1] and [2, 3] say: ${text}`,
  'a reference behind it': (text) => `${text} See [1].`,
  'text with brackets in front of it': (text) => `For all x in {a, b} and [c: ${text}`,
  'text with a quote in front of it': (text) => `The list {"of" things: ${text}`,
  'a string that never ends in front of it': (text) => `["a \n${text}`,
  'another value behind it': (text) => `${text} and {"other":1}`,
  'a reasoning in front of it': (text) => `<think>{"sum":9,"note":"x"} or {sum}?</think>\n${text}`,
  'a reasoning without its beginning': (text) => `maybe {"sum":9,"note":"x"}</think>${text}`,
  'a reasoning around it': (text) => `<think>It is ${text}</think>`,
  'a reasoning without its end': (text) => `<think>{a}, so ${text}`,
};

describe.each(Object.entries(forms))('%s', (_, form) => {
  test.each([json, pretty])('%s is found', async (text) => {
    const { read } = resolveOutputSchema(z.object({ sum: z.number(), note: z.string() }), undefined, 'a');
    expect(await read(form(text))).toEqual({ value: answer });
  });

  test('any object is found, whatever its texts contain', async () => {
    const texts = fc.string({ unit: fc.constantFrom(...'{}[]"\\`,:<>/think\n ad1') });
    // The name that makes it the answer.
    const value = fc.dictionary(texts, fc.oneof(texts, fc.array(texts), fc.integer())).map((fields) => ({
      ...fields,
      answer: 42,
    }));
    const schema = z.looseObject({ answer: z.literal(42) });
    const { read } = resolveOutputSchema(schema, undefined, 'a');
    await fc.assert(
      fc.asyncProperty(value, async (each) => {
        fc.pre(!JSON.stringify(each).includes('</think>') && !Object.hasOwn(each, '__proto__'));
        expect(await read(form(JSON.stringify(each)))).toEqual({ value: each });
      }),
    );
  });
});

test.each<[string, readonly unknown[]]>([
  [' 5\n', [5]],
  ['```json\n5\n```', [5]],
  ['A [list]: ["x"]', [['x']]],
  ['[{"a":1}, {"b":2}, oops', [{ b: 2 }, { a: 1 }]],
  ['{"__proto__":{"x":1}}', []],
  ['{"a":1]', []],
  ['no', []],
  ['', []],
  ['}{', []],
])('the values of %j are %j', (text, values) => {
  expect(readAnswerJson(text)).toEqual(values);
});

const size = 120_000;

// A scanner that takes quadratic time needs minutes for these, and the time limit of the test ends it.
test.each<[string, string]>([
  ['a block and line breaks', `\`\`\`json${'\n'.repeat(size)}`],
  ['line breaks in front of a block', `${'\n'.repeat(size)}\`\`\``],
  ['fences', '```'.repeat(size)],
  ['open brackets', '['.repeat(size)],
  ['open braces and quotes', '{"'.repeat(size)],
  ['strings in strings', '{"{" '.repeat(size)],
  ['escaped quotes', '["\\"'.repeat(size)],
  ['a string without an end', `["${'['.repeat(size)}`],
  ['brackets and spaces', `[${' '.repeat(size)}`.repeat(3)],
  ['keys without values', '{"a":'.repeat(size)],
  ['mismatched brackets', '[}'.repeat(size)],
  ['ends of a reasoning', '</think>'.repeat(size)],
])('%s take time in proportion to their length', (_, text) => {
  expect(readAnswerJson(text)).toEqual([]);
});

test('of very many values the most likely ones are read', () => {
  expect(readAnswerJson(`${'[1]'.repeat(size)}{"a":1}`)[0]).toEqual({ a: 1 });
  expect(readAnswerJson('{} '.repeat(size)).length).toBeLessThan(20);
});
