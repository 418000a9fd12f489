import type { JSX } from 'preact';
import type {
  ErrorGroup,
  EventDetails,
  PauseSummary,
  PeriodCounts,
  WaitIntrospection,
} from '../../server/dashboard/protocol.js';
import { counted } from '../format/number.js';
import { ErrorFacts } from '../shared/error-facts.js';
import { ActionButton, useActions } from './actions.js';
import type { Question } from './confirm-dialog.js';
import { Contents, LoadedContents } from './contents.js';
import {
  type Cancelled,
  cancelQuestion,
  decideQuestion,
  eraseQuestion,
  forkQuestion,
  forkSteps,
  pauseQuestion,
  replayAllQuestion,
  replayQuestion,
  resumeQuestion,
  retireQuestion,
  type Target,
} from './questions.js';

/** Actions on one event or run, and what it carries. Absent for a user without rights. */
export function EventActions({ event, query }: { event: EventDetails; query: string }): JSX.Element | null {
  const actions = useActions();
  if (actions === null) return null;
  const { id, endedAt, isDeadLetter, requestId } = event;
  return (
    <>
      <div class="action-row">
        {isDeadLetter === true && (
          <ActionButton right="replay" label="Replay" question={({ client }) => replayQuestion(client, event)} />
        )}
        {endedAt === undefined && <CancelButton {...event} />}
        {endedAt !== undefined && forkSteps(event).length > 0 && (
          <ActionButton right="fork" label="Fork" question={({ client }) => forkQuestion(client, event, query)} />
        )}
      </div>
      {actions.may('payload') && <Contents key={id} id={id} client={actions.client} />}
      {endedAt !== undefined && (
        <div class="action-row">
          <ActionButton
            right="erase"
            label="Erase request"
            question={({ client }) => eraseQuestion(client, requestId)}
          />
        </div>
      )}
    </>
  );
}

/** Cancels an event or a run. */
export function CancelButton(subject: Cancelled): JSX.Element {
  return <ActionButton right="cancel" label="Cancel" question={({ client }) => cancelQuestion(client, subject)} />;
}

/** Pauses or resumes a target. @param paused its own pause, or that of its services */
export function PauseButton({ target, paused }: { target: Target; paused: PauseSummary | undefined }): JSX.Element {
  // Beside a process, it is more than the process.
  const subject = target.kind === 'service' ? ' service' : '';
  return paused === undefined ? (
    <ActionButton right="pause" label={`Pause${subject}`} question={({ client }) => pauseQuestion(client, target)} />
  ) : (
    <ActionButton right="resume" label={`Resume${subject}`} question={({ client }) => resumeQuestion(client, target)} />
  );
}

export interface TypeActionsProps {
  readonly kind: 'type' | 'workflow';
  readonly name: string;
  readonly deadLetters: number;
  /** Counts of the last 5 minutes; absent if they are not known. */
  readonly recent: { readonly last5Min: PeriodCounts } | undefined;
  readonly paused: PauseSummary | undefined;
  /** Errors of the type; absent if they are not known. */
  readonly errors?: LetterErrorsProps;
}

/** Actions on an event type or a workflow. */
export function TypeActions({ kind, name, deadLetters, recent, paused, errors }: TypeActionsProps): JSX.Element | null {
  if (useActions() === null) return null;
  return (
    <div class="action-row">
      {deadLetters > 0 && (
        <ActionButton
          right="replay"
          label={`Replay ${counted(deadLetters, 'dead letter')}`}
          question={({ client }) =>
            replayAllQuestion(
              client,
              { type: name },
              { last5Min: recent?.last5Min, ...(errors && { details: <LetterErrors {...errors} /> }) },
            )
          }
        />
      )}
      <PauseButton target={{ kind, name }} paused={paused} />
    </div>
  );
}

interface LetterErrorsProps {
  readonly groups: readonly ErrorGroup[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
}

/** Number of errors that are listed in a dialog. */
const SHOWN_ERRORS = 4;

/** Errors of dead letters: how many have which, and since when. */
function LetterErrors({ groups, now }: LetterErrorsProps): JSX.Element | null {
  const open = groups.filter(({ deadLetters }) => deadLetters > 0);
  if (open.length === 0) return null;
  return (
    <ul class="failures" aria-label="Their errors">
      {open.slice(0, SHOWN_ERRORS).map((group) => (
        <li key={group.id}>
          <ErrorFacts group={group} count={group.deadLetters} now={now} />
        </li>
      ))}
      {open.length > SHOWN_ERRORS && <li class="muted">{counted(open.length - SHOWN_ERRORS, 'more error')}</li>}
    </ul>
  );
}

export interface ErrorGroupActionsProps {
  readonly group: ErrorGroup;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
}

/** Replays the dead letters of an error group. */
export function ErrorGroupActions({ group, now }: ErrorGroupActionsProps): JSX.Element | null {
  const { id, eventType, workflow, name, message, deadLetters } = group;
  if (deadLetters === 0) return null;
  const letters = { type: eventType ?? workflow ?? '', errorGroup: id };
  return (
    <ActionButton
      right="replay"
      label="Replay"
      question={({ client }) =>
        replayAllQuestion(client, letters, {
          error: message || name,
          details: <LetterErrors groups={[group]} now={now} />,
        })
      }
    />
  );
}

/** Decides on a call that waits; else the command line does. */
export function DecideActions({
  wait,
  tool,
  otherwise,
}: {
  readonly wait: WaitIntrospection;
  readonly tool: string;
  /** Shown to a user who may not decide. */
  readonly otherwise: JSX.Element | null;
}): JSX.Element | null {
  const actions = useActions();
  if (actions?.may('approve') !== true) return otherwise;
  const { client } = actions;
  const ask = (approved: boolean): Question => {
    const question = decideQuestion(client, wait, tool, approved);
    if (!actions.may('payload')) return question;
    // The audit names who looked.
    const loading = client.contents(wait.id);
    const { effect } = question;
    return {
      ...question,
      // Nobody decides before the arguments are there, or cannot be had.
      effect: loading.then(
        () => effect,
        () => effect,
      ),
      details: <LoadedContents wait={wait} loading={loading} />,
    };
  };
  return (
    <div class="action-row">
      <ActionButton right="approve" label="Approve" question={() => ask(true)} />
      <ActionButton right="approve" label="Refuse" question={() => ask(false)} />
    </div>
  );
}

/** Retires services without a process. */
export function RetireButtons({ services }: { services: readonly { readonly service: string }[] }): JSX.Element {
  return (
    <div class="action-row">
      {services.map(({ service }) => (
        <ActionButton
          key={service}
          right="retire"
          label={`Retire ${service}`}
          question={({ client }) => retireQuestion(client, service)}
        />
      ))}
    </div>
  );
}
