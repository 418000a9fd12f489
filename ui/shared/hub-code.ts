/** Returns the code that replays the dead letters of a type: a command on Redis, else a call in the process. */
export function replayTypeCode(type: string, count: number, transport: string | undefined): string {
  if (transport === 'redis') return `npx hubline replay --type ${shellQuote(type)}`;
  return `for (const { id } of await hub.deadLetters(${jsQuote(type)}, { limit: ${count} })) {\n  await hub.replay(id);\n}`;
}

/** Returns the code that replays one dead letter: a command on Redis, else a call in the process. */
export function replayCode(id: string, transport: string | undefined): string {
  return transport === 'redis' ? `npx hubline replay ${shellQuote(id)}` : `await hub.replay(${jsQuote(id)});`;
}

/** Call of a tool that waits for a decision. */
export interface WaitingApproval {
  /** Id of the run. */
  readonly runId: string;
  readonly step: string;
  /** Event that brings the decision. */
  readonly type: string;
  /** Id of the request for the approval. */
  readonly approvalId: string;
}

/** Returns the code that approves the call of a tool: a command on Redis, else a call in the process. */
export function approveCode({ runId, step, type, approvalId }: WaitingApproval, transport: string | undefined): string {
  if (transport === 'redis') return `npx hubline approve ${shellQuote(runId)} --step ${shellQuote(step)}`;
  return `await hub.emit(${jsQuote(type)}, { approvalId: ${jsQuote(approvalId)}, approved: true });`;
}

function jsQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Quotes a text for a POSIX shell, unless it is one plain word that is not an option. */
function shellQuote(text: string): string {
  return /^[\w./:][\w./:-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
