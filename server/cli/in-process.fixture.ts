import { PassThrough } from 'node:stream';
import type { CommandResult } from './command-line.fixture.js';
import { runCommandLine } from './command-line.js';
import type { Streams } from './terminal.js';

/** Streams of a command that runs in this process. */
export interface CommandStreams {
  readonly streams: Streams;
  readonly stdin: PassThrough;
  /** Returns what was written to the standard output since the last call. */
  out(): string;
  /** Returns what was written to the standard error since the last call. */
  err(): string;
}

/** Creates streams. @param isTTY they are a terminal */
export function createStreams({ isTTY }: { readonly isTTY: boolean }): CommandStreams {
  // Output that is not read yet must not keep a command waiting.
  const stream = (): PassThrough => Object.assign(new PassThrough({ highWaterMark: 2 ** 30 }), { isTTY });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  return {
    // A stream of the process has more members than the command line uses.
    streams: { stdin, stdout, stderr } as unknown as Streams,
    stdin,
    out: () => readAll(stdout),
    err: () => readAll(stderr),
  };
}

/** Runs a command in this process, without a terminal. */
export async function runInProcess(args: readonly string[]): Promise<CommandResult> {
  const { streams, stdin, out, err } = createStreams({ isTTY: false });
  stdin.end();
  const code = await runCommandLine(args, streams);
  return { code, stdout: out(), stderr: err() };
}

/** Some versions of Node return one chunk per call. */
function readAll(stream: PassThrough): string {
  let text = '';
  for (let chunk: unknown = stream.read(); chunk !== null; chunk = stream.read()) text += String(chunk);
  return text;
}
