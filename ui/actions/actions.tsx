import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import type { OperatorBody, Right } from '../../server/dashboard/protocol.js';
import type { Monitor } from '../state/monitor.js';
import { type ActionClient, createActionClient } from './action-client.js';
import { ConfirmDialog, type Question } from './confirm-dialog.js';

/** Actions of the user who looks at the page. */
export interface Actions {
  readonly user: string;
  readonly client: ActionClient;
  may(right: Right): boolean;
  /** Asks for a confirmation, then carries the action out. */
  ask(question: Question): void;
}

const ActionsContext = createContext<Actions | null>(null);

/** Returns the actions of the user; `null` if there is no actions handler, or nobody is signed in to it. */
export function useActions(): Actions | null {
  return useContext(ActionsContext);
}

export interface ActionsProviderProps {
  readonly monitor: Monitor;
  readonly children: ComponentChildren;
}

/** Gives the controls below it the rights of the user, and shows the dialog in which an action is confirmed. */
export function ActionsProvider({ monitor, children }: ActionsProviderProps): JSX.Element {
  const isSnapshot = monitor.connection.value.kind === 'snapshot';
  const mount = isSnapshot ? undefined : monitor.store.introspection.value?.actions;
  const client = useMemo(() => (mount === undefined ? null : createActionClient(mount)), [mount]);
  const [operator, setOperator] = useState<OperatorBody | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const isLost = monitor.connection.value.kind === 'lost';
  useEffect(() => {
    if (client === null) {
      setOperator(null);
      return;
    }
    let isCurrent = true;
    // Without rights, the page is read-only. They are asked for again when the server is back.
    client.operator().then(
      (found) => isCurrent && setOperator(found),
      () => isCurrent && setOperator(null),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, isLost]);
  const actions = useMemo<Actions | null>(
    () =>
      client === null || operator === null
        ? null
        : { user: operator.user, client, may: (right) => operator.can.includes(right), ask: setQuestion },
    [client, operator],
  );
  return (
    <ActionsContext.Provider value={actions}>
      {children}
      {question !== null && <ConfirmDialog question={question} onDone={() => monitor.refresh()} onClose={() => setQuestion(null)} />}
    </ActionsContext.Provider>
  );
}

export interface ActionButtonProps {
  readonly right: Right;
  readonly label: string;
  /** Returns the question that confirms the action. Called on each click. */
  readonly question: (actions: Actions) => Question;
}

/** Button of an action. Absent if the user may not carry it out. */
export function ActionButton({ right, label, question }: ActionButtonProps): JSX.Element | null {
  const actions = useActions();
  if (actions?.may(right) !== true) return null;
  return (
    <button type="button" class="button" onClick={() => actions.ask(question(actions))}>
      {label}
    </button>
  );
}
