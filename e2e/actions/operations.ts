import {
  type ActionsOptions,
  createActionsHandler,
  type DashboardHandler,
  type DashboardOptions,
  type Hub,
  type Right,
} from 'hubline';
import type { Page } from 'playwright/test';
import type { DashboardSetup, RunningDashboard } from '../testing/start-dashboard.js';

const mount = '/ops/hub-actions';

/** All rights of an operator, without those of a service that is gone. */
const everything: readonly Right[] = [
  ...(['replay', 'cancel', 'fork', 'pause', 'resume', 'approve', 'erase', 'payload', 'search', 'audit'] as const),
];

/** Rights by the name in the cookie `user`. */
const users: Readonly<Record<string, readonly Right[]>> = { ada: everything, bob: [] };

/** Returns the setup of a dashboard beside an actions handler: ada may do everything, bob may look. */
export function withActions(
  register: (hub: Hub) => void,
  { hubOptions, ...actions }: Partial<ActionsOptions> & Pick<DashboardSetup, 'hubOptions'> = {},
): DashboardSetup {
  let current: Hub | undefined;
  const options: DashboardOptions = { actions: mount };
  return {
    options,
    ...(hubOptions !== undefined && { hubOptions }),
    register(hub) {
      current = hub;
      register(hub);
    },
    mountIn(dashboard: DashboardHandler) {
      if (current === undefined) throw new Error('no hub was started');
      const act = createActionsHandler(current, {
        basePath: mount,
        authorize: ({ headers }) => {
          const user = /user=(\w+)/.exec(headers.cookie ?? '')?.[1] ?? '';
          const can = users[user];
          return can === undefined ? null : { user, can };
        },
        ...actions,
      });
      return (req, res) => (req.url?.startsWith(mount) === true ? act(req, res) : dashboard(req, res));
    },
  };
}

/** Signs a user in. */
export async function signIn(page: Page, { origin }: RunningDashboard, user: string): Promise<void> {
  await page.context().addCookies([{ name: 'user', value: user, url: origin }]);
}

/** Confirms the action whose dialog is open, waits for its result, and closes the dialog. */
export async function confirm(page: Page, label: string, result: string | RegExp, reason?: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  if (reason !== undefined) await dialog.getByRole('textbox').fill(reason);
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.getByText(result).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
}
