import type { JSX } from 'preact';
import type { EventIntrospection } from '../../../server/dashboard/protocol.js';
import { TallyTable } from '../../shared/tally-table.js';
import { PanelSection } from './panel-section.js';

type Service = NonNullable<EventIntrospection['services']>[number];

/** The counts of every service that handles a type, where there are several. */
export function ServiceTable({ services }: { services: readonly Service[] }): JSX.Element {
  return (
    <PanelSection title="By service">
      <TallyTable
        caption="Counts by service"
        head="Service"
        rows={services.map((service) => ({ ...service.metrics, name: rowName(service) }))}
      />
    </PanelSection>
  );
}

/** A service that may never come back goes on to collect events: that is told where it is named. */
function rowName({ service, processes, metrics: { pending } }: Service): string {
  return processes === 0 && pending > 0 ? `${service} (no process, ${pending} pending)` : service;
}
