import { Command, CommanderError, Option } from 'commander';
import { HubError, InvalidOptionError } from '../errors.js';
import { UnknownEventError, UnknownStepError, UnknownTargetError } from '../hub/errors.js';
import { nearestNames } from '../hub/nearest-names.js';
import { NotSubscribedError } from '../transports/errors.js';
import { version } from '../version.js';
import { type CommandContext, readCount, readPort, readSeconds, readSince, userName } from './command-context.js';
import { audit } from './commands/audit.js';
import { cancel, retire } from './commands/cancel.js';
import { deadLetters, errors, replay } from './commands/dead-letters.js';
import { decide } from './commands/decide.js';
import { events, watch } from './commands/events.js';
import { exportRuns } from './commands/export-runs.js';
import { fork } from './commands/fork.js';
import { migrate } from './commands/migrate.js';
import { pause, resume } from './commands/pause.js';
import { readStatus, search } from './commands/search.js';
import { runDemo, serveDashboard } from './commands/serve-dashboard.js';
import { actingCommands, type McpFlags, type RunTool, readActing, serveMcp } from './commands/serve-mcp.js';
import { request, show, why } from './commands/show.js';
import { status } from './commands/status.js';
import { Connection, type StoreOptions } from './connection.js';
import { ExitError, exitCodes, type Streams, Terminal } from './terminal.js';

