import type { JSX } from 'preact';
import type { EventIntrospection } from '../../server/dashboard/protocol.js';
import { PanelSection } from './panel-section.js';
import { TallyTable } from './tally-table.js';

/** The counts of every service that handles a type, where there are several. */
export function ServiceTable({ services }: { services: NonNullable<EventIntrospection['services']> }): JSX.Element {
  return (
    <PanelSection title="By service">
      <TallyTable
        caption="Counts by service"
        head="Service"
        rows={services.map(({ service, metrics }) => ({ ...metrics, name: service }))}
      />
    </PanelSection>
  );
}
