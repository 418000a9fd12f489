import type { EventOverview } from '../../server/dashboard/protocol.js';

/** Event that is emitted when another event or a workflow run ends. */
export interface FollowUp {
  readonly when: 'success' | 'failure' | 'complete';
  readonly type: string;
}

export const WHEN_LABEL: Record<FollowUp['when'], string> = {
  success: 'On success',
  failure: 'On failure',
  complete: 'On complete',
};

/** Returns the follow-up events of an event type or a workflow. */
export function followUpsOf(
  source: Pick<EventOverview, 'onSuccess' | 'onFailure' | 'onComplete'>,
): readonly FollowUp[] {
  const targets: readonly (readonly [FollowUp['when'], string | undefined])[] = [
    ['success', source.onSuccess],
    ['failure', source.onFailure],
    ['complete', source.onComplete],
  ];
  return targets.flatMap(([when, type]) => (type === undefined ? [] : [{ when, type }]));
}
