import { describe, expect, it } from 'vitest';
import { confirmBulk } from './command-context.js';
import { createStreams } from './in-process.fixture.js';
import { Terminal } from './terminal.js';

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
