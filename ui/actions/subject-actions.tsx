import { computed, type Signal, signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ErrorGroup, EventDetails, PauseSummary, WaitIntrospection } from '../../server/dashboard/protocol.js';
import { counted } from '../format/number.js';
import { ErrorFacts, stillFails } from '../shared/error-facts.js';
import { sumOf } from '../shared/lists.js';
import { ActionButton, useActions } from './actions.js';
import type { Question } from './confirm-dialog.js';
import { Contents } from './contents.js';
import {
  cancelQuestion,
  decideQuestion,
  eraseQuestion,
  forkQuestion,
  forkSteps,
  pauseQuestion,
  replayPages,
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
        {isDeadLetter && <ActionButton question={replayQuestion(event)} />}
        {endedAt === undefined && <ActionButton question={cancelQuestion(event)} />}
        {endedAt !== undefined && forkSteps(event).length > 0 && <ActionButton question={forkQuestion(event, query)} />}
      </div>
      {actions.may('payload') && <Contents key={id} id={id} client={actions.client} />}
      {endedAt !== undefined && (
        <div class="action-row">
          <ActionButton label="Erase request" question={eraseQuestion(requestId)} />
        </div>
      )}
    </>
  );
}

/** Pauses or resumes a target. @param paused its own pause, or that of its services */
export function PauseButton({ target, paused }: { target: Target; paused: PauseSummary | undefined }): JSX.Element {
  // Beside a process, it is more than the process.
  const subject = target.kind === 'service' ? ' service' : '';
  const question = paused === undefined ? pauseQuestion(target) : resumeQuestion(target);
  return <ActionButton label={question.confirm + subject} question={question} />;
}

export interface TypeActionsProps {
  readonly kind: 'type' | 'workflow';
  readonly name: string;
  readonly deadLetters: number;
  readonly paused: PauseSummary | undefined;
  /** Errors of the type, if they are known. */
  readonly groups?: readonly ErrorGroup[] | undefined;
  /** Time of the counts, or of the last failure among them if its clock is ahead, in epoch milliseconds. */
  readonly now: number;
}

/** Actions on an event type or a workflow. */
export function TypeActions({ kind, name, deadLetters, paused, groups = [], now }: TypeActionsProps): JSX.Element {
  const open = groups.filter((group) => group.deadLetters > 0);
  return (
    <div class="action-row">
      {deadLetters > 0 && (
        <ActionButton
          label={`Replay ${counted(deadLetters, 'dead letter')}`}
          question={replayGroupsQuestion(kind, name, open, now, deadLetters)}
        />
      )}
      <PauseButton target={{ kind, name }} paused={paused} />
    </div>
  );
}

/** Asks which dead letters to replay. @param all number of those of the type, absent if the groups are not all of them */
function replayGroupsQuestion(
  kind: TypeActionsProps['kind'],
  type: string,
  groups: readonly ErrorGroup[],
  now: number,
  all = 0,
): Question {
  const chosen = signal(groups.length > 1 ? groups.filter((group) => !stillFails(group, now)) : groups);
  const isAll = (): boolean => all > 0 && chosen.value.length === groups.length;
  const count = computed(() => (isAll() ? all : sumOf(chosen.value, ({ deadLetters }) => deadLetters)));
  const until = Math.max(now, ...groups.map(({ lastSeenAt }) => lastSeenAt));
  return {
    title: `Replay the dead letters of ${type}?`,
    effect:
      kind === 'type'
        ? 'Each event is handled again, from its first attempt.'
        : 'Each run goes on at the step that failed.',
    details: <LetterErrors groups={groups} chosen={chosen} now={now} />,
    confirm: 'Replay',
    count,
    right: 'replay',
    act: (client, reason, report) => {
      const parts = isAll() ? [{ type, until }] : chosen.value.map(({ id }) => ({ type, errorGroup: id, until }));
      return replayPages(client, parts, count.value, reason, report);
    },
  };
}

interface LetterErrorsProps {
  readonly groups: readonly ErrorGroup[];
  /** Groups that the user has chosen. */
  readonly chosen: Signal<readonly ErrorGroup[]>;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
}

/** Errors of dead letters: how many have which, and since when. The user chooses among several. Those that still fail are not chosen at first. */
function LetterErrors({ groups, chosen, now }: LetterErrorsProps): JSX.Element {
  const isChoice = groups.length > 1;
  return (
    <>
      {isChoice && groups.some((group) => stillFails(group, now)) && (
        <p class="muted">What still fails would probably fail again: choose it once its cause is fixed.</p>
      )}
      <ul class="failures" aria-label="Their errors">
        {groups.map((group) => {
          const facts = <ErrorFacts group={group} count={group.deadLetters} now={now} />;
          return (
            <li key={group.id}>
              {isChoice ? (
                <label class="checkbox">
                  <input
                    type="checkbox"
                    checked={chosen.value.includes(group)}
                    onChange={({ currentTarget: { checked } }) => {
                      chosen.value = groups.filter((each) => (each === group ? checked : chosen.value.includes(each)));
                    }}
                  />
                  <span>{facts}</span>
                </label>
              ) : (
                facts
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

export interface ErrorGroupActionsProps {
  readonly group: ErrorGroup;
  /** Time of its counts in epoch milliseconds on the server's clock. */
  readonly now: number;
}

/** Replays the dead letters of an error group. */
export function ErrorGroupActions({ group, now }: ErrorGroupActionsProps): JSX.Element | null {
  const { eventType, workflow = '', deadLetters } = group;
  if (deadLetters === 0) return null;
  const kind = eventType === undefined ? 'workflow' : 'type';
  return <ActionButton question={replayGroupsQuestion(kind, eventType ?? workflow, [group], now)} />;
}

export interface DecideButtonProps {
  readonly wait: WaitIntrospection;
  readonly tool: string;
  /** Call, as entries of a `<dl>`: who makes it, and until when it waits. */
  readonly facts: JSX.Element;
  /** Shown to a user who may not decide. */
  readonly otherwise: JSX.Element | null;
}

/** Decides on a call that waits; else the command line does. */
export function DecideButton({ wait, tool, facts, otherwise }: DecideButtonProps): JSX.Element | null {
  if (useActions()?.may('approve') !== true) return otherwise;
  return <ActionButton label="Decide" question={decideQuestion(wait, tool, <dl class="facts">{facts}</dl>)} />;
}

/** Retires services without a process. */
export function RetireButtons({ services }: { services: readonly { readonly service: string }[] }): JSX.Element {
  return (
    <div class="action-row">
      {services.map(({ service }) => (
        <ActionButton key={service} label={`Retire ${service}`} question={retireQuestion(service)} />
      ))}
    </div>
  );
}
