import { spawn } from 'node:child_process';

/** How a command ended. */
export interface CommandEnd {
  readonly ok: boolean;
  /** The last lines that it printed, on either stream. */
  readonly lastLines: string;
}

const linesKept = 5;

/** Runs a command without input, quietly. Never rejects: a command that cannot be started has failed. */
export function runCommand(command: string, args: readonly string[], timeoutMs: number): Promise<CommandEnd> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString())
        .split('\n')
        .slice(-linesKept - 1)
        .join('\n');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', (error) => resolve({ ok: false, lastLines: error.message }));
    child.once('close', (code, signal) => {
      const end = signal === null ? '' : `\nended by ${signal}, after ${timeoutMs} ms at the latest`;
      resolve({ ok: code === 0, lastLines: output.trim() + end });
    });
  });
}
