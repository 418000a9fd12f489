import type { IconName } from '../controls/icon.js';
import type { TraceState } from './trace-bar.js';

/** Icon, word and tone of each state. A newer server may have others. */
export const TRACE_STATE: ReadonlyMap<TraceState, readonly [icon: IconName, label: string, tone: string]> = new Map([
  ['waiting', ['dashes', 'Waiting', 'waiting']],
  ['delayed', ['clock', 'Delayed', 'suspended']],
  ['active', ['running', 'Running', 'active']],
  ['retrying', ['refresh', 'Retrying', 'retrying']],
  ['suspended', ['pause', 'Suspended', 'suspended']],
  ['completed', ['check', 'Completed', 'completed']],
  ['failed', ['triangle', 'Failed', 'failed']],
  ['cancelled', ['close', 'Cancelled', 'waiting']],
  ['interrupted', ['close', 'Interrupted', 'suspended']],
]);
