import type { Clock } from '../../../../transports/clock.js';
import type { Envelope } from '../../../../transports/transport.js';
import { HandlerTimeoutError } from '../../../errors.js';
import type { DurablePlace } from '../../../events/agent-support/durable-place.js';
import { AttemptEmitter } from '../../../events/attempts/attempt-emitter.js';
import { HandlerContext } from '../../../events/attempts/handler-context.js';
import type { HandlerHost } from '../../../events/attempts/outcome-recorder.js';
import { startStep } from '../../../observability/observe-step.js';
import type { ResolvedStepOptions } from '../../definition/run-scope.js';
import { StepContext } from '../../definition/step-context.js';
import { pathSeparator } from '../replay/run-entry.js';
import type { AttemptedStep, StepHost } from './requested-step.js';

/** Part of a run that calls handlers. */
export interface HandlerCaller {
  readonly run: StepHost;
  readonly place: DurablePlace;
}

/** Calls an event's handler that records its turns. */
export function callHandler(
  { run, place }: HandlerCaller,
  handler: (ctx: HandlerContext) => unknown,
  timeoutMs: number | undefined,
): Promise<unknown> {
  const { delivery, host, input: payload, workflow } = run;
  const { id, requestId, depth, type } = delivery.envelope;
  const idempotencyKey = `${host.transport.service}:${id}`;
  const { attempt } = delivery;
  const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
  const ctx = new HandlerContext(fields, closedEmitter(host, delivery.envelope), host, place);
  return callInTime(ctx, handler, workflow.name, timeoutMs, run);
}

/**
 * Runs a step of a list whose handler records its turns as steps of the run, and resolves with its result as JSON.
 *
 * @param attempt requests the step, which records its result
 */
export async function runContaining(
  { run, place }: HandlerCaller,
  id: string,
  call: AttemptedStep['call'],
  options: ResolvedStepOptions,
  attempt: (step: Pick<AttemptedStep, 'call' | 'contained' | 'failed'>) => Promise<string>,
): Promise<string> {
  const { delivery, host, input, replay, workflow } = run;
  const { clock, service } = host.transport;
  const prefix = `${id}${pathSeparator}`;
  if (replay.entries.hasResult('run', id)) {
    replay.skip(prefix);
    return attempt({ call, contained: undefined, failed: undefined });
  }
  const contained = { startedAt: clock.now(), startedMonotonic: clock.monotonic(), isOver: false };
  const failed = replay.open(id);
  if (failed !== undefined && !failed.isDue && failed.retryAt > contained.startedAt) {
    replay.close(id);
    replay.skip(prefix);
    return attempt({ call, contained: { ...contained, isOver: true }, failed });
  }
  const { id: runId, requestId, depth, body } = delivery.envelope;
  const fields = {
    requestId,
    eventType: workflow.name,
    eventId: runId,
    payload: options.view === undefined ? input : (JSON.parse(options.view.payload) as unknown),
    attempt: (failed?.attempt ?? 0) + 1,
    depth,
    idempotencyKey: `${service}:${runId}:${id}`,
  };
  const identity = { workflow: workflow.name, runId, step: id, body, view: options.view };
  const ctx = new StepContext(fields, closedEmitter(host, delivery.envelope), host, identity, {
    ...place,
    pathOf: () => prefix,
  });
  const operation = startStep(workflow.name, id, fields.attempt);
  run.onLeave(() => operation?.end());
  const handle = operation === undefined ? call : (own: StepContext) => operation.run(() => call(own));
  let end: () => unknown;
  try {
    const result = await callInTime(ctx, handle, `${workflow.name}: ${id}`, options.timeoutMs, run);
    end = () => result;
  } catch (error) {
    operation?.fail(error);
    end = () => {
      throw error;
    };
  } finally {
    operation?.end();
  }
  replay.close(id);
  replay.leave(prefix);
  const due = failed && { ...failed, delivery: delivery.attempt, isDue: true };
  return attempt({ call: end, contained, failed: due });
}

/** Calls a handler until its time-out. The handler ends when its signal aborts, as agents do. */
async function callInTime<TContext extends HandlerContext>(
  ctx: TContext,
  handler: (ctx: TContext) => unknown,
  owner: string,
  timeoutMs: number | undefined,
  run: StepHost,
): Promise<unknown> {
  const timer = timeoutMs === undefined ? undefined : startTimer(ctx, owner, timeoutMs, run.host.transport.clock);
  run.onLeave((reason) => {
    timer?.cancel();
    if (reason !== undefined) ctx.abort(reason);
  });
  try {
    return await handler(ctx);
  } finally {
    timer?.cancel();
  }
}

function startTimer(ctx: HandlerContext, owner: string, timeoutMs: number, clock: Clock): { cancel(): void } {
  return clock.after(timeoutMs, () => ctx.abort(new HandlerTimeoutError(owner, timeoutMs)));
}

/** The tools of an agent emit with contexts of their own, so that their events belong to the recorded call. */
function closedEmitter(host: HandlerHost, cause: Envelope): AttemptEmitter {
  const emitter = new AttemptEmitter(host, cause, '');
  emitter.close();
  return emitter;
}
