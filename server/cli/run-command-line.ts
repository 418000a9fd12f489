import { CommanderError } from 'commander';
import { HubError } from '../errors.js';
import { Connection } from './connection.js';
import { createProgram } from './create-program.js';
import { ExitError, exitCodes } from './exit.js';
import { type Streams, Terminal } from './terminal.js';

/** Runs a command line. Returns its exit code. */
export async function runCommandLine(args: readonly string[], streams: Streams): Promise<number> {
  const terminal = new Terminal(streams);
  const program = createProgram(async (options, action) => {
    const connection = new Connection(options);
    const interrupted = new AbortController();
    const interrupt = (): void => interrupted.abort();
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    try {
      await action({ connection, terminal, json: options.json === true }, interrupted.signal);
    } finally {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      await connection.close();
    }
  });
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
    });
  }
  try {
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    if (error instanceof ExitError) {
      terminal.note(error.message);
      return error.exitCode;
    }
    terminal.note(HubError.is(error) ? `${error.name}: ${error.publicMessage}` : String(error));
    return exitCodes.failed;
  }
}
