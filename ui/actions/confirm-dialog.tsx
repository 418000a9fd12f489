import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Right, WaitIntrospection } from '../../server/dashboard/protocol.js';
import { counted, formatCount } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import type { ActionClient } from './action-client.js';
import { LoadedContents } from './contents.js';

/** Reports how many events of an action are done. */
export type ReportProgress = (done: number, total: number) => void;

/** Action that the user confirms. */
export interface Question {
  readonly right: Right;
  readonly title: string;
  /** Names the effect. */
  readonly effect: string;
  /** Subject of the decision, shown below the effect. */
  readonly details?: JSX.Element;
  /** Call to decide on, whose arguments are shown to a user who may see them. */
  readonly wait?: WaitIntrospection;
  /** Label of the button that confirms. */
  readonly confirm: string;
  /** Number of events that it changes, which the button names. */
  readonly count?: ReadonlySignal<number>;
  /** Label of a button with the opposite answer, which needs a confirmation too. */
  readonly refuse?: string;
  /** The store refuses the action without a reason. */
  readonly needsReason?: boolean;
  /** Part of the subject that the user chooses. */
  readonly choice?: { readonly label: string; readonly options: readonly string[]; readonly initial: string };
  /**
   * Resolves with what was done, or with a link to it.
   *
   * @param chosen the chosen part, or the label of the pressed button if there is nothing to choose
   */
  act(client: ActionClient, reason: string, report: ReportProgress, chosen: string): Promise<string | ActionLink>;
}

/** Text that links to what an action created. */
export interface ActionLink {
  readonly text: string;
  readonly href: string;
}

export interface ConfirmDialogProps {
  readonly question: Question;
  readonly actions: { readonly client: ActionClient; may(right: Right): boolean };
  /** Called when the action has changed something. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Progress or result of the action; none before it. */
interface Phase {
  readonly kind: 'asking' | 'acting' | 'done' | 'failed';
  readonly text: string;
  readonly href?: string;
}

/** Dialog that names the effect of an action, asks why, and shows its progress and result. */
export function ConfirmDialog({ question, actions, onDone, onClose }: ConfirmDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [phase, setPhase] = useState<Phase>({ kind: 'asking', text: '' });
  const { title, effect, details, wait, confirm, refuse, count, needsReason = false, choice } = question;
  const { client } = actions;
  // The audit names who looked.
  const [contents] = useState(() => (wait && actions.may('payload') ? client.contents(wait.id) : null));
  const [isLoading, setLoading] = useState(contents !== null);
  const [chosen, setChosen] = useState(choice?.initial ?? confirm);
  useEffect(() => {
    dialog.current?.showModal();
    // Nobody decides before the arguments are there, or cannot be had.
    const end = (): void => setLoading(false);
    contents?.then(end, end);
  }, [contents]);
  const act = async (answer: string): Promise<void> => {
    const report = (done: number, total: number): void =>
      setPhase({ kind: 'acting', text: `${formatCount(done)} of ${formatCount(total)}` });
    setPhase({ kind: 'acting', text: 'Working…' });
    try {
      const done = await question.act(client, reason, report, answer);
      setPhase({ kind: 'done', ...(typeof done === 'string' ? { text: done } : done) });
    } catch (error) {
      setPhase({ kind: 'failed', text: error instanceof Error ? error.message : String(error) });
    }
    onDone();
  };
  const isBusy = phase.kind === 'acting';
  const isOpen = isBusy || phase.kind === 'asking';
  const isBlocked = isBusy || isLoading || count?.value === 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a key that follows a link clicks it.
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="action-title"
      onClose={onClose}
      // A link leads to another view.
      onClick={({ target, ctrlKey, metaKey }) => {
        if (isBusy || ctrlKey || metaKey) return;
        if (target instanceof Element && target.closest('a')) dialog.current?.close();
      }}
      onCancel={(event) => {
        if (isBusy) event.preventDefault();
      }}
    >
      <h2 id="action-title">{title}</h2>
      <p>{effect}</p>
      {details}
      {contents && <LoadedContents wait={wait} loading={contents} />}
      <form
        class="action-form"
        onSubmit={(event) => {
          event.preventDefault();
          void act(chosen);
        }}
      >
        {choice !== undefined && isOpen && (
          <label class="action-reason">
            {choice.label}
            <select disabled={isBusy} value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
              {choice.options.map((option) => (
                <option key={option}>{option}</option>
              ))}
            </select>
          </label>
        )}
        {isOpen && (
          <label class="action-reason">
            Reason{needsReason ? '' : ' (optional)'}, for the audit{refuse && ' and the model'}
            <textarea
              maxLength={512}
              required={needsReason}
              disabled={isBusy}
              value={reason}
              onInput={({ currentTarget }) => setReason(currentTarget.value)}
            />
          </label>
        )}
        <p class={`action-status ${phase.kind === 'failed' ? 'tone-failed' : ''}`} role="status">
          {phase.kind === 'failed' && <Icon name="triangle" />}
          {phase.kind === 'done' && <Icon name="check" />}
          {phase.href === undefined ? phase.text : <a href={phase.href}>{phase.text}</a>}
        </p>
        <div class="action-buttons">
          <button type="button" class="button" disabled={isBusy} onClick={() => dialog.current?.close()}>
            Close
          </button>
          {isOpen && refuse !== undefined && (
            <button type="button" class="button" disabled={isBlocked} onClick={() => void act(refuse)}>
              {refuse}
            </button>
          )}
          {isOpen && (
            <button type="submit" class="button action-confirm" disabled={isBlocked}>
              {confirm} {count && counted(count.value, 'dead letter')}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
