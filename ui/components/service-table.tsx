import type { JSX } from 'preact';
import type { EventIntrospection } from '../../server/dashboard/protocol.js';
import { Count } from './count.js';
import { PanelSection } from './panel-section.js';

/** The counts of every service that handles a type, where there are several. */
export function ServiceTable({ services }: { services: NonNullable<EventIntrospection['services']> }): JSX.Element {
  return (
    <PanelSection title="By service">
      <table class="data-table">
        <caption class="visually-hidden">Counts by service</caption>
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">Received</th>
            <th scope="col">Completed</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {services.map(({ service, metrics }) => (
            <tr key={service}>
              <th scope="row">{service}</th>
              <td>
                <Count value={metrics.received} />
              </td>
              <td>
                <Count value={metrics.completed} />
              </td>
              <td>
                <Count value={metrics.failed} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </PanelSection>
  );
}
