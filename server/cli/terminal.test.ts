import { describe, expect, it, test } from 'vitest';
import { confirmBulk } from './command-context.js';
import { createStreams } from './in-process.fixture.js';
import { formatAge, formatCount, formatMs, parseSince, plain, Terminal, tableLines } from './terminal.js';

/** Creates a terminal, or with `isTTY: false` streams that are none. */
function open({ isTTY = true } = {}) {
  const { streams, ...rest } = createStreams({ isTTY });
  const interrupted = new AbortController();
  return { terminal: new Terminal(streams), signal: interrupted.signal, interrupted, ...rest };
}

describe('Terminal', () => {
  it('draws the progress of a bulk action on a terminal alone', () => {
    const { terminal, out, err } = open();
    for (let done = 1; done <= 4; done += 1) terminal.progress(done, 4);
    expect(err().split('\r')).toEqual([
      '',
      '[######------------------] 1/4',
      '[############------------] 2/4',
      '[##################------] 3/4',
      '[########################] 4/4\n',
    ]);
    expect(out()).toBe('');
    const piped = open({ isTTY: false });
    piped.terminal.progress(1, 1);
    expect(piped.err()).toBe('');
  });

  it('escapes in JSON the control characters that a terminal obeys', () => {
    const { terminal, out } = open();
    terminal.json({ text: '\u001b[2J \u007f \u009b2J' });
    expect(out()).toBe('{\n  "text": "\\u001b[2J \\u007f \\u009b2J"\n}\n');
  });

  it('replaces a frame on a terminal, and appends it elsewhere', () => {
    const { terminal, out } = open();
    terminal.frame(['a\u001b[2J', 'b']);
    expect(out()).toBe('\u001b[Ha [2J\u001b[K\nb\u001b[K\n\u001b[J');
    const piped = open({ isTTY: false });
    piped.terminal.frame(['a', 'b']);
    expect(piped.out()).toBe('a\nb\n');
  });

  it.each([
    ['y\n', true],
    ['YES\n', true],
    ['\n', false],
    ['no\n', false],
    ['yesterday\n', false],
  ])('asks before a bulk action: %j', async (answer, isAgreed) => {
    const { stdin, out, err, ...context } = open();
    const confirmed = confirmBulk(context, 'Replay 2 dead letters?', false);
    stdin.write(answer);
    if (isAgreed) await confirmed;
    else await expect(confirmed).rejects.toMatchObject({ exitCode: 2, message: 'Nothing was changed.' });
    expect(err()).toContain('Replay 2 dead letters? [y/N] ');
    expect(out()).toBe('');
  });

  it('treats the end of the input, and a signal, as no', async () => {
    for (const end of ['stdin', 'interrupted', 'interrupted before'] as const) {
      const context = open();
      if (end === 'interrupted before') context.interrupted.abort();
      const confirmed = confirmBulk(context, 'Replay 2 dead letters?', false);
      if (end === 'stdin') context.stdin.end();
      else context.interrupted.abort();
      await expect(confirmed).rejects.toMatchObject({ exitCode: 2 });
    }
  });
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_500, '1.5 s'],
  [90_000, '1.5 min'],
  [7_200_000, '2 h'],
  [11 * 86_400_000, '11 d'],
])('formats %d ms as %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

test('formats the age of a moment, never a negative one', () => {
  expect(formatAge(1_000, 3_000)).toBe('2 s ago');
  expect(formatAge(4_000, 3_000)).toBe('0 ms ago');
  expect(formatAge(undefined, 3_000)).toBe('');
});

test.each([
  ['90s', 10_000],
  ['1.5m', 10_000],
  ['0h', 100_000],
  ['1970-01-01T00:00:01Z', 1_000],
  ['soon', undefined],
  ['2', undefined],
  ['-1h', undefined],
  ['', undefined],
])('reads %s as a moment', (text, at) => {
  expect(parseSince(text, 100_000)).toBe(at);
});

test('aligns columns, numbers to the right, and removes control characters', () => {
  expect(
    tableLines(
      ['type', 'failed'],
      [
        ['a', '12'],
        ['long\u001b[2J', '3'],
      ],
    ),
  ).toEqual(['type      failed', 'a             12', 'long [2J       3']);
  expect(tableLines(['type'], [])).toEqual([]);
  expect(plain('a\n\u0007b')).toBe('a  b');
});

test('a count has the singular of its noun for one alone', () => {
  expect([0, 1, 2].map((count) => formatCount(count, 'event type'))).toEqual([
    '0 event types',
    '1 event type',
    '2 event types',
  ]);
  expect([1, 2].map((count) => formatCount(count, 'process', 'processes'))).toEqual(['1 process', '2 processes']);
});
