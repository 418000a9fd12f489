import type { JSX } from 'preact';
import type { EventOverview } from '../../../../server/dashboard/protocol.js';
import { TallyTable } from '../../../shared/tally-table.js';
import { PanelSection } from './panel-section.js';

type Service = NonNullable<EventOverview['services']>[number];

/** Section with the counts per service, for types that several services handle. */
export function ServiceTable({ services }: { services: readonly Service[] }): JSX.Element {
  return (
    <PanelSection title="Services">
      <TallyTable
        caption="Counts per service"
        head="Service"
        rows={services.map((service) => ({ ...service.metrics, name: rowName(service) }))}
      />
    </PanelSection>
  );
}

/** Returns the name of a service, with a warning if events wait for it and it has no process. */
function rowName({ service, processes, metrics: { pending } }: Service): string {
  return processes === 0 && pending > 0 ? `${service} (no process, ${pending} pending)` : service;
}