/** Runs a command line. Returns its exit code. @param via place that the audit names */
export async function runCommandLine(
  args: readonly string[],
  streams: Streams,
  via: CommandContext['via'] = 'cli',
): Promise<number> {
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
      await action({ connection, terminal, json: options.json === true, via, signal: interrupted.signal });
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
  const unknown = [UnknownEventError, UnknownStepError, UnknownTargetError, NotSubscribedError];
  return unknown.some((type) => error instanceof type) ? exitCodes.notFound : exitCodes.failed;
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
        'hubline status --postgres postgres://user@127.0.0.1/shop',
        `hubline request ${exampleId}`,
        'hubline replay --type payment.requested --since 2h',
      ),
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 success, 1 failure, 2 wrong arguments, 3 nothing found, 4 a failing hub (status)',
    )
    .hook('preAction', (_, command) => refuseEmptyTexts(command))
    .on('command:*', ([name]: readonly string[]) => refuseUnknown(program, String(name)));

  const add = (usage: string, description: string, ...shown: string[]): Command =>
    program
      .command(usage)
      .description(description)
      .addOption(new Option('--redis <url>', 'address of Redis (default: $REDIS_URL, then redis://127.0.0.1:6379)'))
      .option('--prefix <prefix>', 'prefix of the keys in Redis (default: hub)')
      .addOption(
        new Option('--postgres <url>', 'address of Postgres, in place of Redis').conflicts(['redis', 'prefix', 'file']),
      )
      .option('--schema <name>', 'schema of the tables in Postgres (default: hubline)')
      .addOption(
        new Option('--file <path>', 'file of sqliteTransport, in place of Redis').conflicts([
          'redis',
          'prefix',
          'schema',
        ]),
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

  add('show <ids...>', 'Show events and runs: attempts, steps, times and errors.', `hubline show ${exampleId}`)
    .option('--payload', 'show payload and result, if they are still stored, and the results of steps')
    .action((ids: readonly string[], options) => run(options, (context) => show(context, ids, options)));

  add(
    'why <id-or-name>',
    'Explain why an event or a run does not run, or why those of a type or a workflow wait.',
    `hubline why ${exampleId}`,
    'hubline why payment.requested',
  ).action((name: string, options) => run(options, (context) => why(context, name)));

  add(
    'export [workflow]',
    'Write the suspended runs of all workflows, or of one, to a file, to check changed code against them.',
    'hubline export --open --payload',
    'hubline export fulfil --open --payload --out fulfil.json',
  )
    .requiredOption('--open', 'runs that wait and have not ended')
    .option('--payload', 'include inputs and results of steps, as they are stored')
    .option('--out <path>', 'new file, which only you may read', 'hubline-runs.json')
    .option('--limit <number>', 'maximum number per workflow', readCount, 1_000)
    .action((workflow: string | undefined, options) =>
      run(options, (context) => exportRuns(context, workflow, options)),
    );

  add('request <id>', 'Show the events and runs of a request as a tree.', 'hubline request checkout-17').action(
    (id: string, options) => run(options, (context) => request(context, id)),
  );

  add(
    'search',
    'Find events and runs by a tag, or by a key.',
    'hubline search --tag customer-17',
    'hubline search --tag customer-17 --error 3f9a01b2c4d5 --status failed',
  )
    .option('--tag <tag>', 'tag, exactly')
    .addOption(new Option('--key <key>', 'key, exactly, in place of --tag').conflicts('tag'))
    .option('--type <type>', 'only those of this event type or workflow')
    .option('--status <status>', 'only those with this status', readStatus)
    .option('--error <group>', 'only those that failed with this error group, as errors prints it')
    .option('--since <time>', 'only those accepted since a duration ago such as 2h or 7d, or since a date', readSince)
    .option('--limit <number>', 'maximum number, newest first', readCount, 50)
    .hook('preAction', (_, command) => {
      const { tag, key } = command.opts();
      if (tag === undefined && key === undefined) command.error('error: pass --tag or --key');
    })
    .action((options) => run(options, (context) => search(context, options)));

  add(
    'errors [type]',
    'Show the errors of all types, or of one, as groups.',
    'hubline errors',
    'hubline errors payment.requested',
  ).action((type: string | undefined, options) => run(options, (context) => errors(context, type)));

  withQuery(add('dead-letters [type]', 'Show dead letters.', 'hubline dead-letters payment.requested --since 2h'))
    .option('--payload', 'show the payloads')
    .action((type: string | undefined, options) => run(options, (context) => deadLetters(context, type, options)));

  withActor(
    withQuery(
      add(
        'replay [ids...]',
        'Replay dead letters, or those of a type or an error group.',
        `hubline replay ${exampleId}`,
        'hubline replay --type payment.requested --since 2h --yes',
        'hubline replay --error 3f9a01b2c4d5',
      ),
    ),
  )
    .option('--type <type>', 'event type or workflow')
    .option('--yes', 'do not ask')
    .hook('preAction', refuseQueryOfOne)
    .action((ids: readonly string[], options) => run(options, (context) => replay(context, ids, options)));

  withActor(
    add('cancel <ids...>', 'Cancel events and runs that have not ended.', `hubline cancel ${exampleId}`),
  ).action((ids: readonly string[], options) => run(options, (context) => cancel(context, ids, options)));

  withActor(
    add(
      'fork <id>',
      'Start a new run with what an ended run recorded before a step.',
      `hubline fork ${exampleId} --from ship --reason 'the label was unreadable'`,
    ),
  )
    .requiredOption('--from <step>', 'step that runs again, as show prints it')
    .option('--service <name>', 'service of the run, if several have one with the id')
    .action((id: string, options) => run(options, (context) => fork(context, id, options)));

  withTarget(
    add(
      'pause',
      'Pause an event type, a workflow, a schedule or a service.',
      "hubline pause --type payment.requested --reason 'card provider is down'",
    ),
  )
    .option('--reason <text>', 'reason, which health, the dashboard and the audit show (required)')
    .action((options) => run(options, (context) => pause(context, options)));

  withTarget(
    add('resume', 'Resume what is paused.', 'hubline resume --type payment.requested', 'hubline resume --service mail'),
  )
    .option('--reason <text>', 'reason, which the audit shows')
    .action((options) => run(options, (context) => resume(context, options)));

  withActor(add('approve <id>', 'Approve the call of a tool that a run waits for.', `hubline approve ${exampleId}`))
    .option('--step <step>', 'step that waits, if the run waits for several approvals')
    .action((id: string, options) => run(options, (context) => decide(context, id, true, options)));

  withActor(
    add(
      'refuse <id>',
      'Refuse the call of a tool that a run waits for.',
      `hubline refuse ${exampleId} --reason 'above the limit'`,
    ),
    'reason, which the model receives and the audit shows',
  )
    .option('--step <step>', 'step that waits, if the run waits for several approvals')
    .action((id: string, options) => run(options, (context) => decide(context, id, false, options)));

  withActor(
    add(
      'retire <service>',
      'End the subscriptions of a service that will not return.',
      'hubline retire old-mail --discard',
    ),
  )
    .option('--only <names...>', 'event types and workflows (default: all of the service)')
    .option('--discard', 'discard pending events and dead letters')
    .option('--yes', 'do not ask')
    .action((service: string, options) => run(options, (context) => retire(context, service, options)));

  add('audit', 'Show who did what to what, when and why.', 'hubline audit --limit 20')
    .option('--limit <number>', 'maximum number, newest first, at most 1000', readCount, 50)
    .action((options) => run(options, (context) => audit(context, options)));

  add(
    'mcp',
    'Serve the commands to coding assistants, as tools of the Model Context Protocol over stdio. Read-only by default.',
    'hubline mcp --redis redis://127.0.0.1:6379',
    'hubline mcp --file hub.db --allow replay,cancel --payload',
  )
    .addOption(
      new Option('--allow <commands>', `commands that may act: ${actingCommands.join(', ')}`).argParser(readActing),
    )
    .option('--payload', 'offer the options that show payloads and results')
    .option('--by <name>', 'name of the assistant in the audit (default: user of the operating system)')
    .action((options: GlobalOptions & Omit<McpFlags, 'storeArgs' | 'by'> & { readonly by?: string }) =>
      run(options, (context) => {
        const flags = { ...options, by: options.by ?? userName(), storeArgs: storeArgsOf(options) };
        const call: RunTool = (args, streams) => runCommandLine(args, streams, 'mcp');
        return serveMcp(context, program.commands, flags, call);
      }),
    );
  program
    .command('demo [options...]')
    .description('Run a demo shop with simulated orders, and its dashboard; demo --help lists its options.')
    .allowUnknownOption()
    .helpOption(false)
    .addHelpText('after', examples('hubline demo', 'hubline demo --kill'))
    .action((args: readonly string[]) => run({ timeout: defaultTimeout }, (context) => runDemo(context, args)));

  program
    .command('migrate')
    .description('Create or update the tables of Postgres, for roles that may not do so.')
    .requiredOption('--postgres <url>', 'address of Postgres, of a role that may create the schema')
    .option('--schema <name>', 'schema of the tables', 'hubline')
    .option('--print', 'print the statements for an empty schema, and run nothing')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('hubline migrate --postgres postgres://admin@127.0.0.1/shop'))
    .action((options) => run({ timeout: defaultTimeout }, (context) => migrate(context, options)));

  add('watch', 'Show the counts of all types as a live table.', 'hubline watch --interval 5')
    .option('--interval <seconds>', 'seconds between two updates', readSeconds, 1)
    .option('--frames <number>', 'end after this number of updates (default: no end)', readCount)
    .action((options) => run(options, (context) => watch(context, options)));

  return program;
}

