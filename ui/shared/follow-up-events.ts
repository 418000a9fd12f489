import type { EventIntrospection } from '../../server/dashboard/protocol.js';

/** An event that is emitted after another, or after a workflow's run. */
export interface FollowUp {
  readonly when: 'success' | 'failure' | 'complete';
  readonly type: string;
}

export const WHEN_LABEL: Record<FollowUp['when'], string> = {
  success: 'On success',
  failure: 'On failure',
  complete: 'On complete',
};

/** What follows, in the order in which people think of it. */
export function followUpsOf(
  source: Pick<EventIntrospection, 'onSuccess' | 'onFailure' | 'onComplete'>,
): readonly FollowUp[] {
  const targets: readonly (readonly [FollowUp['when'], string | undefined])[] = [
    ['success', source.onSuccess],
    ['failure', source.onFailure],
    ['complete', source.onComplete],
  ];
  return targets.flatMap(([when, type]) => (type === undefined ? [] : [{ when, type }]));
}
