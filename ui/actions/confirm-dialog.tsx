import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../format/number.js';
import { Icon } from '../shared/icon.js';

/** Reports how many events of an action are done. */
export type ReportProgress = (done: number, total: number) => void;

/** Action that the user confirms. */
export interface Question {
  readonly title: string;
  /** Names the effect. A promise if the server has to say first what the action is about. */
  readonly effect: string | Promise<string>;
  /** Subject of the decision, shown below the effect. */
  readonly details?: JSX.Element;
  /** Label of the button that confirms. */
  readonly confirm: string;
  /** The store refuses the action without a reason. */
  readonly needsReason?: boolean;
  /** Part of the subject that the user chooses. */
  readonly choice?: { readonly label: string; readonly options: readonly string[]; readonly initial: string };
  /** Resolves with what was done, or with a link to it. */
  act(reason: string, report: ReportProgress, chosen: string): Promise<string | ActionLink>;
}

/** Text that links to what an action created. */
export interface ActionLink {
  readonly text: string;
  readonly href: string;
}

export interface ConfirmDialogProps {
  readonly question: Question;
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
export function ConfirmDialog({ question, onDone, onClose }: ConfirmDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [phase, setPhase] = useState<Phase>({ kind: 'asking', text: '' });
  const [effect, setEffect] = useState<string | null>(typeof question.effect === 'string' ? question.effect : null);
  const { title, confirm, needsReason = false, choice } = question;
  const [chosen, setChosen] = useState(choice?.initial ?? '');
  useEffect(() => {
    dialog.current?.showModal();
    if (typeof question.effect === 'string') return;
    question.effect.then(setEffect, (error: unknown) => setPhase({ kind: 'failed', text: messageOf(error) }));
  }, [question]);
  const act = async (): Promise<void> => {
    const report = (done: number, total: number): void =>
      setPhase({ kind: 'acting', text: `${formatCount(done)} of ${formatCount(total)}` });
    setPhase({ kind: 'acting', text: 'Working…' });
    try {
      const done = await question.act(reason, report, chosen);
      setPhase({ kind: 'done', ...(typeof done === 'string' ? { text: done } : done) });
    } catch (error) {
      setPhase({ kind: 'failed', text: messageOf(error) });
    }
    onDone();
  };
  const isBusy = phase.kind === 'acting';
  const isOpen = isBusy || phase.kind === 'asking';
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="action-title"
      onClose={onClose}
      onCancel={(event) => {
        if (isBusy) event.preventDefault();
      }}
    >
      <h2 id="action-title">{title}</h2>
      <p>{effect ?? 'Loading…'}</p>
      {question.details}
      <form
        class="action-form"
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        {choice !== undefined && isOpen && (
          <label class="action-reason">
            <span>{choice.label}</span>
            <select disabled={isBusy} value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
              {choice.options.map((option) => (
                <option key={option}>{option}</option>
              ))}
            </select>
          </label>
        )}
        {isOpen && (
          <label class="action-reason">
            <span>Reason{needsReason ? '' : ' (optional)'}, for the audit</span>
            <textarea
              rows={2}
              maxLength={512}
              required={needsReason}
              disabled={isBusy}
              value={reason}
              onInput={({ currentTarget }) => setReason(currentTarget.value)}
            />
          </label>
        )}
        <p class={phase.kind === 'failed' ? 'action-status tone-failed' : 'action-status'} role="status">
          {phase.kind === 'failed' && <Icon name="triangle" />}
          {phase.kind === 'done' && <Icon name="check" />}
          {phase.href === undefined ? (
            phase.text
          ) : (
            <a href={phase.href} onClick={() => dialog.current?.close()}>
              {phase.text}
            </a>
          )}
        </p>
        <div class="action-buttons">
          <button type="button" class="button" disabled={isBusy} onClick={() => dialog.current?.close()}>
            Close
          </button>
          {isOpen && (
            <button type="submit" class="button action-confirm" disabled={isBusy || effect === null}>
              {confirm}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
