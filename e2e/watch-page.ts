import type { Page } from 'playwright/test';

/**
 * Everything that a page should not do, as it happens: an error or warning in the console (which is where a breach of
 * the content security policy shows), an uncaught error, a dialog, a request to another origin, an answer of 400 or more.
 *
 * @param expectsOutages leaves out failed requests, for tests that make them fail
 */
export function watchPage(page: Page, expectsOutages: boolean): readonly string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`uncaught ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (expectsOutages && message.text().startsWith('Failed to load resource')) return;
    complaints.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (request.isNavigationRequest() || request.url().startsWith('data:')) return;
    if (new URL(request.url()).origin !== new URL(page.url()).origin) complaints.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400 && !expectsOutages) complaints.push(`${response.status()} for ${response.url()}`);
  });
  return complaints;
}
