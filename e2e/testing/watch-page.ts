import type { Page } from 'playwright/test';

/**
 * Watches a page and returns a growing list of violations: errors and warnings on the console (which include breaches of
 * the content security policy), uncaught errors, dialogs, requests to other origins, and responses of 400 or more.
 *
 * @param expectsOutages ignores failed requests, for tests that cause them
 */
export function watchPage(page: Page, expectsOutages: boolean): readonly string[] {
  const violations: string[] = [];
  page.on('pageerror', (error) => violations.push(`uncaught ${error.message}`));
  page.on('dialog', (dialog) => {
    violations.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (expectsOutages && message.text().startsWith('Failed to load resource')) return;
    violations.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (request.isNavigationRequest() || request.url().startsWith('data:')) return;
    if (new URL(request.url()).origin !== new URL(page.url()).origin) violations.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400 && !expectsOutages) violations.push(`${response.status()} for ${response.url()}`);
  });
  return violations;
}
