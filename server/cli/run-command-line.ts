import { CommanderError } from 'commander';
import { HubError, InvalidOptionError } from '../errors.js';
import { UnknownEventError } from '../hub/errors.js';
import { NotSubscribedError } from '../transports/errors.js';
import { Connection } from './connection.js';
import { createProgram } from './create-program.js';
import { ExitError, exitCodes } from './exit.js';
import { type Streams, Terminal } from './terminal.js';

/** Runs a command line. Returns its exit code. */
export async function runCommandLine(args: readonly string[], streams: Streams): Promise<number> {
  const terminal = new Terminal(streams);
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  let outputError: NodeJS.ErrnoException | undefined;
  streams.stdout.on('error', (error) => {
    outputError = error;
    interrupt();
  });
  // No stream is left that could show the error.
  streams.stderr.on('error', () => {});
  const program = createProgram(async (options, action) => {
    const connection = new Connection(options);
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    try {
      await action({ connection, terminal, json: options.json === true, signal: interrupted.signal });
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
  const code = await program.parseAsync([...args], { from: 'user' }).then(
    () => 0,
    (error: unknown) => codeOf(error, terminal),
  );
  await terminal.flush();
  // A reader that has read enough, such as `head`, is no failure.
  if (outputError === undefined || outputError.code === 'EPIPE') return code;
  terminal.note(`The output cannot be written: ${outputError.code}`);
  return exitCodes.failed;
}

/** Returns the exit code of an error, and shows its message. */
function codeOf(error: unknown, terminal: Terminal): number {
  // It has shown its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
  if (error instanceof ExitError) {
    terminal.note(error.message);
    return error.exitCode;
  }
  terminal.note(HubError.is(error) ? `${error.name}: ${error.publicMessage}` : String(error));
  if (error instanceof InvalidOptionError) return exitCodes.usage;
  const isUnknown = error instanceof UnknownEventError || error instanceof NotSubscribedError;
  return isUnknown ? exitCodes.notFound : exitCodes.failed;
}
