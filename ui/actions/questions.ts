import type {
  EventDetails,
  PeriodCounts,
  PreviewBody,
  Right,
  WaitIntrospection,
} from '../../server/dashboard/protocol.js';
import { formatMoment } from '../format/clock-time.js';
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

/** Returns the `act` of a question that carries one action out. @param done says that it is done */
function acting(client: ActionClient, right: Right, fields: ActionFields, done: string): Question['act'] {
  return async (reason) => {
    await client.act(right, fields, reason);
    return done;
  };
}

const kindNames = { type: 'event type', workflow: 'workflow', schedule: 'schedule', service: 'service' } as const;

export function pauseQuestion(client: ActionClient, { kind, name }: Target): Question {
  return {
    title: `Pause the ${kindNames[kind]} ${name}?`,
    effect: `Nothing of it starts in any service until it is resumed. What runs finishes, and events are still accepted.`,
    confirm: 'Pause',
    needsReason: true,
    act: acting(client, 'pause', { [kind]: name }, 'Paused.'),
  };
}

export function resumeQuestion(client: ActionClient, { kind, name }: Target): Question {
  return {
    title: `Resume the ${kindNames[kind]} ${name}?`,
    effect: 'What waits for it starts at once, within its limits.',
    confirm: 'Resume',
    act: async (reason) => {
      const { done } = await client.act('resume', { [kind]: name }, reason);
      return done === 0 ? 'It was not paused.' : 'Resumed.';
    },
  };
}

export function replayQuestion(client: ActionClient, { id, kind, type, service }: EventDetails): Question {
  const effect =
    kind === 'workflow'
      ? `The run goes on in ${service} at the step that failed.`
      : `The event is handled again in ${service}, from its first attempt.`;
  return {
    title: `Replay the dead letter of ${type}?`,
    effect,
    confirm: 'Replay',
    act: acting(client, 'replay', { id, service }, 'Replayed.'),
  };
}

/** Dead letters that are replayed together: those of a type or a workflow, or of one of its error groups. */
interface ReplayedLetters {
  readonly type: string;
  readonly errorGroup?: string;
}

/** Facts about dead letters before they are replayed. */
interface ReplayedFacts {
  /** Error of the group. */
  readonly error?: string;
  /** Counts of the type in the last 5 minutes. */
  readonly last5Min?: PeriodCounts | undefined;
  readonly details?: Question['details'];
}

/** Replays all open dead letters of a type or an error group that failed until now, in pages. */
export function replayAllQuestion(
  client: ActionClient,
  letters: ReplayedLetters,
  { error, last5Min, details }: ReplayedFacts,
): Question {
  const failed = last5Min === undefined ? 0 : last5Min.failed - last5Min.cancelled;
  const first = client.preview('replay', { ...letters });
  return {
    title: `Replay the dead letters of ${letters.type}${error === undefined ? '' : ` with the error "${error}"`}?`,
    effect: first.then(({ count, isMore }) =>
      count === 0
        ? 'None any more.'
        : `${failed === 0 ? '' : `${formatCount(failed)} failed in 5 min. `}${formatCount(count)}${isMore ? ' or more' : ''} dead ${count === 1 ? 'letter is' : 'letters are'} handled again, runs from the step that failed.`,
    ),
    ...(details && { details }),
    confirm: 'Replay',
    act: async (reason, report) => replayPages(client, letters, await first, reason, report),
  };
}

async function replayPages(
  client: ActionClient,
  letters: ReplayedLetters,
  first: PreviewBody,
  reason: string,
  report: ReportProgress,
): Promise<string> {
  let [done, failed] = [0, 0];
  let page: PreviewBody = first;
  let total = page.count;
  while (page.ids.length > 0) {
    let replayed = 0;
    for (let from = 0; from < page.ids.length; from += pageSize) {
      report(done + failed, total);
      const ids = page.ids.slice(from, from + pageSize);
      const result = await client.act('replay', { ids }, reason);
      replayed += result.done;
      failed += result.failed?.length ?? 0;
    }
    done += replayed;
    // Of a page that fails as a whole, the next one would be the same.
    if (!page.isMore || replayed === 0) break;
    page = await client.preview('replay', { ...letters, until: first.until });
    total += page.count;
  }
  return `Replayed ${formatCount(done)}${failed === 0 ? '.' : `; ${formatCount(failed)} were no longer there or failed.`}`;
}

/** Event or run that is cancelled. */
export type Cancelled = Pick<EventDetails, 'id' | 'kind' | 'type'>;

export function cancelQuestion(client: ActionClient, { id, kind, type }: Cancelled): Question {
  const noun = kind === 'workflow' ? 'run' : 'event';
  return {
    title: `Cancel the ${noun} ${id.slice(0, 8)}?`,
    effect: `The ${noun} of ${type} ends as failed in every service that has it, without a dead letter. A handler that runs is aborted.`,
    confirm: `Cancel the ${noun}`,
    act: acting(client, 'cancel', { id }, 'Cancelled.'),
  };
}

/** Runs an ended run again from a step that the user chooses. @param query query that the link to the new run retains */
export function forkQuestion(client: ActionClient, event: EventDetails, query: string): Question {
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
    act: async (reason, _report, fromStep) => {
      const forked = await client.act('fork', { id, service, fromStep }, reason);
      return { text: 'Forked: show the new run', href: viewPath('requests', forked.id ?? id) + query };
    },
  };
}

/** Returns the steps that a run has reached. */
export function forkSteps({ steps = [] }: Pick<EventDetails, 'steps'>): readonly string[] {
  return [...new Set(steps.flatMap(({ name, startedAt }) => (startedAt === undefined ? [] : name)))];
}

export function eraseQuestion(client: ActionClient, requestId: string): Question {
  return {
    title: `Erase the request ${requestId.slice(0, 8)}?`,
    effect: `Payloads, results and outputs of what has ended are removed for good, in all services. Its dead letters can no longer be replayed. What is pending keeps its payload.`,
    confirm: 'Erase',
    act: acting(client, 'erase', { requestId }, 'Erased.'),
  };
}

/** Decides on the call of a tool. */
export function decideQuestion(
  client: ActionClient,
  { id, type, step }: WaitIntrospection,
  tool: string,
  approved: boolean,
): Question {
  const { dueAt } = step.waitsFor ?? {};
  const until = dueAt === undefined ? '' : ` It waits until ${formatMoment(dueAt, Date.now())}.`;
  return {
    title: `${approved ? 'Approve' : 'Refuse'} ${tool}?`,
    effect: approved
      ? `${type} ${id.slice(0, 8)} executes it with the arguments that the model chose.${until}`
      : `The model of ${type} ${id.slice(0, 8)} receives the refusal, and your reason.${until}`,
    confirm: approved ? 'Approve' : 'Refuse',
    act: acting(client, 'approve', { id, step: step.name, approved }, approved ? 'Approved.' : 'Refused.'),
  };
}

export function retireQuestion(client: ActionClient, service: string): Question {
  return {
    title: `Retire the service ${service}?`,
    effect:
      'No events are stored for it until a hub of it starts again. Refused while it runs, or has events or dead letters.',
    confirm: 'Retire',
    act: acting(client, 'retire', { service }, 'Retired.'),
  };
}
