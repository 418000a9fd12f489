import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from 'playwright/test';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Rules whose result depends on the theme. */
const colorRules = ['color-contrast', 'link-in-text-block'];

/**
 * Expects that axe finds no violation of WCAG 2.2 AA on the page, in both themes. Themes differ in colours alone, so the
 * other rules are checked in one of them.
 */
export async function expectAccessible(page: Page): Promise<void> {
  const scheme = await page.evaluate<'light' | 'dark'>(
    "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'",
  );
  const found = await violationsOf(page, (axe) => axe.withTags(tags));
  await page.emulateMedia({ colorScheme: scheme === 'dark' ? 'light' : 'dark' });
  const other = await violationsOf(page, (axe) => axe.withRules(colorRules));
  await page.emulateMedia({ colorScheme: scheme });
  expect([...found, ...other]).toEqual([]);
}

async function violationsOf(page: Page, choose: (axe: AxeBuilder) => AxeBuilder): Promise<string[]> {
  // Only pages with frames need more than the legacy mode, which opens no second page.
  const axe = choose(new AxeBuilder({ page }).options({ resultTypes: ['violations'] })).setLegacyMode(true);
  const { violations } = await axe.analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
