import type { JSX } from 'preact';
import { formatCount } from '../../../format/count.js';
import { CodeToCopy } from '../../../shared/code-to-copy.js';
import { replayTypeCode } from '../../../shared/hub-code.js';
import { PanelSection } from './panel-section.js';

export interface DeadLettersProps {
  readonly type: string;
  /** Number of open dead letters. */
  readonly count: number;
  /** Name of the hub's transport; `undefined` before the first response. */
  readonly transport: string | undefined;
}

/** Section with the number of open dead letters and the code that replays them. Absent if there are none. */
export function DeadLetters({ type, count, transport }: DeadLettersProps): JSX.Element | null {
  if (count === 0) return null;
  const code = replayTypeCode(type, count, transport);
  return (
    <PanelSection title="Dead letters" period={`${formatCount(count)} open`}>
      <CodeToCopy code={code} />
    </PanelSection>
  );
}
