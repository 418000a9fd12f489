import { spawn } from 'node:child_process';

/** Result of a command. */
export interface CommandEnd {
  readonly ok: boolean;
  /** Last lines of both output streams. */
  readonly lastLines: string;
}

const linesKept = 5;

/** Runs a command without input and collects its output. Never rejects: a command that cannot start has failed. */
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
      const end = signal === null ? '' : `\nkilled by ${signal}: time limit ${timeoutMs} ms`;
      resolve({ ok: code === 0, lastLines: output.trim() + end });
    });
  });
}
