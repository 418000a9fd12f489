import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Right } from '../../server/dashboard/protocol.js';
import type { Monitor } from '../state/monitor.js';
import { type ActionClient, createActionClient } from './action-client.js';
import { ConfirmDialog, type Question } from './confirm-dialog.js';

/** Actions of the user who looks at the page. */
export interface Actions {
  readonly client: ActionClient;
  may(right: Right): boolean;
  /** Asks for a confirmation, then carries the action out. */
  ask(question: Question): void;
}

/** Actions of the page, which has one user. */
const current = signal<Actions | null>(null);

/** Returns the actions of the user; `null` if there is no actions handler, or nobody is signed in to it. */
export function useActions(): Actions | null {
  return current.value;
}

/** Asks for the rights of the user, and shows the dialog in which an action is confirmed. */
export function ActionsOfUser({ monitor }: { readonly monitor: Monitor }): JSX.Element | null {
  const isSnapshot = monitor.connection.value.kind === 'snapshot';
  const mount = isSnapshot ? undefined : monitor.store.introspection.value?.actions;
  const client = useMemo(() => (mount === undefined ? null : createActionClient(mount)), [mount]);
  const [asked, setAsked] = useState<{ readonly question: Question; readonly actions: Actions } | null>(null);
  const isLost = monitor.connection.value.kind === 'lost';
  useEffect(() => {
    if (client === null) return;
    let isLatest = true;
    const show = (actions: Actions | null): void => {
      if (isLatest) current.value = actions;
    };
    // Without rights, the page is read-only. They are asked for again when the server is back.
    client.operator().then(
      ({ can }) => {
        const may = (right: Right): boolean => can.includes(right);
        const actions: Actions = { client, may, ask: (question) => setAsked({ question, actions }) };
        show(actions);
      },
      () => show(null),
    );
    return () => {
      isLatest = false;
    };
  }, [client, isLost]);
  useEffect(
    () => () => {
      current.value = null;
    },
    [client],
  );
  return asked && <ConfirmDialog {...asked} onDone={() => monitor.refresh()} onClose={() => setAsked(null)} />;
}

export interface ActionButtonProps {
  readonly question: Question;
  /** @default that of the button that confirms */
  readonly label?: string;
}

/** Button of an action, which a dialog confirms. Absent if the user may not carry it out. */
export function ActionButton({ question, label = question.confirm }: ActionButtonProps): JSX.Element | null {
  const actions = useActions();
  if (actions?.may(question.right) !== true) return null;
  return (
    <button type="button" class="button" title={question.title} onClick={() => actions.ask(question)}>
      {label}
    </button>
  );
}