/** Returns the arguments that name the store. After `=`, no value is taken for an option. */
function storeArgsOf({ redis, prefix, file, postgres, schema, timeout }: GlobalOptions): readonly string[] {
  const named = Object.entries({ redis, prefix, file, postgres, schema, timeout });
  return named.flatMap(([name, value]) => (value === undefined ? [] : `--${name}=${value}`));
}

function withActor(command: Command, reason: string = 'reason, which the audit shows'): Command {
  return command
    .option('--by <name>', 'name of the person or program (default: user of the operating system)')
    .option('--reason <text>', reason);
}

/** Words of other tools for commands. */
const synonyms: Readonly<Record<string, string>> = {
  retry: 'replay',
  rerun: 'replay',
  requeue: 'replay',
  redrive: 'replay',
  stop: 'pause',
  unpause: 'resume',
  ls: 'events',
  list: 'events',
  get: 'show',
  find: 'search',
  log: 'audit',
  kill: 'cancel',
};

function refuseUnknown(program: Command, name: string): void {
  const names = program.commands.map((command) => command.name());
  const synonym = Object.hasOwn(synonyms, name) ? synonyms[name] : undefined;
  const [near = synonym] = synonym === undefined ? nearestNames(name, names) : [];
  const hint = near === undefined ? '' : `\n(Did you mean ${near}?)`;
  program.error(`error: unknown command '${name}'${hint}`, { code: 'commander.unknownCommand' });
}

function withTarget(command: Command): Command {
  return command
    .option('--type <type>', 'event type, in all services')
    .option('--workflow <name>', 'workflow, in all services')
    .option('--schedule <name>', 'schedule, in all services')
    .option('--service <name>', 'service, with all that it handles')
    .option('--by <name>', 'name of the person or program (default: user of the operating system)');
}

function withQuery(command: Command): Command {
  return command
    .option('--request <id>', 'only those of this request')
    .option('--error <group>', 'only those of this error group, as errors prints it')
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
  if (command.args.length === 0) return;
  const option = command.options.find(
    (one) =>
      ['request', 'error', 'since', 'limit'].includes(one.attributeName()) &&
      command.getOptionValueSource(one.attributeName()) === 'cli',
  );
  if (option !== undefined) command.error(`error: option '${option.flags}' needs --type or --error in place of an id`);
}

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
