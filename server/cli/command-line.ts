import { Command, CommanderError, Option } from 'commander';
import { HubError, InvalidOptionError } from '../errors.js';
import { UnknownEventError } from '../hub/errors.js';
import { NotSubscribedError } from '../transports/errors.js';
import { version } from '../version.js';
import { type CommandContext, readCount, readPort, readSeconds, readSince } from './command-context.js';
import { cancel, retire } from './commands/cancel.js';
import { deadLetters, replay } from './commands/dead-letters.js';
import { decide } from './commands/decide.js';
import { events, watch } from './commands/events.js';
import { serveDashboard } from './commands/serve-dashboard.js';
import { request, show } from './commands/show.js';
import { status } from './commands/status.js';
import { Connection, type StoreOptions } from './connection.js';
import { ExitError, exitCodes, type Streams, Terminal } from './terminal.js';

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

/** Options of every command. */
export type GlobalOptions = StoreOptions & { readonly json?: boolean };

/** Runs a command with the context that its options describe. */
export type RunCommand = (options: GlobalOptions, action: (context: CommandContext) => Promise<void>) => Promise<void>;

const exampleId = '4be0643f-1d98-473b-97cd-ca98a6534710';
const defaultPort = 4_000;
const defaultTimeout = 5;

/** Creates the parser of the command line. @param run opens the store, runs the action and closes the store */
export function createProgram(run: RunCommand): Command {
  const program = new Command('hubline')
    .description('Reads and operates the hubs that share a store.')
    .version(version)
    .showHelpAfterError()
    .addHelpText(
      'after',
      examples(
        'hubline status --redis redis://127.0.0.1:6379',
        'hubline status --file hub.db',
        `hubline request ${exampleId}`,
        'hubline replay --type payment.requested --since 2h',
      ),
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 success, 1 failure, 2 wrong arguments, 3 nothing found, 4 a failing hub (status)',
    )
    .hook('preAction', (_, command) => refuseEmptyTexts(command));

  const add = (usage: string, description: string, ...shown: string[]): Command =>
    program
      .command(usage)
      .description(description)
      .addOption(new Option('--redis <url>', 'address of Redis (default: $REDIS_URL, then redis://127.0.0.1:6379)'))
      .option('--prefix <prefix>', 'prefix of the keys in Redis (default: hub)')
      .addOption(
        new Option('--file <path>', 'file of sqliteTransport, in place of Redis').conflicts(['redis', 'prefix']),
      )
      .option('--timeout <seconds>', 'time to wait for an answer of the store', readSeconds, defaultTimeout)
      .option('--json', 'print JSON')
      .addHelpText('after', examples(...shown));

  add('dashboard', 'Serve the dashboard.', 'hubline dashboard --port 4000')
    .option('--port <port>', 'port, 0 for any free one', readPort, defaultPort)
    .option(
      '--host <host>',
      'address to listen on; others than loopback are open to everyone who reaches them',
      '127.0.0.1',
    )
    .action((options) => run(options, (context) => serveDashboard(context, options)));

  add('status', 'Show totals and problems.', 'hubline status', 'hubline status --json').action((options) =>
    run(options, status),
  );

  add(
    'events [type]',
    'Show the counts of all types, or the newest events of one.',
    'hubline events order.placed',
  ).action((type: string | undefined, options) => run(options, (context) => events(context, type)));

  add('show <id>', 'Show one event or run: attempts, steps, times and errors.', `hubline show ${exampleId}`)
    .option('--payload', 'show the payload, if it is still stored, and the results of steps')
    .action((id: string, options) => run(options, (context) => show(context, id, options)));

  add('request <id>', 'Show the events and runs of a request as a tree.', 'hubline request checkout-17').action(
    (id: string, options) => run(options, (context) => request(context, id)),
  );

  withQuery(add('dead-letters [type]', 'Show dead letters.', 'hubline dead-letters payment.requested --since 2h'))
    .option('--payload', 'show the payloads')
    .action((type: string | undefined, options) => run(options, (context) => deadLetters(context, type, options)));

  withQuery(
    add(
      'replay [id]',
      'Replay one dead letter, or those of a type.',
      `hubline replay ${exampleId}`,
      'hubline replay --type payment.requested --since 2h --yes',
    ),
  )
    .option('--type <type>', 'event type or workflow')
    .option('--yes', 'do not ask')
    .hook('preAction', refuseQueryOfOne)
    .action((id: string | undefined, options) => run(options, (context) => replay(context, id, options)));

  add('cancel <id>', 'Cancel an event that waits, or a run.', `hubline cancel ${exampleId}`).action(
    (id: string, options) => run(options, (context) => cancel(context, id)),
  );

  add('approve <id>', 'Approve the call of a tool that a run waits for.', `hubline approve ${exampleId}`)
    .option('--step <step>', 'step that waits, if the run waits for several approvals')
    .action((id: string, options) => run(options, (context) => decide(context, id, true, options)));

  add(
    'refuse <id>',
    'Refuse the call of a tool that a run waits for.',
    `hubline refuse ${exampleId} --reason 'above the limit'`,
  )
    .option('--step <step>', 'step that waits, if the run waits for several approvals')
    .option('--reason <text>', 'reason, which the model receives')
    .action((id: string, options) => run(options, (context) => decide(context, id, false, options)));

  add(
    'retire <service>',
    'End the subscriptions of a service that will not return.',
    'hubline retire old-mail --discard',
  )
    .option('--only <names...>', 'event types and workflows (default: all of the service)')
    .option('--discard', 'discard pending events and dead letters')
    .option('--yes', 'do not ask')
    .action((service: string, options) => run(options, (context) => retire(context, service, options)));

  add('watch', 'Show the counts of all types as a live table.', 'hubline watch --interval 5')
    .option('--interval <seconds>', 'seconds between two updates', readSeconds, 1)
    .option('--frames <number>', 'end after this number of updates (default: no end)', readCount)
    .action((options) => run(options, (context) => watch(context, options)));

  return program;
}

function withQuery(command: Command): Command {
  return command
    .option('--request <id>', 'only those of this request')
    .option('--since <time>', 'only those since a duration ago such as 90s, 30m, 2h or 7d, or since a date', readSince)
    .option('--limit <number>', 'maximum number, newest first', readCount, 1_000);
}

/** Refuses what a shell passes for a variable without a value: as a host, an empty text means every address. */
function refuseEmptyTexts(command: Command): void {
  const isEmpty = (value: unknown): boolean => [value].flat().includes('');
  const option = command.options.find((one) => isEmpty(command.getOptionValue(one.attributeName())));
  if (option !== undefined) command.error(`error: option '${option.flags}' is empty`);
  const index = command.processedArgs.findIndex(isEmpty);
  if (index >= 0) command.error(`error: argument '${command.registeredArguments[index]?.name()}' is empty`);
}

/** An id names one dead letter: whoever restricts it further means others. */
function refuseQueryOfOne(command: Command): void {
  if (command.processedArgs[0] === undefined) return;
  const option = command.options.find(
    (one) =>
      ['request', 'since', 'limit'].includes(one.attributeName()) &&
      command.getOptionValueSource(one.attributeName()) === 'cli',
  );
  if (option !== undefined) command.error(`error: option '${option.flags}' needs --type in place of an id`);
}

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
