import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HubInfo } from '../../api/decoding/decode-introspection.js';
import { Choices } from '../../controls/choices.js';
import { Icon } from '../../controls/icon.js';
import { Menu } from '../../controls/menu.js';
import { formatAge } from '../../format/duration.js';
import { THEMES, type Theme } from '../preferences.js';

export interface PageMenuProps {
  readonly hub: HubInfo | null;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
  readonly theme: Signal<Theme>;
  readonly onSnapshot: () => void;
  readonly onHelp: () => void;
}

/** Menu with the theme, snapshots, shortcuts and facts of the hub. */
export function PageMenu({ hub, serverNow, theme, onSnapshot, onHelp }: PageMenuProps): JSX.Element {
  return (
    <Menu label="Menu" class="icon-button" button={<Icon name="more" />}>
      {(close) => (
        <>
          <Choices
            label="Theme"
            options={THEMES}
            nameOf={(name) => name.charAt(0).toUpperCase() + name.slice(1)}
            value={theme.value}
            onChange={(next) => {
              theme.value = next;
            }}
          />
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              onSnapshot();
            }}
          >
            <Icon name="snapshot" /> Snapshot
          </button>
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              onHelp();
            }}
          >
            <Icon name="help" /> Keyboard shortcuts <kbd>?</kbd>
          </button>
          {hub && <p class="menu-facts">{facts(hub, serverNow)}</p>}
        </>
      )}
    </Menu>
  );
}

function facts({ transport, version, startedAt }: HubInfo, serverNow: number): string {
  const uptime = startedAt === null ? 'not started' : `up ${formatAge(serverNow - startedAt)}`;
  return `${transport} · v${version} · ${uptime}`;
}
