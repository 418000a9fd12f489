import { getDashboardHtml } from 'hubline';
import { expect, test } from '../testing/fixtures.js';
import { eventRow } from '../testing/page-parts.js';

test('the page shows the hub after one JSON request, sent before the page has arrived', { tag: '@any-width' }, async ({
  page,
  serve,
}) => {
  const dashboard = await serve({ register: (hub) => hub.event({ type: 'order.created', handler: () => {} }) });
  const html = getDashboardHtml();
  const scriptAt = html.indexOf('<script type="module"');
  const requests: string[] = [];
  let sendRest: (() => void) | undefined;
  dashboard.intercept = (req, res) => {
    if (req.url === '/') {
      res.writeHead(200, { 'content-type': 'text/html' }).write(html.slice(0, scriptAt));
      sendRest = () => res.end(html.slice(scriptAt));
      return true;
    }
    requests.push(req.url ?? '');
    // A page whose script sends the request would never receive its script.
    sendRest?.();
    return false;
  };
  await page.goto(`${dashboard.origin}/#/?every=off`);
  await expect(eventRow(page, 'order.created')).toBeVisible();
  expect(requests).toEqual(['/api/introspection?events=columns']);
});
