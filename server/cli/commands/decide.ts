import { createHub } from '../../hub/create-hub.js';
import type { EventDetails } from '../../hub/introspection/event-search.js';
import type { StepIntrospection } from '../../hub/runs/run-introspection.js';
import type { CommandContext } from '../command-context.js';
import { ExitError, exitCodes } from '../terminal.js';

/** Options of `hubline approve` and `hubline refuse`. */
export interface DecideFlags {
  readonly step?: string;
  readonly reason?: string;
}

/** Call of a tool that waits for an approval. */
interface Asked {
  readonly service: string;
  readonly step: string;
  /** Event that brings the decision. */
  readonly type: string;
  readonly approvalId: string;
}

/** Decides on the call of a tool that a run waits for. @throws {ExitError} unless exactly one call is meant */
export async function decide(
  { connection, terminal, json }: CommandContext,
  id: string,
  approved: boolean,
  { step, reason }: DecideFlags,
): Promise<void> {
  const reader = await connection.hub();
  const all = (await reader.find(id)).flatMap(approvalsOf);
  const [asked, ...others] = step === undefined ? all : all.filter((one) => one.step === step);
  if (asked === undefined)
    throw new ExitError(
      exitCodes.notFound,
      `${id} waits for no approval${step === undefined ? '' : ` at the step ${step}`}.`,
    );
  if (others.length > 0) {
    const names = all.map((one) => `--step '${one.step}'`).join(', ');
    throw new ExitError(exitCodes.usage, `${id} waits for several approvals: pass one of ${names}.`);
  }
  const { service, type, approvalId } = asked;
  const hub = createHub({ service, transport: connection.transport });
  const decided = hub.event<{ approvalId: string; approved: boolean; reason?: string }>({
    type,
    key: (payload) => payload.approvalId,
  });
  await hub.start();
  try {
    await hub.emit(decided, { approvalId, approved, ...(reason !== undefined && { reason }) });
  } finally {
    await hub.stop({ drainMs: 0 });
  }
  if (json) terminal.json({ approvalId, approved });
  else terminal.line(`${approved ? 'Approved' : 'Refused'} ${asked.step} of ${id}.`);
}

function approvalsOf({ service, steps = [] }: EventDetails): Asked[] {
  return steps.flatMap(({ name, kind, status, waitsFor }: StepIntrospection) => {
    const { type, key } = waitsFor?.event ?? {};
    const isAsked = kind === 'approval' && status === 'waiting' && type !== undefined && key !== undefined;
    return isAsked ? { service, step: name, type, approvalId: key } : [];
  });
}
