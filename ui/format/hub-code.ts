/** Returns the code that replays the dead letters of a type: a command if other processes reach them. */
export function replayTypeCode(type: string, count: number, transport: string | undefined): string {
  return (
    command(`replay --type ${shellQuote(type)}`, transport) ??
    `for (const { id } of await hub.deadLetters(${jsQuote(type)}, { limit: ${count} })) {\n  await hub.replay(id);\n}`
  );
}

/** Returns the code that replays one dead letter: a command if other processes reach it. */
export function replayCode(id: string, transport: string | undefined): string {
  return command(`replay ${shellQuote(id)}`, transport) ?? `await hub.replay(${jsQuote(id)});`;
}

/** Returns the code that emits an event of a type. */
export function emitCode(type: string): string {
  return `await hub.emit(${jsQuote(type)}, { /* payload */ });`;
}

/** Call of a tool that waits for a decision. */
export interface WaitingApproval {
  /** Id of the run. */
  readonly runId: string;
  readonly step: string;
  /** Event that brings the decision. */
  readonly type: string;
}

/** Returns the code that approves the call of a tool: a command if other processes reach the run. */
export function approveCode({ runId, step, type }: WaitingApproval, transport: string | undefined): string {
  return (
    command(`approve ${shellQuote(runId)} --step ${shellQuote(step)}`, transport) ??
    // The page does not know the id of the approval: no awaited key leaves the process.
    [
      'const { waits } = await hub.waits();',
      `const wait = waits.find(({ id, step }) => id === ${jsQuote(runId)} && step.name === ${jsQuote(step)});`,
      `await hub.emit(${jsQuote(type)}, { approvalId: wait?.step.waitsFor?.event?.key, approved: true });`,
    ].join('\n')
  );
}

/** Returns a command line. `undefined` in memory, which no other process reaches. */
function command(line: string, transport: string | undefined): string | undefined {
  if (transport === 'redis') return `npx hubline ${line}`;
  // The page does not know the path of the file: a path says too much about the machine.
  return transport === 'sqlite' ? `npx hubline ${line} --file PATH` : undefined;
}

function jsQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Quotes a text for a POSIX shell, unless it is one plain word that is not an option. */
function shellQuote(text: string): string {
  return /^[\w./:][\w./:-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
