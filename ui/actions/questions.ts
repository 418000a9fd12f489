import type { JSX } from 'preact';
import type { EventDetails, Right, WaitIntrospection } from '../../server/dashboard/protocol.js';
import { formatCount } from '../format/number.js';
import { viewPath } from '../state/navigation.js';
import type { ActionClient, ActionFields } from './action-client.js';
import type { Question, ReportProgress } from './confirm-dialog.js';

/** Target of a pause, by kind and name. */
export interface Target {
  readonly kind: 'type' | 'workflow' | 'schedule' | 'service';
  readonly name: string;
}

/** Number of events per request. */
const pageSize = 100;

/** Returns the part of a question that carries one action out. @param done says that it is done */
function carryOut(right: Right, fields: ActionFields, done: string): Pick<Question, 'right' | 'act'> {
  return {
    right,
    act: async (client, reason) => {
      await client.act(right, fields, reason);
      return done;
    },
  };
}

function nameOf(kind: Target['kind']): string {
  return kind === 'type' ? 'event type' : kind;
}

export function pauseQuestion({ kind, name }: Target): Question {
  return {
    title: `Pause the ${nameOf(kind)} ${name}?`,
    effect: `Nothing of it starts in any service until it is resumed. What runs finishes, and events are still accepted.`,
    confirm: 'Pause',
    needsReason: true,
    ...carryOut('pause', { [kind]: name }, 'Paused.'),
  };
}

export function resumeQuestion({ kind, name }: Target): Question {
  return {
    title: `Resume the ${nameOf(kind)} ${name}?`,
    effect: 'What waits for it starts at once, within its limits.',
    confirm: 'Resume',
    right: 'resume',
    act: async (client, reason) => {
      const { done } = await client.act('resume', { [kind]: name }, reason);
      return done === 0 ? 'It was not paused.' : 'Resumed.';
    },
  };
}

export function replayQuestion({ id, kind, type, service }: EventDetails): Question {
  const effect =
    kind === 'workflow'
      ? `The run goes on in ${service} at the step that failed.`
      : `The event is handled again in ${service}, from its first attempt.`;
  return {
    title: `Replay the dead letter of ${type}?`,
    effect,
    confirm: 'Replay',
    ...carryOut('replay', { id, service }, 'Replayed.'),
  };
}

/**
 * Replays open dead letters in pages.
 *
 * @param parts filters: a type or a workflow, or one of its error groups. What fails after `until`, or again, is not replayed
 * @param count number of dead letters, as far as it is known
 */
export async function replayPages(
  client: ActionClient,
  parts: readonly ActionFields[],
  count: number,
  reason: string,
  report: ReportProgress,
): Promise<string> {
  let [done, failed] = [0, 0];
  for (const letters of parts) {
    let isMore = true;
    while (isMore) {
      const page = await client.preview('replay', letters);
      let replayed = 0;
      for (let from = 0; from < page.ids.length; from += pageSize) {
        report(done + failed, Math.max(count, done + failed + page.ids.length - from));
        const ids = page.ids.slice(from, from + pageSize);
        const result = await client.act('replay', { ids }, reason);
        replayed += result.done;
        done += result.done;
        failed += result.failed?.length ?? 0;
      }
      // Of a page that fails as a whole, the next one would be the same.
      isMore = page.isMore && replayed > 0;
    }
  }
  return `Replayed ${formatCount(done)}${failed === 0 ? '.' : `; ${formatCount(failed)} were no longer there or failed.`}`;
}

/** Event or run that is cancelled. */
type Cancelled = Pick<EventDetails, 'id' | 'type'> & Partial<Pick<EventDetails, 'kind'>>;

export function cancelQuestion({ id, kind, type }: Cancelled): Question {
  const noun = kind === 'workflow' ? 'run' : 'event';
  return {
    title: `Cancel the ${noun} ${id.slice(0, 8)}?`,
    effect: `The ${noun} of ${type} ends as failed in every service that has it, without a dead letter. A handler that runs is aborted.`,
    confirm: `Cancel ${noun}`,
    ...carryOut('cancel', { id }, 'Cancelled.'),
  };
}

/** Runs an ended run again from a step that the user chooses. @param query query that the link to the new run retains */
export function forkQuestion(event: EventDetails, query: string): Question {
  const { id, service, type, step } = event;
  const options = forkSteps(event);
  return {
    title: `Fork the run of ${type}?`,
    effect: `A new run starts in ${service} with what this one recorded before the step. The step and all that follows run again; what earlier steps emitted is not emitted again.`,
    confirm: 'Fork',
    choice: {
      label: 'Step that runs again',
      options,
      initial: options.findLast((name) => name === step) ?? options.at(-1) ?? '',
    },
    right: 'fork',
    act: async (client, reason, _report, fromStep) => {
      const forked = await client.act('fork', { id, service, fromStep }, reason);
      return { text: 'Forked: show the new run', href: viewPath('requests', forked.id ?? id) + query };
    },
  };
}

/** Returns the steps that a run has reached. */
export function forkSteps({ steps = [] }: Pick<EventDetails, 'steps'>): readonly string[] {
  return [...new Set(steps.flatMap(({ name, startedAt }) => (startedAt === undefined ? [] : name)))];
}

export function eraseQuestion(requestId: string): Question {
  return {
    title: `Erase the request ${requestId.slice(0, 8)}?`,
    effect: `Payloads, results and outputs of what has ended are removed for good, in all services. Its dead letters can no longer be replayed. What is pending keeps its payload.`,
    confirm: 'Erase',
    ...carryOut('erase', { requestId }, 'Erased.'),
  };
}

/** Decides on the call of a tool. @param details facts about the call */
export function decideQuestion(wait: WaitIntrospection, tool: string, details: JSX.Element): Question {
  const { id, step } = wait;
  const confirm = 'Approve';
  return {
    title: `Approve or refuse the call of ${tool}?`,
    effect: 'If you approve, it is executed with its arguments. If you refuse, the model receives your reason.',
    confirm,
    refuse: 'Refuse',
    right: 'approve',
    wait,
    details,
    act: async (client, reason, _report, answer) => {
      const approved = answer === confirm;
      await client.act('approve', { id, step: step.name, approved }, reason);
      return approved ? 'Approved.' : 'Refused.';
    },
  };
}

export function retireQuestion(service: string): Question {
  return {
    title: `Retire the service ${service}?`,
    effect:
      'No events are stored for it until a hub of it starts again. Refused while it runs, or has events or dead letters.',
    confirm: 'Retire',
    ...carryOut('retire', { service }, 'Retired.'),
  };
}
